"""What has happened so far: rounds, draws and labels, in one frozen record.

A row of the pool is known here by its cell and its *rank*, its place in the permanent random
order of the cell. Which id that is only the reserve knows, and no statistics need it.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.stats.outputs import Outputs
from evalsampling.stats.votes import Votes

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

NO_LABEL = -1
"""Label code of a question that has no answer."""


@dataclasses.dataclass(frozen=True)
class Round:
    """The draws of one round, in order.

    Attributes:
        question: shape (draws,): index into the questions of the history.
        probability: shape (draws,): q, the chance that one draw of the round took this row.
        new: shape (draws,), bool: whether the draw asked the question.
        posterior: pi(y|k) behind the proposal, shape (leaves, classes), if it had a model.
        cell_probability: shape (cells,): chance of a given row of each cell that no round had drawn
            before, drawn from or not: of draws with replacement to be taken by one draw, of a
            sample without replacement to be in the round. None if it was not kept.
        wanted: new rows that were asked for, before it was known how many there are; None if it was
            not kept.
    """

    question: IntArray
    probability: FloatArray
    new: npt.NDArray[np.bool_]
    posterior: FloatArray | None = None
    cell_probability: FloatArray | None = None
    wanted: int | None = None


@dataclasses.dataclass(frozen=True)
class Taken:
    """Labels that came together.

    Attributes:
        rounds: how many rounds there were.
        codes: class code that each question got; `NO_LABEL` where a label was taken away.
        replace: whether one of them took the place of another.
    """

    rounds: int
    codes: Mapping[int, int]
    replace: bool


@dataclasses.dataclass(frozen=True)
class History:
    """Rounds so far, and the questions they asked, in order.

    A deterministic oracle is asked about a row once, however often it is drawn; a stochastic
    one at every draw.

    Attributes:
        cell: shape (questions,): index into the cell table.
        rank: shape (questions,): place of the row in the cell's permanent order, from 0.
        label: shape (questions,): class code, or `NO_LABEL`; where answers differ, that of most.
        outputs: of the rows asked about.
        slice: shape (questions, slice columns): codes of the row's values.
        rounds: in order.
        corrected: by question, where its label was another one before: how many rounds there were
            when it was corrected.
        shares: shape (questions, classes): share of each class among the answers to a question,
            a row of zeros where the label tells all; None if it does everywhere. Of a stochastic
            oracle, which may have several.
        taken: how the labels came, in order; of a workspace its deliveries tell that.
    """

    cell: IntArray
    rank: IntArray
    label: IntArray
    outputs: Outputs
    slice: IntArray
    rounds: tuple[Round, ...] = ()
    corrected: Mapping[int, int] = dataclasses.field(default_factory=dict)
    shares: FloatArray | None = None
    taken: tuple[Taken, ...] = ()

    @classmethod
    def start(cls, systems: int = 1, classes: int = 2, slices: int = 0) -> "History":
        """Return the history of nothing.

        Args:
            systems: number of systems.
            classes: number of classes.
            slices: number of slice columns.
        """
        none = np.zeros(0, dtype=np.int64)
        outputs = Outputs.none(systems, classes)
        return cls(none, none, none, outputs, np.zeros((0, slices), dtype=np.int64))

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self.cell)

    @property
    def labelled(self) -> IntArray:
        """Indices of the questions that have an answer."""
        return np.flatnonzero(self.label != NO_LABEL)

    @property
    def met(self) -> IntArray:
        """The round that asked each question first, shape (questions,)."""
        return np.repeat(np.arange(len(self.rounds)), [int(one.new.sum()) for one in self.rounds])

    @property
    def drawn(self) -> IntArray:
        """The round of each draw, shape (draws,)."""
        return np.repeat(np.arange(len(self.rounds)), [len(one.question) for one in self.rounds])

    def votes(self, question: IntArray) -> Votes:
        """Return the answers to some questions that have one, in their order."""
        shares = None if self.shares is None else self.shares[question]
        return Votes.of_labels(self.label[question], shares)

    def seen(self, cells: int, classes: int, question: IntArray | None = None) -> FloatArray:
        """Return the answers of each class in each cell, shape (cells, classes).

        A question with an answer counts once, divided among the classes that its answers name.

        Args:
            cells: how many there are.
            classes: how many there are.
            question: those with an answer that count; all by default.
        """
        known = self.labelled if question is None else question
        votes, seen = self.votes(known), np.zeros((cells, classes))
        np.add.at(seen, (self.cell[known[votes.row]], votes.label), votes.share)
        return seen

    @property
    def money(self) -> float:
        """What the labels so far cost, each question once; their number if all cost the same."""
        known = self.labelled
        if self.outputs.cost is None:
            return float(len(known))
        return float(self.outputs.cost[known].sum())

    @property
    def question(self) -> IntArray:
        """Questions of all draws, in order."""
        return np.concatenate([np.zeros(0, np.int64), *(r.question for r in self.rounds)])

    @property
    def probability(self) -> FloatArray:
        """Q of all draws, in order."""
        return np.concatenate([np.zeros(0), *(r.probability for r in self.rounds)])

    def until_last_answered_round(self) -> "History":
        """Return the history up to the last round that has an answer, or asked nothing."""
        rounds, questions = self.rounds, len(self)
        while rounds:
            asked = int(rounds[-1].new.sum())
            if not asked or np.any(self.label[questions - asked : questions] != NO_LABEL):
                break
            rounds, questions = rounds[:-1], questions - asked
        return self.first(len(rounds))

    def first(self, rounds: int) -> "History":
        """Return the history of the first rounds, with the labels that are known by now.

        Args:
            rounds: how many; if they are all, the history itself is returned, so that what was
                fitted to it is known to be of it.
        """
        if rounds >= len(self.rounds):
            return self
        kept_rounds = self.rounds[:rounds]
        questions = sum(int(one.new.sum()) for one in kept_rounds)
        kept = slice(questions)
        return History(
            self.cell[kept],
            self.rank[kept],
            self.label[kept],
            self.outputs.take(np.arange(questions)),
            self.slice[kept],
            kept_rounds,
            {one: min(at, rounds) for one, at in self.corrected.items() if one < questions},
            None if self.shares is None else self.shares[kept],
            tuple(_taken_of(self.taken, questions, rounds)),
        )

    def drawn_by_cell(self, cells: int) -> IntArray:
        """Distinct rows drawn from each cell, shape (cells,): the rank of its next fresh row."""
        drawn = np.zeros(cells, dtype=np.int64)
        np.maximum.at(drawn, self.cell, self.rank + 1)
        return drawn

    def with_round(
        self,
        drawn: Round,
        cell: IntArray,
        rank: IntArray,
        outputs: Outputs,
        slice: IntArray | None = None,
    ) -> "History":
        """Return the history with one round more and its new questions, still unanswered.

        They are about the rows at (cell, rank).

        Slices that are not given are unknown: -1.
        """
        slices = np.full((len(cell), self.slice.shape[1]), -1) if slice is None else slice
        shares = self.shares
        if shares is not None:
            shares = np.concatenate([shares, np.zeros((len(cell), shares.shape[1]))])
        return History(
            np.concatenate([self.cell, cell]),
            np.concatenate([self.rank, rank]),
            np.concatenate([self.label, np.full(len(cell), NO_LABEL)]),
            Outputs.concatenate([self.outputs, outputs]),
            np.concatenate([self.slice, slices]),
            (*self.rounds, drawn),
            self.corrected,
            shares,
            self.taken,
        )

    def with_labels(self, label: IntArray) -> "History":
        """Replace the labels of all questions, shape (questions,).

        Where one is another than it was it stands for all answers to its question.
        """
        shares, changed = self.shares, np.flatnonzero(label != self.label)
        if shares is not None:
            shares = np.where((label == self.label)[:, None], shares, 0.0)
        taken = self.taken
        if len(changed):
            codes = dict(zip(changed.tolist(), label[changed].tolist(), strict=True))
            replace = bool(np.any(self.label[changed] != NO_LABEL))
            taken = (*taken, Taken(len(self.rounds), codes, replace))
        return dataclasses.replace(self, label=label, shares=shares, taken=taken)

    def with_corrections(self, label: IntArray) -> "History":
        """Replace labels, shape (questions,), and note which of them were others before."""
        was = (self.label != NO_LABEL) & (self.label != label)
        rounds = dict.fromkeys(np.flatnonzero(was).tolist(), len(self.rounds))
        found = self.with_labels(label)
        return dataclasses.replace(found, corrected={**self.corrected, **rounds})

    def with_rows(self, outputs: Outputs, slice: IntArray) -> "History":
        """Replace what is known of the rows of all questions."""
        return dataclasses.replace(self, outputs=outputs, slice=slice)


def _taken_of(taken: Sequence[Taken], questions: int, rounds: int) -> Iterator[Taken]:
    """Yield what came about the first questions, in a history of some rounds."""
    for one in taken:
        codes = {question: code for question, code in one.codes.items() if question < questions}
        if codes:
            yield Taken(min(one.rounds, rounds), codes, one.replace)
