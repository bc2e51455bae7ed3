"""What votes come to: decisions, disputes, and that no order and no division of files matters."""

import itertools
import random

import numpy as np
import pytest

from evalsampling.label_spaces.base import MAJORITY, MEDIAN
from evalsampling.labels.tally import (
    CONTRADICTED,
    EACH,
    SKIPPED,
    UNSURE,
    Answer,
    Awaited,
    State,
    Tally,
)
from evalsampling.stats.history import NO_LABEL


def tally(*answers: tuple[str | None, int], votes: int = 3) -> Tally:
    one = Tally(1, votes=votes)
    one.add([Answer(0, *answer) for answer in answers], replace=False, rounds=1)
    return one


BY_MAJORITY = [
    ([], 3, NO_LABEL, State.OPEN),
    ([("a", 1)], 3, NO_LABEL, State.OPEN),
    ([("a", 1), ("b", 0)], 3, NO_LABEL, State.OPEN),
    ([("a", 1), ("b", 1)], 3, 1, State.DECIDED),
    ([("a", 1), ("b", 0), ("c", 1)], 3, 1, State.DECIDED),
    ([("a", 1), ("b", 0), ("c", 2)], 3, NO_LABEL, State.DISPUTED),
    ([("a", 1), ("b", 0), ("c", SKIPPED)], 3, NO_LABEL, State.DISPUTED),
    ([("a", 1), ("b", SKIPPED), ("c", SKIPPED)], 3, NO_LABEL, State.DISPUTED),
    ([("a", UNSURE), ("b", SKIPPED), ("c", SKIPPED)], 3, NO_LABEL, State.UNSURE),
    ([("a", SKIPPED), ("b", SKIPPED), ("c", SKIPPED)], 3, NO_LABEL, State.SKIPPED),
    ([("a", SKIPPED)], 3, NO_LABEL, State.OPEN),
    ([("a", 1), ("a", 1)], 3, NO_LABEL, State.OPEN),
    ([("a", 1), ("a", 0), ("b", 1)], 3, NO_LABEL, State.OPEN),
    ([("a", 1), ("a", 0), ("b", 1), ("c", 1)], 3, 1, State.DECIDED),
    ([("a", 1), ("b", 1), ("c", 0), ("d", 0)], 3, NO_LABEL, State.DISPUTED),
    ([("a", 1), ("b", 0)], 2, NO_LABEL, State.DISPUTED),
    ([("a", 1), ("b", 0)], 1, NO_LABEL, State.DISPUTED),
    ([("a", 1), ("b", 0), ("c", 1)], 1, 1, State.DECIDED),
    ([(None, 1)], 1, 1, State.DECIDED),
    ([("a", SKIPPED), ("b", 1)], 1, 1, State.DECIDED),
    ([("a", 1), ("a", SKIPPED)], 1, 1, State.DECIDED),
    ([("a", 1), ("b", 1), ("c", 0), ("d", 2)], 5, NO_LABEL, State.OPEN),
    ([("a", 1), ("b", 1), ("c", 0), ("d", 2), ("e", 3)], 5, NO_LABEL, State.DISPUTED),
]
OF_NUMBERS = [
    ([("a", 10), ("b", 30)], 3, NO_LABEL, State.OPEN),
    ([("a", 10), ("b", 10)], 3, NO_LABEL, State.OPEN),
    ([("a", 10), ("b", 90), ("c", 30)], 3, 30, State.DECIDED),
    ([("a", 10), ("b", 21), ("c", SKIPPED)], 3, 15, State.DECIDED),
    ([("a", 10), ("b", UNSURE), ("c", SKIPPED)], 3, NO_LABEL, State.DISPUTED),
    ([("a", SKIPPED), ("b", SKIPPED), ("c", SKIPPED)], 3, NO_LABEL, State.SKIPPED),
    ([("a", 10), ("b", 20), ("c", 90), ("d", 40)], 3, 30, State.DECIDED),
    ([("a", 10)], 1, 10, State.DECIDED),
    ([("a", 10), ("b", 20)], 1, NO_LABEL, State.DISPUTED),
]


@pytest.mark.parametrize(
    ("rule", "answers", "votes", "code", "state"),
    [(MAJORITY, *case) for case in BY_MAJORITY] + [(MEDIAN, *case) for case in OF_NUMBERS],
)
def test_decisions(
    rule: str, answers: list[tuple[str | None, int]], votes: int, code: int, state: State
) -> None:
    for order in itertools.permutations(answers):
        one = Tally(1, votes=votes, rule=rule)
        one.add([Answer(0, *answer) for answer in order], replace=False, rounds=1)
        assert (one.code(0), one.state(0), one.codes.tolist()) == (code, state, [code])


def test_no_order_and_no_division_matters() -> None:
    """All orders of a few votes, and many of more, in any number of deliveries."""
    codes = [0, 1, 2, SKIPPED, UNSURE]
    for few in itertools.product("ab", codes, "bc", codes, "abc", codes):
        votes = [Answer(0, few[i], few[i + 1]) for i in (0, 2, 4)]
        found = set()
        for order in itertools.permutations(votes):
            one = Tally(1, votes=2)
            for vote in order:
                one.add([vote], replace=False, rounds=1)
            found.add((one.code(0), one.state(0), tuple(sorted(one.answers[0].items()))))
        assert len(found) == 1, votes
    draw = random.Random(1)
    for _ in range(200):
        votes = [
            Answer(draw.randrange(4), draw.choice("abcd"), draw.choice(codes)) for _ in range(20)
        ]
        found = set()
        for _ in range(5):
            draw.shuffle(votes)
            one = Tally(4, votes=3)
            cuts = sorted(draw.sample(range(20), 3))
            for begin, end in itertools.pairwise([0, *cuts, 20]):
                one.add(votes[begin:end], replace=False, rounds=1)
            found.add((tuple(one.codes), tuple(map(one.state, range(4)))))
        assert len(found) == 1


def test_a_correction_takes_the_place_of_what_that_annotator_said() -> None:
    one = tally(("a", 1), ("b", 0), ("c", 2))
    one.add([Answer(0, "c", 1)], replace=True, rounds=1)
    assert one.code(0) == 1
    one.add([Answer(0, None, 2)], replace=True, rounds=1)
    assert one.code(0) == 2, "nobody is named: it decides the row"
    one.add([Answer(0, "d", 1)], replace=False, rounds=1)
    assert one.code(0) == 2


def test_a_contradiction_is_ended_by_a_correction() -> None:
    one = tally(("a", 1), ("a", 0))
    assert one.answers[0]["a"] == CONTRADICTED
    one.add([Answer(0, "a", 1)], replace=False, rounds=1)
    assert one.answers[0]["a"] == CONTRADICTED
    one.add([Answer(0, "a", 1)], replace=True, rounds=1)
    assert one.answers[0]["a"] == 1


def test_an_adjudication_decides() -> None:
    one = Tally(1, {1: 0}, votes=3)
    one.add([Answer(0, name, code) for name, code in zip("abc", range(3), strict=True)], False, 1)
    assert one.state(0) is State.DISPUTED
    one.add([Answer(1, None, SKIPPED)], replace=False, rounds=1)
    assert one.state(0) is State.DISPUTED
    one.add([Answer(1, "judge", 2)], replace=False, rounds=2)
    assert (one.code(0), one.state(0)) == (2, State.DECIDED)
    one.add([Answer(1, "other", 1)], replace=False, rounds=2)
    assert one.state(0) is State.DISPUTED, "two who settle do not agree either"


def test_changes_are_told_with_the_rounds_before_them() -> None:
    one = tally(("a", 1), ("b", 1))
    assert one.corrected == {}
    assert not one.add([Answer(0, "a", 1)], replace=False, rounds=2)
    assert one.add([Answer(0, "c", 0), Answer(0, "d", 0)], replace=False, rounds=2)
    assert (one.code(0), one.corrected) == (NO_LABEL, {})
    one.add([Answer(0, "e", 0)], replace=False, rounds=3)
    assert (one.code(0), one.corrected) == (0, {0: 3})


def test_a_copy_goes_its_own_way() -> None:
    one = tally(("a", 1))
    other = one.copy()
    other.add([Answer(0, "b", 1)], replace=False, rounds=1)
    assert (one.code(0), other.code(0)) == (NO_LABEL, 1)
    np.testing.assert_array_equal(one.codes, [NO_LABEL])


@pytest.mark.parametrize(
    ("answers", "state", "labels", "shares"),
    [
        ([("a", 1), ("b", 1)], State.OPEN, {}, [0, 0]),
        ([("a", 1), ("b", 0), ("c", 1)], State.DECIDED, {0: 1, 1: 2}, [1 / 3, 2 / 3]),
        ([("a", 1), ("b", 1), ("c", 1)], State.DECIDED, {1: 3}, [0, 0]),
        ([("a", 1), ("b", 0), ("c", SKIPPED)], State.DECIDED, {0: 1, 1: 1}, [0.5, 0.5]),
        (
            [("a", 1), ("b", 0), ("c", UNSURE), ("d", 0)],
            State.DECIDED,
            {0: 2, 1: 1},
            [2 / 3, 1 / 3],
        ),
        ([("a", 1), ("a", 0), ("b", 0), ("c", 1)], State.DECIDED, {0: 1, 1: 1}, [0.5, 0.5]),
        ([("a", SKIPPED), ("b", UNSURE), ("c", UNSURE)], State.UNSURE, {}, [0, 0]),
    ],
)
def test_where_each_answer_counts_no_majority_decides(
    answers: list[tuple[str, int]], state: State, labels: dict[int, int], shares: list[float]
) -> None:
    for order in itertools.permutations(answers):
        one = Tally(1, votes=3, rule=EACH)
        for answer in order:
            one.add([Answer(0, *answer)], replace=False, rounds=1)
        assert one.state(0) is state
        assert one.labels(0) == labels
        assert one.shares(2)[0].tolist() == pytest.approx(shares)
        assert one.numbers.tolist() == [sum(labels.values())]
    assert one.add([Answer(0, None, 0)], replace=True, rounds=1)
    assert (one.labels(0), one.code(0)) == ({0: 1}, 0)


def test_answers_that_settle_are_none_of_another_question() -> None:
    one = Tally(1, settles={1: 0}, votes=2, rule=EACH)
    one.add([Answer(0, "a", 1), Answer(1, "judge", 0)], replace=False, rounds=1)
    assert one.numbers.tolist() == [1]
    assert one.shares(2).shape == (1, 2)


@pytest.mark.parametrize(
    ("awaited", "words", "advises"),
    [
        (Awaited(), "0 open", False),
        (Awaited(3), "3 open", False),
        (Awaited(started=300, votes=2), "300 rows wait for a second answer", False),
        (Awaited(1, 1, votes=3), "1 open, 1 row waits for further answers", False),
        (Awaited(disputed=17, votes=2), "17 disputed", True),
        (Awaited(2, 3, 1, 2), "2 open, 3 rows wait for a second answer, 1 disputed", True),
    ],
)
def test_what_rows_wait_for_is_said(awaited: Awaited, words: str, advises: bool) -> None:
    assert awaited.words == words
    assert awaited.total == awaited.unanswered + awaited.started + awaited.disputed
    assert ("one more answer decides each" in awaited.advice) == advises


def test_what_a_closed_round_leaves_is_said() -> None:
    assert Awaited(7).given_up == ""
    assert "1 row is closed with answers and no label;" in Awaited(2, 1, 0, 2).given_up
    assert "4 rows are closed with answers and no label;" in Awaited(2, 3, 1, 2).given_up
