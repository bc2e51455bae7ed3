"""Telling how well annotators answer."""

import dataclasses
from typing import Any

import numpy as np

from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.result import Result
from evalsampling.labels.annotators import AnnotatorRecord, agreement, records
from evalsampling.labels.tally import State
from evalsampling.stats.agreement import Agreement
from evalsampling.workspace.snapshot import Snapshot

UNANSWERED = "unanswered"
"""Where a question stands that nobody is asked any more: `status` does not count it as open."""


@dataclasses.dataclass(frozen=True)
class AnnotatorsResult(Result):
    """How well annotators answer.

    Attributes:
        votes: answers wanted for each row.
        classes: as text; none where labels are numbers.
        rows: questions by where they stand: open, decided, disputed, skipped, unsure, and
            `UNANSWERED` of those that lack an answer and whose round is closed.
        agreement: of the annotators on the rows drawn.
        gold: gold rows that are decided, by their class and by their label.
        annotators: one by one.
        confidence: of all intervals.
    """

    votes: int
    classes: tuple[str, ...]
    rows: dict[str, int]
    agreement: Agreement
    gold: tuple[tuple[int, ...], ...]
    annotators: tuple[AnnotatorRecord, ...]
    confidence: float

    def to_json(self) -> Any:
        """Return the object that `annotators --json` prints: recall by class."""
        content = super().to_json()
        for record in content["annotators"]:
            record["recall"] = dict(zip(self.classes, record["recall"], strict=True))
        return content


def annotators(options: WorkspaceOptions) -> AnnotatorsResult:
    """Return how well annotators answer, by gold rows, repeats and each other.

    Raises:
        InputError: if the workspace is not prepared, or a file of it cannot be read.
    """
    return annotators_of(Snapshot.at(options.workspace))


def annotators_of(snapshot: Snapshot) -> AnnotatorsResult:
    """Return the same of what a workspace holds."""
    spec, tally = snapshot.pool.spec, snapshot.tally
    classes = tuple(spec.labels.codes)  # of numbers none
    states = [state.value for state in snapshot.states]
    rows = {state.value: states.count(state.value) for state in State}
    rows[UNANSWERED] = len(snapshot.never_answered)
    rows[State.OPEN.value] -= rows[UNANSWERED]
    table: list[list[int]] = np.asarray(snapshot.gold).tolist()
    return AnnotatorsResult(
        votes=spec.labels.votes,
        classes=classes,
        rows=rows,
        agreement=agreement(tally, spec.labels.space, spec.confidence),
        gold=tuple(map(tuple, table)),
        annotators=tuple(records(tally, snapshot.control_subjects, len(classes), spec.confidence)),
        confidence=spec.confidence,
    )
