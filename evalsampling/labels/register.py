"""The register of tasks and votes that a delivery is checked against."""

import dataclasses
from collections.abc import Mapping, Sequence

from evalsampling.label_spaces.base import LabelSpace
from evalsampling.labels.tally import SKIPPED, UNSURE, Answer, Subjects, Tally
from evalsampling.labels.vendor import unescaped
from evalsampling.labels.vote import Pair, Vote
from evalsampling.pool.row_ids import parts_of, text_of
from evalsampling.spec.id_columns import IdColumns
from evalsampling.stats.arrays import IntArray


@dataclasses.dataclass(frozen=True)
class Register:
    """Tasks that have been sent out and votes so far, to check a delivery against.

    A *subject* is what a vote can be about: the questions come first, then the tasks that are no
    questions (adjudications, gold rows, repeats).

    Attributes:
        question_of_task: the subject behind each task.
        questions_of_id: the questions about each row, by its id as text; only a stochastic oracle
            has several about one row.
        ids: id of each subject's row as text.
        tasks: task of each subject.
        labels: class code of each question, shape (questions,), `NO_LABEL` for none.
        space: what labels there are.
        tally: votes so far; None stands for no votes.
        withdrawn: number of the round of each task that was withdrawn.
        pairs: the questions about each pair of records, see `labels.splink`.
        folds_names: whether spellings of an annotator's name that look alike are one person.
        id: columns of the ids.
    """

    question_of_task: Mapping[str, int]
    questions_of_id: Mapping[str, Sequence[int]]
    ids: Sequence[str]
    tasks: Sequence[str]
    labels: IntArray
    space: LabelSpace
    tally: Tally | None = None
    withdrawn: Mapping[str, int] = dataclasses.field(default_factory=dict)
    pairs: Mapping[Pair, Sequence[int]] = dataclasses.field(default_factory=dict)
    folds_names: bool = False
    id: IdColumns = "id"

    @property
    def annotators(self) -> set[str]:
        """Names of the annotators who have answered so far."""
        names = {name for answers in self.votes_so_far.answers.values() for name in answers}
        return {name for name in names if name is not None}

    @property
    def votes_so_far(self) -> Tally:
        """The tally of the votes so far, empty if there are none."""
        return self.tally or Tally(Subjects(len(self.labels)))

    def texts(self, id: str) -> Sequence[str]:
        """Return the values of an id, one for each column."""
        return [id] if isinstance(self.id, str) else [*map(str, parts_of(id))]

    def unescaped(self, id: str) -> str:
        """Return an id without the apostrophes of `vendor.escaped`."""
        if isinstance(self.id, str):
            return unescaped(id)
        return text_of([*map(unescaped, self.texts(id))])

    def with_votes(
        self, taken: Sequence[tuple[int, Vote]], replace: bool, rounds: int
    ) -> tuple["Register", bool]:
        """Return the register with more votes counted, and whether they changed anything."""
        tally = self.votes_so_far.copy()
        answers = [
            answer_of(subject, vote.annotator, vote.label, vote.unsure, self.space.codes)
            for subject, vote in taken
        ]
        changed = tally.add(answers, replace, rounds)
        return dataclasses.replace(self, tally=tally, labels=tally.codes), changed


def answer_of(
    subject: int,
    annotator: str | None,
    label: str | None,
    unsure: bool,
    codes: Mapping[str, int],
) -> Answer:
    """Return a vote as an answer: without a label it is `UNSURE` or `SKIPPED`."""
    if label is not None:
        return Answer(subject, annotator, codes[label])
    return Answer(subject, annotator, UNSURE if unsure else SKIPPED)
