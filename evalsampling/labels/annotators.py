"""How well annotators answer: against rows whose class is known, themselves and each other."""

import collections
import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from evalsampling.label_spaces.base import LabelSpace
from evalsampling.labels.controls import Controls
from evalsampling.labels.tally import CONTRADICTED, SKIPPED, UNSURE, Tally
from evalsampling.labels.tasks import GOLD, KIND, LABEL
from evalsampling.stats.agreement import Agreement, Share
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.history import NO_LABEL


@dataclasses.dataclass(frozen=True)
class ControlSubject:
    """A control task among the subjects of a tally.

    Attributes:
        subject: number of the subject.
        code: code of its class, if it is a gold row, else `NO_LABEL`.
        question: number of the question that it asks again, if it is a repeat, else None.
    """

    subject: int
    code: int
    question: int | None


def control_subjects(
    controls: Controls, first: int, codes: Mapping[str, int]
) -> list[ControlSubject]:
    """Return control tasks with the numbers of their subjects, which follow one another.

    Args:
        controls: control tasks of all rounds.
        first: number of the first one's subject.
        codes: code of each class as text.
    """
    columns = (controls.table[name].to_pylist() for name in (KIND, LABEL, "question"))
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
    """Counts of one annotator's answers, and how often they were right or repeated.

    Attributes:
        annotator: name, None for answers without a name.
        labels: number of answers that name a class.
        skipped: number of tasks declined.
        unsure: number of answers "unsure".
        contradicted: number of rows with two different answers.
        gold: share of right answers among those on gold rows.
        recall: that share for the gold rows of each class, in the order of the classes.
        repeats: share of the rows asked about again that got the same answer as before.
        others: share of the rows, of those that others answered too, with the answer that most of
            them gave; where they are divided, a row does not count. Not of labels that are numbers.
    """

    annotator: str | None
    labels: int
    skipped: int
    unsure: int
    contradicted: int
    gold: Share
    recall: tuple[Share, ...]
    repeats: Share
    others: Share


def records(
    tally: Tally, controls: Sequence[ControlSubject], classes: int, confidence: float
) -> list[AnnotatorRecord]:
    """Return the record of each annotator, ordered by name.

    Args:
        tally: tally of all votes.
        controls: gold rows and repeats.
        classes: number of classes.
        confidence: confidence of the intervals.
    """
    by_annotator: dict[str | None, dict[int, int]] = {}
    for subject, answers in tally.answers.items():
        for annotator, code in answers.items():
            by_annotator.setdefault(annotator, {})[subject] = code
    ordered = sorted(by_annotator.items(), key=lambda item: (item[0] is not None, item[0] or ""))
    likeness = _likeness(tally) if classes else {}
    return [
        _record(name, codes, controls, classes, confidence, likeness.get(name, []))
        for name, codes in ordered
    ]


def _likeness(tally: Tally) -> dict[str | None, list[bool]]:
    """Return, of each annotator's rows that others answered too, whether they said the same."""
    likeness: dict[str | None, list[bool]] = {}
    for subject, answers in tally.answers.items():
        codes = {name: code for name, code in answers.items() if code >= 0}
        if subject >= tally.subjects.questions or len(codes) < 2:
            continue
        for name, code in codes.items():
            counts = collections.Counter(other for who, other in codes.items() if who != name)
            (most, votes), *others = counts.most_common(2)
            if not others or votes > others[0][1]:
                likeness.setdefault(name, []).append(code == most)
    return likeness


def _record(
    annotator: str | None,
    codes: dict[int, int],
    controls: Sequence[ControlSubject],
    classes: int,
    confidence: float,
    like_others: Sequence[bool],
) -> AnnotatorRecord:
    classed = {subject: code for subject, code in codes.items() if code >= 0}
    answered = [control for control in controls if control.subject in classed]
    gold = [(each.code, classed[each.subject]) for each in answered if each.code != NO_LABEL]
    repeats = [
        (classed[each.question], classed[each.subject])
        for each in answered
        if each.question in classed
    ]
    answers = list(codes.values())

    def share(pairs: Sequence[tuple[int, int]]) -> Share:
        hits = sum(first == second for first, second in pairs)
        return Share.of_trials(hits, len(pairs), confidence)

    return AnnotatorRecord(
        annotator=annotator,
        labels=len(classed),
        skipped=answers.count(SKIPPED),
        unsure=answers.count(UNSURE),
        contradicted=answers.count(CONTRADICTED),
        gold=share(gold),
        recall=tuple(share([pair for pair in gold if pair[0] == y]) for y in range(classes)),
        repeats=share(repeats),
        others=Share.of_trials(sum(like_others), len(like_others), confidence),
    )


def agreement(tally: Tally, space: LabelSpace, confidence: float) -> Agreement:
    """Return how far annotators agree on the rows drawn, by Krippendorff's alpha."""
    questions = [subject for subject in tally.answers if subject < tally.subjects.questions]
    votes = [
        (row, code)
        for row, question in enumerate(questions)
        for code in tally.answers[question].values()
        if code >= 0
    ]
    row, code = np.array(votes, dtype=np.int64).reshape(-1, 2).T
    return space.agreement(row, code, confidence)


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
