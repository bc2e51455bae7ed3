"""The register of tasks and votes that a delivery is checked against."""

import collections
import dataclasses
import decimal
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalsampling.label_spaces.base import LabelSpace
from evalsampling.labels.splink import make_pair
from evalsampling.labels.tally import SKIPPED, UNSURE, Answer, Tally
from evalsampling.labels.tasks import check_problem
from evalsampling.labels.vendor import unescaped
from evalsampling.labels.vote import BY_TASK, Pair, Vote
from evalsampling.pool.row_ids import as_text, in_other_order, parts_of, text_of
from evalsampling.spec import LabellingPlan
from evalsampling.spec.id_columns import IdColumns, columns_of

_WHOLE, _FLOAT = re.compile(r"0|-?[1-9][0-9]*"), re.compile(r"(0|-?[1-9][0-9]*)\.0+")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KINDS = (_WHOLE, _FLOAT, _UUID)
"""Values that programs spell differently, and none but in one way within a column."""

_NUMBER = re.compile(r"\s*[+-]?(\d{1,400}\.?\d{0,400}|\.\d{1,400})([eE][+-]?\d{1,3})?\s*", re.A)
_WRITTEN = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.A)
_MORE_DIGITS = re.compile(r"[1-9]\d{14,}[1-9]", re.A)
_READINGS = [
    decimal.Context(digits, rounding)
    for digits, rounding in (
        (2_000, decimal.ROUND_DOWN), (15, decimal.ROUND_HALF_UP), (15, decimal.ROUND_DOWN),
    )
]  # fmt: skip
"""How a number in an id may be read: with all digits, or rounded or cut to fifteen."""

Name = str | Pair
"""Name of a row where no task is given: its id, or its two records."""

Lines = Mapping[str | None, Mapping[str, int]]
"""By annotator and label: the first line of a delivery with that vote on a row."""


@dataclasses.dataclass(frozen=True)
class Register:
    """Tasks that have been sent out and votes so far, to check a delivery against.

    A *subject* is what a vote can be about, with a task and the id of its row: the questions come
    first, then the tasks that are no questions (adjudications, gold rows, repeats). Tasks of rounds
    that were `withdrawn` have the number of the round; `pairs` are questions by their two records.
    Where pairs are `in_order`, the pool has some in both orders, which are rows of their own.
    """

    question_of_task: Mapping[str, int]
    ids: Sequence[str]
    space: LabelSpace
    tally: Tally
    withdrawn: Mapping[str, int] = dataclasses.field(default_factory=dict)
    pairs: Mapping[Pair, Sequence[int]] = dataclasses.field(default_factory=dict)
    id: IdColumns = "id"
    in_order: bool = False

    @classmethod
    def of_questions(
        cls, tasks: Sequence[str], ids: Sequence[Any], plan: LabellingPlan
    ) -> "Register":
        """Return the register of questions without any answer, by their tasks and ids."""
        return cls(
            question_of_task={task: question for question, task in enumerate(tasks)},
            ids=[as_text(id, plan.pool.id) for id in ids],
            space=plan.labels.space,
            tally=Tally.of(plan.labels, len(tasks)),
            id=plan.pool.id,
        )

    @functools.cached_property
    def tasks(self) -> Sequence[str]:
        """Task of each subject."""
        return list(self.question_of_task)

    @functools.cached_property
    def questions_of_id(self) -> Mapping[str, Sequence[int]]:
        """The questions about each row, by its id; only a stochastic oracle has several."""
        questions: dict[str, list[int]] = {}
        for question, id in enumerate(self.ids[: self.tally.questions]):
            questions.setdefault(id, []).append(question)
        return questions

    @property
    def annotators(self) -> set[str]:
        """Names of the annotators who have answered so far."""
        names = {name for answers in self.tally.answers.values() for name in answers}
        return {name for name in names if name is not None}

    def texts(self, id: str) -> Sequence[str]:
        """Return the values of an id, one for each column."""
        return [id] if isinstance(self.id, str) else [*map(str, parts_of(id))]

    def unescaped(self, id: str) -> str:
        """Return an id without the apostrophes of `vendor.escaped`, spelt as its column has it."""
        texts = [*map(unescaped, self.texts(id))]
        if len(texts) == len(self._kinds):
            texts = [_spelt(text, kind) for text, kind in zip(texts, self._kinds, strict=True)]
        return texts[0] if isinstance(self.id, str) else text_of(texts)

    @functools.cached_property
    def _kinds(self) -> list[re.Pattern[str] | None]:
        """What all values of each column of the ids are: one of `_KINDS`, or None of these."""
        columns = zip(*map(self.texts, self.ids), strict=False)
        return [
            next((kind for kind in _KINDS if all(map(kind.fullmatch, column))), None)
            for column in columns
        ]

    def find(self, vote: Vote, alike: set[Name]) -> tuple[int | None, str]:
        """Return the number of the subject that a vote is about, or None and why there is none."""
        if vote.task is None and vote.id is not None and vote.id in self.question_of_task:
            return self.question_of_task[vote.id], ""
        if vote.task is not None:
            question = self.question_of_task.get(vote.task)
            if question is None and vote.task in self.withdrawn:
                return None, f"round {self.withdrawn[vote.task]} was withdrawn"
            if question is None:
                return None, f"unknown task {vote.task!r}{check_problem(vote.task)}"
            id = self.ids[question]
            if vote.id is not None and not self._is_meant(id, vote.id):
                return None, f"task {vote.task!r} is about id {id!r}, not {vote.id!r}"
            return question, ""
        # Without data sets two records are the columns of the id, if these are several.
        is_whole = isinstance(self.id, str) or any(source for source, _ in vote.pair or ())
        if vote.pair is not None and (vote.id is None or (self.pairs and is_whole)):
            name, questions = self._of_pair(vote.pair)
            words = "pair " + " and ".join(repr(":".join(filter(None, one))) for one in vote.pair)
        elif vote.id is not None:
            name, questions = self._of_id(vote.id)
            words = f"id {vote.id!r}"
        else:
            return None, f"neither task nor {' and '.join(columns_of(self.id))} is given"
        if not questions:
            return None, f"unknown {words}: {BY_TASK}"
        if len(questions) > 1:
            return None, f"{words} was drawn {len(questions)} times: name the task"
        if name in alike:
            return None, f"{words} may be that of another row: {BY_TASK}"
        return questions[0], ""

    def _is_meant(self, id: str, given: str) -> bool:
        """Tell whether the id given beside a task may be that of its row.

        The records of a pair may be in the other order, and numbers as a spreadsheet writes them.
        """
        spelt = self.unescaped(given)
        if id in (given, spelt) or {given, spelt} & self.questions_of_id.keys():
            return id in (given, spelt)
        turned = [] if self.in_order else in_other_order(spelt, self.id)
        drawn, orders = self.texts(id), map(self.texts, [spelt, *turned])
        return any(len(one) == len(drawn) and all(map(_may_become, drawn, one)) for one in orders)

    def _of_id(self, given: str) -> tuple[Name, Sequence[int]]:
        """Return an id as it is spelt here, and the questions about its row."""
        known = self.questions_of_id
        id = given if given in known else self.unescaped(given)
        if id not in known and not self.in_order:
            id = next((other for other in in_other_order(id, self.id) if other in known), id)
        return id, known.get(id, ())

    def _of_pair(self, given: Pair) -> tuple[Name, Sequence[int]]:
        """Return a pair as it is spelt here, and the questions about its row."""
        pair = given if given in self.pairs else make_pair(*map(unescaped, given[0] + given[1]))
        return pair, self.pairs.get(pair, ())

    def alike(self, votes: Sequence[Vote]) -> set[Name]:
        """Return the drawn rows whose name a program that reads numbers may have made of another's.

        Of a number it keeps fifteen digits, unless a name of the delivery has more.
        """
        named = [str(vote.id or vote.pair) for vote in votes if vote.task is None]
        readings = _READINGS[: 1 if any(map(_MORE_DIGITS.search, named)) else None]
        counts: collections.Counter[Any] = collections.Counter()
        exact: dict[Name, Any] = {}
        names: list[Name] = [*self.questions_of_id, *self.pairs] if named else []
        for name in names:
            parts = [*enumerate(self.texts(name))] if isinstance(name, str) else name
            keys = [
                frozenset((place, _number(text, reading)) for place, text in parts)
                for reading in readings
            ]
            exact[name] = keys[0]
            counts.update({*keys})
        return {name for name, key in exact.items() if counts[key] > 1}

    def contradiction(self, subject: int, vote: Vote, lines: Lines, replace: bool) -> str:
        """Return why a vote contradicts others of its delivery or earlier ones; empty if it agrees.

        Where several votes a row are wanted, both answers of an annotator who gave two are kept,
        and count as a contradiction: the result must not depend on their order. Where one is
        wanted, an answer without a name may be of the same annotator as any other.
        """
        if vote.label is None:
            return ""
        tally, wanted = self.tally, self.tally.wanted(subject)
        if wanted == 1 or replace:
            line_of_label = (
                {label: line for own in lines.values() for label, line in own.items()}
                if None in lines or (replace and wanted == 1)
                else lines[vote.annotator]
            )
            if len(line_of_label) > 1:
                by_line = sorted(line_of_label.items(), key=lambda item: item[1])
                words = " and ".join(
                    f"{label!r}" + (f" in line {line}" if line else "") for label, line in by_line
                )
                return f"two different labels for one row: {words}"
        if wanted > 1 or replace:
            return ""
        code, earlier = self.space.codes[vote.label], tally.answers.get(subject, {})
        if tally.is_settled(subject):
            before = [tally.code(subject)]
        elif vote.annotator is None:
            before = list(earlier.values())
        else:
            before = [earlier.get(vote.annotator, SKIPPED), earlier.get(None, SKIPPED)]
        other = next((answer for answer in before if answer >= 0 and answer != code), None)
        if other is None:
            return ""
        return (
            f"label {vote.label!r}, but the row has {self.space.text(other)!r} already; "
            "a correction comes by --replace"
        )

    def with_votes(
        self, taken: Sequence[tuple[int, Vote]], replace: bool, rounds: int
    ) -> tuple["Register", bool]:
        """Return the register with more votes counted, and whether they changed anything."""
        tally = self.tally.copy()
        answers = [
            answer_of(subject, vote.annotator, vote.label, vote.unsure, self.space.codes)
            for subject, vote in taken
        ]
        changed = tally.add(answers, replace, rounds)
        return dataclasses.replace(self, tally=tally), changed


def _spelt(text: str, kind: re.Pattern[str] | None) -> str:
    """Return a value of an id in the one way in which values of a kind are spelt.

    Programs write whole numbers as floats where a column had nulls, and UUIDs in capitals.
    """
    if kind is _WHOLE and _FLOAT.fullmatch(text):
        return text.partition(".")[0]
    if kind is _FLOAT and _WHOLE.fullmatch(text):
        return f"{text}.0"
    return text.lower() if kind is _UUID and _UUID.fullmatch(text.lower()) else text


def _number(text: str, reading: decimal.Context) -> str:
    """Return how a program that reads numbers spells a text."""
    if not _NUMBER.fullmatch(text):
        return text
    return str(reading.add(reading.create_decimal(text.strip()), 0).normalize(reading))  # no -0


def _may_become(text: str, other: str) -> bool:
    """Tell whether a program that reads numbers may write a text like another."""
    readings = _READINGS if _WRITTEN.fullmatch(other) else ()
    return text == other or any(_number(text, how) == _number(other, how) for how in readings)


def answer_of(
    subject: int, annotator: str | None, label: str | None, unsure: bool, codes: Mapping[str, int]
) -> Answer:
    """Return a vote as an answer: without a label it is `UNSURE` or `SKIPPED`."""
    if label is not None:
        return Answer(subject, annotator, codes[label])
    return Answer(subject, annotator, UNSURE if unsure else SKIPPED)


def answers_of(
    votes: pa.Table, subject_of_task: Mapping[str, int], codes: Mapping[str, int]
) -> list[Answer]:
    """Return the stored votes of a delivery as answers, which a `Tally` counts."""
    columns = [votes[name].to_pylist() for name in ("task", "annotator", "label", "unsure")]
    return [
        answer_of(subject_of_task[task], annotator, label, cannot_tell, codes)
        for task, annotator, label, cannot_tell in zip(*columns, strict=True)
        if task in subject_of_task
    ]
