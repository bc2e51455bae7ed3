"""Rules that look at all votes together."""

from collections.abc import Mapping, Sequence

import pytest

from evalsampling import InputError
from evalsampling.labels.tally import SKIPPED, UNSURE, Answer, State, Subjects, Tally
from evalsampling.labels.vote_rules import CastVote, cast_votes, check_rule, decided_by
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.history import NO_LABEL

ANSWERS = [
    Answer(1, "b", 0), Answer(0, "b", 1), Answer(0, "a", 1), Answer(1, "a", 1),
    Answer(2, "a", SKIPPED), Answer(2, "b", UNSURE), Answer(3, "a", 0),
]  # fmt: skip


class Least:
    """A rule of this module: the least class that was voted for."""

    def __init__(self, added: int = 0, row: int | None = None) -> None:
        self.added, self.row = added, row

    def decide(self, votes: Sequence[CastVote]) -> Mapping[int, int]:
        assert list(votes) == sorted(votes)
        codes = {vote.row: vote.code + self.added for vote in reversed(votes)}
        least = {row: min(v.code for v in votes if v.row == row) for row in codes}
        return {row if self.row is None else self.row: least[row] + self.added for row in least}


LEAST, NO_CLASS, NO_ROW = Least(), Least(added=2), Least(row=9)


def spec(rule: str) -> EvaluationSpec:
    content = {"pool": {"path": "x"}, "labels": {"votes": 2, "rule": f"{__name__}:{rule}"}}
    return EvaluationSpec.from_mapping(content, "/")


def tally(rule: str) -> Tally:
    one = Tally(Subjects(4, votes=2), rule=rule)
    one.add(ANSWERS, replace=False, rounds=1)
    return one


def test_a_rule_gets_the_votes_for_classes_in_order() -> None:
    votes = [CastVote(0, "a", 1), CastVote(0, "b", 1), CastVote(1, "a", 1), CastVote(1, "b", 0),
             CastVote(3, "a", 0)]  # fmt: skip
    assert cast_votes(tally("any")) == votes


def test_what_a_rule_decides_counts_once_all_votes_are_there() -> None:
    own = spec("LEAST")
    one = tally(own.labels.rule)
    assert one.codes.tolist() == [NO_LABEL] * 4, "the rule was not asked yet"
    one.decide_together(decided_by(own, one), 1)
    assert one.codes.tolist() == [1, 0, NO_LABEL, NO_LABEL]
    assert one.state(2) is State.UNSURE
    assert one.state(3) is State.OPEN


def test_no_vote_is_no_question_to_a_rule() -> None:
    assert decided_by(spec("LEAST"), Tally(Subjects(4, votes=2), rule="any")) == {}


@pytest.mark.parametrize(
    ("rule", "message"),
    [("NO_CLASS", "it decides row . for class number 2"), ("NO_ROW", "it decides row 9 for class")],
)
def test_a_rule_that_decides_for_what_there_is_not_is_told(rule: str, message: str) -> None:
    own = spec(rule)
    with pytest.raises(InputError, match=message):
        decided_by(own, tally(own.labels.rule))


@pytest.mark.parametrize(
    ("rule", "message"), [("ANSWERS", "is no VoteRule: it has no decide"), ("Gone", "no attribute")]
)
def test_what_is_no_rule_is_told_before_any_label(rule: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_rule(spec(rule))


def test_a_rule_needs_several_votes() -> None:
    content = {"pool": {"path": "x"}, "labels": {"rule": f"{__name__}:LEAST"}}
    with pytest.raises(InputError, match=r"LEAST needs labels\.votes of at least 2"):
        EvaluationSpec.from_mapping(content, "/")
