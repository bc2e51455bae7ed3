"""The rounds, draws and answers of an evaluation so far, in one frozen record.

A row of the pool is identified by its cell and its *rank*, its place in the permanent random
order of the cell. Ids are in the reserve alone: no statistic needs them.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.outputs import Outputs

NO_LABEL = -1
"""Label code of a question without an answer."""

SAMPLER, ELSEWHERE, PEOPLE = "sampler", "elsewhere", "people"
"""Who drew the rows of a round."""


@dataclasses.dataclass(frozen=True)
class Votes:
    """The answers to n questions: one entry for each class among the answers to a question.

    The mean loss over the answers to a question counts as one draw of a stochastic oracle: they
    are about the same row, so they are not independent of each other.
    """

    row: IntArray  # (v,): which of the n questions; ascending
    label: IntArray  # (v,): class code
    share: FloatArray  # (v,): share of the question's answers that are this class, in (0, 1]
    rows: int  # n
    # (n,): number of answers to each question; None if there is one to each
    answers: IntArray | None = None

    @classmethod
    def of_labels(
        cls, label: IntArray, shares: FloatArray | None = None, answers: IntArray | None = None
    ) -> "Votes":
        """Return the answers to questions; ``shares`` of classes are 0 where all are the label."""
        n = len(label)
        if shares is None:
            return cls(np.arange(n), label, np.ones(n), n, answers)
        spread = shares.copy()
        alone = np.flatnonzero(~spread.any(axis=1))
        spread[alone, label[alone]] = 1.0
        row, code = np.nonzero(spread)
        return cls(row, code, spread[row, code], n, answers)

    def spread(self, weight: FloatArray) -> FloatArray:
        """Return the weight of each entry, shape (v,), given the questions' weights, shape (n,)."""
        return weight if self.rows == len(self.row) else weight[self.row] * self.share

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the mean of values over the answers to each question, shape (n, ...)."""
        if self.rows == len(self.row):
            return values
        share = self.share.reshape(-1, *[1] * (values.ndim - 1))
        return np.add.reduceat(share * values, np.searchsorted(self.row, np.arange(self.rows)))


@dataclasses.dataclass(frozen=True)
class Round:
    """The draws of one round, in order."""

    question: IntArray  # (draws,): index into the questions of the history
    # (draws,): q, the chance that one draw of the round took this row
    probability: FloatArray
    new: BoolArray  # (draws,): whether the draw asked the question
    # pi(y|k) behind the proposal, (leaves, classes), if it had a model
    posterior: FloatArray | None = None
    # (cells,): chance of a given row of each cell that no earlier round had drawn: with
    # replacement, to be taken by one draw; without, to be in the round. None if it was not kept
    cell_probability: FloatArray | None = None
    # number of new rows asked for, which may differ from the number drawn; None if it was not kept
    wanted: int | None = None
    # who drew the rows: `SAMPLER`, with the chance of their cell; `ELSEWHERE`, each with a chance
    # of its own; or `PEOPLE`, so that they stand for no others
    origin: str = SAMPLER
    # (draws,): strata of which a fixed number of rows was drawn; None for one
    stratum: IntArray | None = None
    # number of rows expected in the cluster of a drawn row, where whole clusters were drawn; None
    # where rows were drawn by themselves
    together: float | None = None

    def chances(self, cell: IntArray) -> FloatArray:
        """Return the chance of the row of each question, given their cells: (questions,)."""
        assert self.cell_probability is not None
        chance = self.cell_probability[cell]
        chance[self.question] = self.probability
        return chance

    def renumbered(self, place: IntArray) -> "Round":
        """Return the round with other numbers of questions, its draws shuffled.

        The shuffle follows from their number, not from labels: draws of a round are exchangeable,
        and tests that bet on one draw after the other are right in such an order.
        """
        question = place[self.question]
        shuffle = np.random.Generator(np.random.PCG64(len(question))).permutation(len(question))
        order = np.argsort(question, kind="stable")[shuffle]
        first = np.zeros(len(question), dtype=np.bool_)
        first[np.unique(question[order], return_index=True)[1]] = True
        return dataclasses.replace(
            self,
            question=question[order],
            probability=self.probability[order],
            new=first & np.isin(question[order], question[self.new]),
            stratum=None if self.stratum is None else self.stratum[order],
        )


@dataclasses.dataclass(frozen=True)
class Taken:
    """Labels that arrived together."""

    rounds: int  # number of rounds so far when they arrived
    # the new class code of each question; `NO_LABEL` where a label was removed
    codes: Mapping[int, int]
    replace: bool  # whether one of them replaced an earlier label

    def renumbered(self, place: IntArray) -> "Taken":
        """Return the arrival with other numbers of questions; see `Round.renumbered`."""
        codes = {int(place[key]): code for key, code in self.codes.items()}
        return dataclasses.replace(self, codes=codes)


@dataclasses.dataclass(frozen=True)
class History:
    """The rounds so far, and the questions they asked, in order.

    A deterministic oracle is asked about a row once, however often it is drawn; a stochastic
    one at every draw.
    """

    cell: IntArray  # shape (questions,): index into the cell table
    rank: IntArray  # shape (questions,): place of the row in the cell's permanent order, from 0
    # shape (questions,): class code, or `NO_LABEL`; where answers differ, the commonest
    label: IntArray
    outputs: Outputs  # outputs for the rows asked about
    slice: IntArray  # shape (questions, slice columns): codes of the row's values
    rounds: tuple[Round, ...] = ()  # the rounds, in order
    # for each question whose label was corrected, the number of rounds at that time
    corrected: Mapping[int, int] = dataclasses.field(default_factory=dict)
    # shape (questions, classes): share of each class among the answers of a stochastic oracle to a
    # question, a row of zeros where all answers are the label; None if that is so everywhere
    shares: FloatArray | None = None
    # shape (questions,): number of answers to each question, 0 without a label; None if each has at
    # most one
    answers: IntArray | None = None
    # arrivals of labels, in order; a workspace has its deliveries instead
    taken: tuple[Taken, ...] = ()

    @classmethod
    def start(cls, systems: int = 1, classes: int = 2, slices: int = 0) -> "History":
        """Return an empty history."""
        empty = np.zeros(0, dtype=np.int64)
        outputs = Outputs.none(systems, classes)
        return cls(empty, empty, empty, outputs, np.zeros((0, slices), dtype=np.int64))

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self.cell)

    @functools.cached_property
    def memory(self) -> dict[str, tuple[Any, ...]]:
        """Results worked out from this very history, each with the argument that it is for."""
        return {}

    @functools.cached_property
    def labelled(self) -> IntArray:
        """Indices of the questions that have an answer."""
        return np.flatnonzero(self.label != NO_LABEL)

    @property
    def picked(self) -> BoolArray:
        """Which questions are about rows that people picked, shape (questions,)."""
        rounds = np.array([past.origin == PEOPLE for past in self.rounds], dtype=np.bool_)
        return rounds[self.met] if rounds.any() else np.zeros(len(self), dtype=np.bool_)

    @property
    def as_if_drawn(self) -> "History":
        """The history with rows people picked as if chance had: to learn from, not to claim."""
        if not any(past.origin == PEOPLE for past in self.rounds):
            return self
        rounds = tuple(dataclasses.replace(past, origin=SAMPLER) for past in self.rounds)
        return dataclasses.replace(self, rounds=rounds)

    @property
    def together(self) -> float | None:
        """The most rows expected in the cluster of a drawn row, by rounds of whole clusters."""
        return max((one.together for one in self.rounds if one.together is not None), default=None)

    @property
    def met(self) -> IntArray:
        """The round that asked each question first, shape (questions,)."""
        return np.repeat(np.arange(len(self.rounds)), [int(past.new.sum()) for past in self.rounds])

    @property
    def drawn(self) -> IntArray:
        """The round of each draw, shape (draws,)."""
        return np.repeat(np.arange(len(self.rounds)), [len(past.question) for past in self.rounds])

    def votes(self, question: IntArray) -> Votes:
        """Return the answers to labelled questions, in the order of ``question``."""
        shares = None if self.shares is None else self.shares[question]
        answers = None if self.answers is None else self.answers[question]
        return Votes.of_labels(self.label[question], shares, answers)

    def seen(self, cells: int, classes: int, question: IntArray | None = None) -> FloatArray:
        """Return the number of answers of each class in each cell, shape (cells, classes).

        A labelled question, of those given if any are, counts once, divided among its answers.
        """
        question = self.labelled if question is None else question
        votes, seen = self.votes(question), np.zeros((cells, classes))
        np.add.at(seen, (self.cell[question[votes.row]], votes.label), votes.share)
        return seen

    @property
    def money(self) -> float:
        """Total cost of the labels so far, each question once; their number if costs are equal."""
        if self.outputs.cost is None:
            return float(len(self.labelled))
        return float(self.outputs.cost[self.labelled].sum())

    @property
    def question(self) -> IntArray:
        """Questions of all draws, in order."""
        return np.concatenate([np.zeros(0, np.int64), *(past.question for past in self.rounds)])

    @property
    def probability(self) -> FloatArray:
        """The probability q of each draw, in order."""
        return np.concatenate([np.zeros(0), *(past.probability for past in self.rounds)])

    @functools.cached_property
    def ordered(self) -> "History":
        """The same history, the questions of each round ordered by the facts about them.

        Whoever asked first, or answered first, decides nothing then: estimates add up the same
        numbers in the same order, so they are equal to the last digit (`stats.labelled_counts`).
        """
        ordered = self.permuted(np.lexsort(self._facts()[::-1]))
        ordered.__dict__["ordered"] = ordered
        return ordered

    def permuted(self, order: IntArray) -> "History":
        """Return the same history, its questions in another order of their present numbers."""
        place = np.empty(len(self), dtype=np.int64)
        place[order] = np.arange(len(self))
        return History(
            **self._of_questions(order),
            rounds=tuple(past.renumbered(place) for past in self.rounds),
            corrected={int(place[key]): at for key, at in self.corrected.items()},
            taken=tuple(arrival.renumbered(place) for arrival in self.taken),
        )

    def _of_questions(self, index: IntArray) -> dict[str, Any]:
        """Return the fields of some questions, by name."""
        columns = {name: values[index] for name, values in self._columns.items()}
        return columns | {"outputs": self.outputs.take(index)}

    @property
    def _columns(self) -> dict[str, Any]:
        """The fields with a value for each question, by name, but for those that are None."""
        names = ("cell", "rank", "label", "slice", "shares", "answers")
        return {name: held for name in names if (held := getattr(self, name)) is not None}

    def _facts(self) -> list[npt.NDArray[Any]]:
        """Return the facts about each question, columns of shape (questions,), the round first."""
        corrected = np.zeros(len(self), dtype=np.int64)
        corrected[list(self.corrected)] = list(self.corrected.values())
        columns = [self.met, self.cell, self.label, corrected, *self.outputs.columns]
        columns += [*self.slice.T, *self.drawn_in.T]
        columns += [] if self.shares is None else [*self.shares.T]
        return columns if self.answers is None else [*columns, self.answers]

    @property
    def drawn_in(self) -> FloatArray:
        """How often each round drew each row, then with which chance, (questions, 2 rounds).

        No columns if each row was drawn once.
        """
        if sum(len(past.question) for past in self.rounds) == len(self):
            return np.zeros((len(self), 0))
        facts = np.zeros((len(self), 2, len(self.rounds)))
        for number, past in enumerate(self.rounds):
            facts[:, 0, number] = np.bincount(past.question, minlength=len(self))
            facts[past.question, 1, number] = past.probability
        return facts.reshape(len(self), 2 * len(self.rounds))

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
        """Return the history of the first rounds, with all their labels so far.

        Of all rounds it is this very object, by which a model that was fitted to it is recognised.
        """
        if rounds >= len(self.rounds):
            return self
        kept_rounds = self.rounds[:rounds]
        questions = sum(int(past.new.sum()) for past in kept_rounds)
        corrected = {key: min(at, rounds) for key, at in self.corrected.items() if key < questions}
        taken = []
        for arrival in self.taken:
            codes = {key: code for key, code in arrival.codes.items() if key < questions}
            if codes:
                taken.append(Taken(min(arrival.rounds, rounds), codes, arrival.replace))
        return History(
            **self._of_questions(np.arange(questions)),
            rounds=kept_rounds,
            corrected=corrected,
            taken=tuple(taken),
        )

    def drawn_by_cell(self, cells: int) -> IntArray:
        """Return the rows drawn from each cell, the rank of its next fresh row: (cells,)."""
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
        """Return the history with one more round, without labels; unknown slices are -1."""
        unknown = {"label": NO_LABEL, "slice": -1, "shares": 0, "answers": 0}
        fresh = unknown | {"cell": cell, "rank": rank} | ({} if slice is None else {"slice": slice})
        columns = {
            name: np.append(held, np.broadcast_to(fresh[name], (len(cell), *held.shape[1:])), 0)
            for name, held in self._columns.items()
        }
        return dataclasses.replace(
            self,
            **columns,
            outputs=Outputs.concatenate([self.outputs, outputs]),
            rounds=(*self.rounds, drawn),
        )

    def with_last(self, **changes: Any) -> "History":
        """Return the history with other values of some fields of its last round."""
        last = dataclasses.replace(self.rounds[-1], **changes)
        return dataclasses.replace(self, rounds=(*self.rounds[:-1], last))

    def with_labels(self, label: IntArray) -> "History":
        """Return the history with the labels of all questions replaced, shape (questions,).

        A label that changes stands for all answers to its question, as a single one.
        """
        shares, answers = self.shares, self.answers
        changed = np.flatnonzero(label != self.label)
        if shares is not None:
            shares = np.where((label == self.label)[:, None], shares, 0.0)
        if answers is not None:
            answers = np.where(label == self.label, answers, label != NO_LABEL)
        taken = self.taken
        if len(changed):
            codes = dict(zip(changed.tolist(), label[changed].tolist(), strict=True))
            replace = bool(np.any(self.label[changed] != NO_LABEL))
            taken = (*taken, Taken(len(self.rounds), codes, replace))
        return dataclasses.replace(self, label=label, shares=shares, answers=answers, taken=taken)

    def with_corrections(self, label: IntArray) -> "History":
        """Return the history with labels replaced, shape (questions,), and corrections noted."""
        is_corrected = (self.label != NO_LABEL) & (self.label != label)
        rounds = dict.fromkeys(np.flatnonzero(is_corrected).tolist(), len(self.rounds))
        return dataclasses.replace(self.with_labels(label), corrected={**self.corrected, **rounds})

    def with_rows(self, outputs: Outputs, slice: IntArray) -> "History":
        """Return the history with the outputs and slices of all questions replaced."""
        return dataclasses.replace(self, outputs=outputs, slice=slice)
