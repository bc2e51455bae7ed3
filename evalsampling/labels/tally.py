"""What votes come to: which rows are decided, which are not, and why."""

import collections
import dataclasses
import enum
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evalsampling.spec.labels import MAJORITY, MEDIAN
from evalsampling.stats.history import NO_LABEL

EACH = "each"
"""Rule of a stochastic oracle, beside those of `spec.labels`: no votes decide."""

BY_ROW = (MAJORITY, MEDIAN, EACH)
"""Rules that look at the votes on one row; all others look at those on all rows together."""

SKIPPED, UNSURE, CONTRADICTED = -1, -2, -3
"""Answers that name no class: declined, undecided, and two classes by one annotator."""

_WEIGHT = {SKIPPED: 0, UNSURE: 1, CONTRADICTED: 3}
"""Of two answers of one annotator the weightier counts; naming a class weighs 2."""


class State(enum.Enum):
    """Where a question stands."""

    OPEN = "open"
    DECIDED = "decided"
    DISPUTED = "disputed"
    SKIPPED = "skipped"
    UNSURE = "unsure"

    @property
    def waits(self) -> bool:
        """Whether an answer is still to come: from an annotator, or from who settles disputes."""
        return self in (State.OPEN, State.DISPUTED)


class Answer(NamedTuple):
    """What one annotator said of one subject.

    Attributes:
        subject: number of the question, or of another task behind all questions.
        annotator: who; None if the file does not tell.
        code: of the class, or `SKIPPED` or `UNSURE`.
    """

    subject: int
    annotator: str | None
    code: int


@dataclasses.dataclass(frozen=True)
class Subjects:
    """What votes can be about: the questions first, then the tasks that are none.

    Attributes:
        questions: how many questions there are.
        settles: by subject, the question that a task of an adjudication batch decides.
        votes: answers wanted for each question.
    """

    questions: int
    settles: Mapping[int, int] = dataclasses.field(default_factory=dict)
    votes: int = 1

    def wanted(self, subject: int) -> int:
        """Return how many answers a subject is to have: one settles a dispute."""
        return 1 if subject in self.settles else self.votes


@dataclasses.dataclass
class Tally:
    """Votes so far, delivery by delivery.

    What several deliveries come to does not depend on their order, nor on how their votes are
    divided among them, unless they are corrections.

    Attributes:
        subjects: what votes can be about.
        answers: what each annotator said of each subject.
        corrected: by question, where its label was another one before: how many rounds there were
            when it was corrected.
        rule: how votes decide: `MAJORITY`; `MEDIAN`, of numbers; `EACH`, where each answer is a
            draw of a stochastic oracle and counts as it is, and a subject is decided once all
            answers wanted are there; any other is one of all votes, see `decide_together`.
    """

    subjects: Subjects
    answers: dict[int, dict[str | None, int]] = dataclasses.field(default_factory=dict)
    corrected: dict[int, int] = dataclasses.field(default_factory=dict)
    rule: str = MAJORITY
    _together: dict[int, int] = dataclasses.field(default_factory=dict)
    _settled: dict[int, int] = dataclasses.field(default_factory=dict)
    _last: dict[int, int] = dataclasses.field(default_factory=dict)

    @property
    def looks_at_all(self) -> bool:
        """Whether the rule looks at the votes on all rows together."""
        return self.rule not in BY_ROW

    def copy(self) -> "Tally":
        """Return a tally that can go another way."""
        answers = {subject: dict(given) for subject, given in self.answers.items()}
        return dataclasses.replace(
            self,
            answers=answers,
            corrected={**self.corrected},
            _together={**self._together},
            _settled={**self._settled},
            _last={**self._last},
        )

    def add(self, answers: Iterable[Answer], replace: bool, rounds: int) -> bool:
        """Count the votes of one delivery; return whether they change anything.

        Args:
            answers: those that count.
            replace: whether they replace earlier ones. Of one answer a row, and where nobody is
                named, a class then decides the row; else it takes the place of what this
                annotator said before.
            rounds: how many there were when it came in.
        """
        touched: set[int] = set()
        changed = False
        for subject, annotator, code in answers:
            given = self.answers.setdefault(subject, {})
            before = given.get(annotator)
            after = code if before is None else _combined(before, code)
            if replace and code >= 0:
                after = code
                if annotator is None or self.subjects.wanted(subject) == 1:
                    changed |= self._settled.get(subject) != code
                    self._settled[subject] = code
            changed |= before != after
            given[annotator] = after
            touched.add(self.subjects.settles.get(subject, subject))
            question = self.subjects.settles.get(subject)
            if question is not None:
                self._settle(question, subject)
        for question in () if self.looks_at_all else touched:
            self._note(question, rounds)
        return changed

    def decide_together(self, codes: Mapping[int, int], rounds: int) -> None:
        """Take over what a rule makes of all votes so far: it decides what has enough answers.

        Args:
            codes: class code of each subject that it decides.
            rounds: how many there were when the votes had come in.
        """
        self._together = dict(codes)
        for subject in self.answers:
            if subject < self.subjects.questions:
                self._note(subject, rounds)

    def _settle(self, question: int, subject: int) -> None:
        """Take over what an adjudication says of a question."""
        code = self.code(subject)
        if code != NO_LABEL:
            self._settled[question] = code
        else:
            self._settled.pop(question, None)

    def _note(self, question: int, rounds: int) -> None:
        """Note whether the label of a question is another one than it was."""
        code = self.code(question)
        if code == NO_LABEL:
            return
        if self._last.get(question, code) != code:
            self.corrected[question] = rounds
        self._last[question] = code

    # --- results

    def is_settled(self, subject: int) -> bool:
        """Tell whether a correction or an adjudication decides a subject, whatever the votes."""
        return subject in self._settled

    def code(self, subject: int) -> int:
        """Return the class that a subject is decided for, `NO_LABEL` if it is not.

        That is the class with more than half of the votes wanted, and with more votes than any
        other. Of numbers it is the median, once all are there that are wanted and more than half of
        them are numbers. Where each answer counts, the first of the classes with most votes.
        """
        if subject in self._settled:
            return self._settled[subject]
        if self.looks_at_all and subject not in self.subjects.settles:
            return self._together.get(subject, NO_LABEL) if self._is_full(subject) else NO_LABEL
        counts = self._counts(subject)
        wanted = self.subjects.wanted(subject)
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
        """Return the classes that a subject is decided for, each with the answers behind it.

        One class, counted once, unless each answer counts; none if it is not decided.
        """
        code = self.code(subject)
        if code == NO_LABEL:
            return {}
        if self.rule == EACH and subject not in self._settled:
            return self._counts(subject)
        return {code: 1}

    def shares(self, classes: int) -> npt.NDArray[np.float64] | None:
        """Return the share of each class among the answers to each question, see `stats.history`.

        Shape (questions, classes), zeros where one class is all; None unless each answer counts.

        Args:
            classes: how many there are.
        """
        if self.rule != EACH:
            return None
        shares = np.zeros((self.subjects.questions, classes))
        for question in self.answers:
            counts = self.labels(question) if question < len(shares) else {}
            if len(counts) > 1:
                shares[question, list(counts)] = np.array(list(counts.values()), dtype=np.float64)
                shares[question] /= shares[question].sum()
        return shares

    def _counts(self, subject: int) -> collections.Counter[int]:
        """Return how many answers name each class."""
        return collections.Counter(
            code for code in self.answers.get(subject, {}).values() if code >= 0
        )

    def _is_full(self, subject: int) -> bool:
        """Tell whether all answers wanted are there."""
        return len(self.answers.get(subject, {})) >= self.subjects.wanted(subject)

    def state(self, subject: int) -> State:
        """Return where a subject stands."""
        if self.code(subject) != NO_LABEL:
            return State.DECIDED
        if not self._is_full(subject):
            return State.OPEN
        given = self.answers.get(subject, {}).values()
        if any(code >= 0 or code == CONTRADICTED for code in given):
            return State.DISPUTED
        return State.UNSURE if UNSURE in given else State.SKIPPED

    @property
    def codes(self) -> npt.NDArray[np.int64]:
        """Class code of each question, shape (questions,), `NO_LABEL` where it is not decided."""
        codes = np.full(self.subjects.questions, NO_LABEL, dtype=np.int64)
        for question in {*self.answers, *self._settled}:
            if question < self.subjects.questions:
                codes[question] = self.code(question)
        return codes

    def states(self, questions: Iterable[int]) -> Sequence[State]:
        """Return where questions stand, in their order."""
        return [self.state(question) for question in questions]


def _combined(before: int, after: int) -> int:
    """Return what two answers of one annotator on one subject come to, in either order."""
    if before >= 0 and after >= 0:
        return before if before == after else CONTRADICTED
    return max(before, after, key=lambda code: _WEIGHT.get(code, 2))
