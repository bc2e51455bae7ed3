"""Rules by which the votes on all rows together decide each row."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from evalsampling.errors import InputError
from evalsampling.labels.tally import BY_ROW, Tally
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.labels import VOTE_RULES


class CastVote(NamedTuple):
    """One vote for a class.

    Attributes:
        row: number of the row; gold rows and repeats are rows of their own.
        annotator: name of the annotator; empty if the file has no name.
        code: code of the class, from 0, in the order of ``labels.classes``.
    """

    row: int
    annotator: str
    code: int


class VoteRule(Protocol):
    """A rule that decides the classes of rows by the votes on all of them."""

    def decide(self, votes: Sequence[CastVote]) -> Mapping[int, int]:
        """Return the class code of each row that the rule decides; other rows are disputed.

        A decision takes effect once the row has all votes that are wanted. The result must be a
        function of the votes alone.

        Args:
            votes: all votes for a class, ordered by row, annotator and code.
        """


def rule_of(spec: EvaluationSpec) -> VoteRule:
    """Return the rule that a spec names, if it decides by all votes together.

    Raises:
        InputError: if it is not installed here, or cannot be imported.
    """
    rule: VoteRule = VOTE_RULES.find("labels.rule", spec.labels.rule, spec.pool.directory)
    return rule


def check_rule(spec: EvaluationSpec) -> None:
    """Check that the rule of a spec is installed.

    Raises:
        InputError: if it is not installed here, or cannot be imported.
    """
    if spec.labels.rule not in BY_ROW:
        rule_of(spec)


def decided_by(spec: EvaluationSpec, tally: Tally) -> dict[int, int]:
    """Return the class code of each subject that the rule of a spec decides.

    Raises:
        InputError: if the rule is not installed, or its result has a class or row that is unknown.
    """
    votes, classes = cast_votes(tally), len(spec.labels.codes)
    rows = {vote.row for vote in votes}
    decided = rule_of(spec).decide(votes) if votes else {}
    codes = {int(row): int(code) for row, code in decided.items()}
    for row, code in codes.items():
        if row not in rows or not 0 <= code < classes:
            raise InputError(
                f"labels.rule: {spec.labels.rule}: it decides row {row} for class number {code}; "
                f"there are {classes} classes, and rows are those of the votes"
            )
    return codes


def cast_votes(tally: Tally) -> list[CastVote]:
    """Return the votes for a class, ordered by row, annotator and code."""
    return sorted(
        CastVote(subject, annotator or "", code)
        for subject, given in tally.answers.items()
        if subject not in tally.subjects.settles
        for annotator, code in given.items()
        if code >= 0
    )
