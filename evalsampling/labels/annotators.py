"""How annotators answer rows whose class is known, and rows that they are asked about again."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from evalsampling.labels.controls import Controls
from evalsampling.labels.tally import CONTRADICTED, SKIPPED, UNSURE, Tally
from evalsampling.labels.tasks import GOLD, KIND, LABEL, QUESTION
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.history import NO_LABEL


@dataclasses.dataclass(frozen=True)
class ControlSubject:
    """A control task: a gold row of a class, or a repeat of a question (then of `NO_LABEL`)."""

    subject: int
    code: int
    question: int | None


def control_subjects(
    controls: Controls, first: int, codes: Mapping[str, int]
) -> list[ControlSubject]:
    """Return control tasks with the numbers of their subjects, which follow one another."""
    columns = (controls.table[name].to_pylist() for name in (KIND, LABEL, QUESTION))
    return [
        ControlSubject(
            first + place,
            codes[label] if kind == GOLD else NO_LABEL,
            None if question is None else question - 1,
        )
        for place, (kind, label, question) in enumerate(zip(*columns, strict=True))
    ]


@dataclasses.dataclass(frozen=True)
class AnnotatorRecord:
    """Counts of an annotator's answers: ``right`` of gold rows, the ``same`` of repeats."""

    annotator: str | None
    labels: int
    skipped: int
    unsure: int
    contradicted: int
    gold: int
    right: int
    repeats: int
    same: int


def records(tally: Tally, controls: Sequence[ControlSubject]) -> list[AnnotatorRecord]:
    """Return the record of each annotator, ordered by name."""
    by_annotator: dict[str | None, dict[int, int]] = {}
    for subject, answers in tally.answers.items():
        for annotator, code in answers.items():
            by_annotator.setdefault(annotator, {})[subject] = code
    ordered = sorted(by_annotator.items(), key=lambda item: (item[0] is not None, item[0] or ""))
    return [_record(name, codes, controls) for name, codes in ordered]


def _record(
    annotator: str | None, codes: Mapping[int, int], controls: Sequence[ControlSubject]
) -> AnnotatorRecord:
    classed = {subject: code for subject, code in codes.items() if code >= 0}
    answered = [control for control in controls if control.subject in classed]
    right = [each.code == classed[each.subject] for each in answered if each.code != NO_LABEL]
    same = [
        classed[each.question] == classed[each.subject]
        for each in answered
        if each.question in classed
    ]
    answers = list(codes.values())
    return AnnotatorRecord(
        annotator=annotator,
        labels=len(classed),
        skipped=answers.count(SKIPPED),
        unsure=answers.count(UNSURE),
        contradicted=answers.count(CONTRADICTED),
        gold=len(right),
        right=sum(right),
        repeats=len(same),
        same=sum(same),
    )


def gold_table(tally: Tally, controls: Sequence[ControlSubject], classes: int) -> IntArray:
    """Return the counts of decided gold rows by true class and by label, shape (classes, classes).

    Gold rows are decided by the rule for all rows, so the table is of labels as estimates use them;
    with a stochastic oracle it counts answers.
    """
    table = np.zeros((classes, classes), dtype=np.int64)
    for control in controls:
        if control.code != NO_LABEL:
            for label, answers in tally.labels(control.subject).items():
                table[control.code, label] += answers
    return table
