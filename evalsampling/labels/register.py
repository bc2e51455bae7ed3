"""The register of tasks and votes that a delivery is checked against."""

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.label_spaces.base import LabelSpace
from evalsampling.labels.tally import SKIPPED, UNSURE, Answer, Tally
from evalsampling.labels.vendor import unescaped
from evalsampling.labels.vote import Pair, Vote
from evalsampling.pool.row_ids import as_text, parts_of, text_of
from evalsampling.spec import LabellingPlan
from evalsampling.spec.id_columns import IdColumns

_WHOLE, _FLOAT = re.compile(r"0|-?[1-9][0-9]*"), re.compile(r"(0|-?[1-9][0-9]*)\.0")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KINDS = (_WHOLE, _FLOAT, _UUID)
"""Values that programs spell differently, and none but in one way within a column."""


@dataclasses.dataclass(frozen=True)
class Register:
    """Tasks that have been sent out and votes so far, to check a delivery against.

    A *subject* is what a vote can be about, with a task and the id of its row: the questions come
    first, then the tasks that are no questions (adjudications, gold rows, repeats). Tasks of rounds
    that were `withdrawn` have the number of the round; `pairs` are questions by their two records.
    """

    question_of_task: Mapping[str, int]
    ids: Sequence[str]
    space: LabelSpace
    tally: Tally
    withdrawn: Mapping[str, int] = dataclasses.field(default_factory=dict)
    pairs: Mapping[Pair, Sequence[int]] = dataclasses.field(default_factory=dict)
    id: IdColumns = "id"

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
        for question, id in enumerate(self.ids[: self.tally.subjects.questions]):
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


def answer_of(
    subject: int, annotator: str | None, label: str | None, unsure: bool, codes: Mapping[str, int]
) -> Answer:
    """Return a vote as an answer: without a label it is `UNSURE` or `SKIPPED`."""
    if label is not None:
        return Answer(subject, annotator, codes[label])
    return Answer(subject, annotator, UNSURE if unsure else SKIPPED)
