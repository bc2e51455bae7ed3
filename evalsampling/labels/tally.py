"""Tally of the votes: which rows are decided, and for which class; why the others are not."""

import collections
import dataclasses
import enum
import math
import statistics
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from evalsampling.label_spaces.base import MAJORITY, MEDIAN
from evalsampling.spec.labels import LabelsSpec
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.history import NO_LABEL

EACH = "each"
"""Rule of a stochastic oracle, beside those of label spaces: each answer is a draw of its own."""

SKIPPED, UNSURE, CONTRADICTED = -1, -2, -3
"""Answers that name no class: declined, undecided, and two classes by one annotator."""

_WEIGHT = {SKIPPED: 0, UNSURE: 1, CONTRADICTED: 3}
"""Weight of an answer: of two by one annotator the greater counts; a class has weight 2."""


class State(enum.Enum):
    """Whether a question is decided; if not, why."""

    OPEN = "open"
    DECIDED = "decided"
    DISPUTED = "disputed"
    SKIPPED = "skipped"
    UNSURE = "unsure"

    @property
    def waits(self) -> bool:
        """Whether an answer is still awaited, of an annotator or of whoever settles disputes."""
        return self in (State.OPEN, State.DISPUTED)


@dataclasses.dataclass(frozen=True)
class Awaited:
    """Rows of open rounds that wait for answers: with none, some or all of the votes wanted."""

    unanswered: int = 0
    started: int = 0
    disputed: int = 0
    votes: int = 1

    @property
    def total(self) -> int:
        """The number of all of them."""
        return self.unanswered + self.started + self.disputed

    @property
    def words(self) -> str:
        """How many wait, and for what: ``3 open, 17 disputed``."""
        parts = [f"{self.unanswered} open"] * bool(self.unanswered or not self.total)
        if self.started:
            wait = "row waits" if self.started == 1 else "rows wait"
            what = "a second answer" if self.votes == 2 else "further answers"
            parts.append(f"{self.started} {wait} for {what}")
        return ", ".join(parts + [f"{self.disputed} disputed"] * bool(self.disputed))

    @property
    def given_up(self) -> str:
        """What closing their rounds leaves half-answered, in a sentence; empty if nothing."""
        begun = self.started + self.disputed
        rows = "1 row is" if begun == 1 else f"{begun:,} rows are"
        told = f"{rows} closed with answers and no label; answers that come later still count"
        return told * (begun > 0)

    @property
    def advice(self) -> str:
        """How disputes are decided, in a sentence; empty without any."""
        if not self.disputed:
            return ""
        rows = "1 row is" if self.disputed == 1 else f"{self.disputed} rows are"
        return (
            f"{rows} disputed: one more answer decides each, of another annotator in a delivery, "
            "or to the batch that `sample --adjudicate` writes"
        )


class Answer(NamedTuple):
    """The answer of one annotator, if named, on one subject: a class, `SKIPPED` or `UNSURE`."""

    subject: int
    annotator: str | None
    code: int


@dataclasses.dataclass
class Tally:
    """Votes so far, delivery by delivery.

    Without corrections, the result depends neither on the order of the deliveries nor on how votes
    are divided among them. Subjects of votes have numbers: the questions come first, then the tasks
    that are none.
    """

    questions: int
    # questions that other subjects settle, by these
    settles: Mapping[int, int] = dataclasses.field(default_factory=dict)
    votes: int = 1  # wanted for each question
    # by subject and annotator, the code of the answer
    answers: dict[int, dict[str | None, int]] = dataclasses.field(default_factory=dict)
    # by question whose label has changed, the number of rounds at its last change
    corrected: dict[int, int] = dataclasses.field(default_factory=dict)
    # how votes decide: `MAJORITY`; `MEDIAN`, of numbers; `EACH`, where each answer is a draw of a
    # stochastic oracle and counts as it is, and a subject is decided once it has all answers wanted
    rule: str = MAJORITY
    _settled: dict[int, int] = dataclasses.field(default_factory=dict)
    _last: dict[int, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls, labels: LabelsSpec, questions: int, settles: Mapping[int, int] | None = None
    ) -> "Tally":
        """Return the tally without any vote, by the rule of a spec."""
        rule = EACH if labels.oracle == "stochastic" else labels.space.rule
        return cls(questions, settles or {}, labels.votes, rule=rule)

    def copy(self) -> "Tally":
        """Return an independent copy, to which other votes can be added."""
        answers = {subject: dict(codes) for subject, codes in self.answers.items()}
        return dataclasses.replace(
            self,
            answers=answers,
            corrected={**self.corrected},
            _settled={**self._settled},
            _last={**self._last},
        )

    def add(self, answers: Iterable[Answer], replace: bool, rounds: int) -> bool:
        """Count the votes of one delivery; return whether they change anything."""
        touched: set[int] = set()
        changed = False
        for subject, annotator, code in answers:
            codes = self.answers.setdefault(subject, {})
            before = codes.get(annotator)
            after = code if before is None else _combined(before, code)
            if replace and code >= 0:
                after = code
                if annotator is None or self.wanted(subject) == 1:
                    changed |= self._settled.get(subject) != code
                    self._settled[subject] = code
            changed |= before != after
            codes[annotator] = after
            question = self.settles.get(subject)
            touched.add(subject if question is None else question)
            if question is not None and self.code(subject) == NO_LABEL:
                self._settled.pop(question, None)
            elif question is not None:
                self._settled[question] = self.code(subject)
        for question in touched:
            self._note(question, rounds)
        return changed

    def _note(self, question: int, rounds: int) -> None:
        """Record the label of a question, and whether it differs from the last one."""
        code = self.code(question)
        if code == NO_LABEL:
            return
        if self._last.get(question, code) != code:
            self.corrected[question] = rounds
        self._last[question] = code

    # --- results

    def wanted(self, subject: int) -> int:
        """Return the number of answers wanted on a subject: one if it settles a dispute."""
        return 1 if subject in self.settles else self.votes

    def is_settled(self, subject: int) -> bool:
        """Tell whether a correction or an adjudication decides a subject, whatever the votes."""
        return subject in self._settled

    def code(self, subject: int) -> int:
        """Return the code of the class that a subject is decided for, `NO_LABEL` if it is not.

        By majority it is the class with more than half of the votes wanted and more votes than any
        other. By median, of numbers, it is decided once all votes wanted have come and more than
        half of them are numbers. By `EACH` it is the first of the classes with most votes.
        """
        if subject in self._settled:
            return self._settled[subject]
        counts = self._counts(subject)
        wanted = self.wanted(subject)
        if self.rule == MEDIAN and wanted > 1:
            enough = self._is_full(subject) and 2 * counts.total() > wanted
            return math.floor(statistics.median(counts.elements())) if enough else NO_LABEL
        if not counts:
            return NO_LABEL
        most = max(counts.values())
        leading = [code for code, count in counts.items() if count == most]
        if self.rule == EACH:
            return min(leading) if self._is_full(subject) else NO_LABEL
        return leading[0] if len(leading) == 1 and 2 * most > wanted else NO_LABEL

    def labels(self, subject: int) -> Mapping[int, int]:
        """Return the classes that a subject is decided for, each with its number of answers.

        By rules other than `EACH` it is one class with the number 1; empty if it is not decided.
        """
        code = self.code(subject)
        if code == NO_LABEL:
            return {}
        if self.rule == EACH and subject not in self._settled:
            return self._counts(subject)
        return {code: 1}

    def shares(self, classes: int) -> FloatArray | None:
        """Return the share of each class among the answers to each question, see `stats.history`.

        Shape (questions, classes), zeros where all answers agree; None by rules other than `EACH`.
        """
        if self.rule != EACH:
            return None
        shares = np.zeros((self.questions, classes))
        for question in self._questions:
            counts = self.labels(question)
            if len(counts) > 1:
                shares[question, [*counts]] = np.array([*counts.values()]) / sum(counts.values())
        return shares

    @property
    def numbers(self) -> IntArray | None:
        """Number of answers that decide each question, 0 of none; None unless each one counts."""
        if self.rule != EACH:
            return None
        numbers = np.zeros(self.questions, dtype=np.int64)
        for question in self._questions:
            numbers[question] = sum(self.labels(question).values())
        return numbers

    @property
    def _questions(self) -> set[int]:
        """Questions with an answer or a correction."""
        return {each for each in (*self.answers, *self._settled) if each < self.questions}

    def _counts(self, subject: int) -> collections.Counter[int]:
        """Return the number of answers on a subject for each class."""
        return collections.Counter(
            code for code in self.answers.get(subject, {}).values() if code >= 0
        )

    def _is_full(self, subject: int) -> bool:
        """Tell whether a subject has all answers wanted."""
        return len(self.answers.get(subject, {})) >= self.wanted(subject)

    def state(self, subject: int) -> State:
        """Return whether a subject is decided, and if not, why."""
        if self.code(subject) != NO_LABEL:
            return State.DECIDED
        if not self._is_full(subject):
            return State.OPEN
        codes = self.answers.get(subject, {}).values()
        if any(code >= 0 or code == CONTRADICTED for code in codes):
            return State.DISPUTED
        return State.UNSURE if UNSURE in codes else State.SKIPPED

    @property
    def codes(self) -> IntArray:
        """Class code of each question, shape (questions,), `NO_LABEL` where it is not decided."""
        codes = np.full(self.questions, NO_LABEL, dtype=np.int64)
        for question in self._questions:
            codes[question] = self.code(question)
        return codes


def _combined(before: int, after: int) -> int:
    """Return the answer that counts of two by one annotator on one subject, in either order."""
    if before >= 0 and after >= 0:
        return before if before == after else CONTRADICTED
    return max(before, after, key=lambda code: _WEIGHT.get(code, 2))
