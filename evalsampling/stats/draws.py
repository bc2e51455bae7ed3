"""Drawing rows with replacement through cells: exact row probabilities, no pool needed."""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.costs import per_root_cost
from evalsampling.stats.history import History, Round

_DRAWS_AT_A_TIME = 256
DRAWS_PER_NEW_ROW = 50
"""A round that waits for new rows gives up after this many draws for each row wanted."""


@dataclasses.dataclass(frozen=True)
class Proposal:
    """The probability of every row of the pool to be taken by one draw."""

    cell_probability: FloatArray  # shape (cells,): q of each row of the cell that is not an atom
    # questions of the history about *atoms*, which are labelled rows with their own q
    atom: IntArray = dataclasses.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # shape (atoms,): q of each atom
    atom_probability: FloatArray = dataclasses.field(default_factory=lambda: np.zeros(0))
    # model behind the proposal, shape (leaves, classes), if it has one
    posterior: FloatArray | None = None

    def mixed(self, delta: float, rows: int) -> "Proposal":
        """Return (1 - delta) q + delta p, p being the pool's own distribution of ``rows`` rows."""
        return dataclasses.replace(
            self,
            cell_probability=(1 - delta) * self.cell_probability + delta / rows,
            atom_probability=(1 - delta) * self.atom_probability + delta / rows,
        )

    def per_cost(self, table: CellTable, history: History) -> "Proposal":
        """Return q / sqrt(cost), normalised: optimal per cost if q is per draw."""
        if table.cost is None:
            return self
        cost = history.outputs.cost
        cell = per_root_cost(self.cell_probability, table.cost)
        atom = per_root_cost(self.atom_probability, None if cost is None else cost[self.atom])
        free = table.count - np.bincount(history.cell[self.atom], minlength=len(table))
        total = float(free @ cell) + float(atom.sum())
        return dataclasses.replace(
            self, cell_probability=cell / total, atom_probability=atom / total
        )


@dataclasses.dataclass(frozen=True)
class StopRule:
    """When a round ends: at whichever limit is reached first."""

    new_rows: int
    draws: int


def draw_rows(
    proposal: Proposal,
    table: CellTable,
    history: History,
    stop: StopRule,
    rng: np.random.Generator,
    ask_again: bool = False,
) -> History:
    """Return the history with one more round, of rows drawn with replacement from a proposal.

    A draw that falls on a cell takes each of its rows that are no atoms with equal chance: one that
    was drawn before, or the next of the cell's permanent order. The probabilities of all rows sum
    to 1 up to rounding.

    `ask_again`: whether every draw asks a question, as a stochastic oracle needs; without atoms.
    """
    atoms_of_cell = np.bincount(history.cell[proposal.atom], minlength=len(table))
    places = _places(proposal, table.count - atoms_of_cell, rng)
    drawn = _Draws(proposal, table, history, ask_again)
    while len(drawn.questions) < stop.draws and len(drawn.new_cells) < stop.new_rows:
        drawn.add(*next(places))
    return drawn.history()


def _places(
    proposal: Proposal, free: IntArray, rng: np.random.Generator
) -> Iterator[tuple[int, int]]:
    """Yield draws without end: a cell, or after these an atom, and a row of the cell."""
    mass = np.concatenate([free * proposal.cell_probability, proposal.atom_probability])
    cumulated = np.cumsum(mass)
    while True:
        uniforms = rng.random((_DRAWS_AT_A_TIME, 2))
        picks = np.searchsorted(cumulated, uniforms[:, 0] * cumulated[-1], side="right")
        places = uniforms[:, 1] * free[np.minimum(picks, len(free) - 1)]
        yield from zip(picks.tolist(), places.astype(np.int64).tolist(), strict=True)


class _Draws:
    """The draws of one round so far, and the questions that they ask."""

    def __init__(
        self, proposal: Proposal, table: CellTable, history: History, ask_again: bool
    ) -> None:
        """Start without draws."""
        self._proposal, self._table, self._before = proposal, table, history
        self._atoms: list[int] = proposal.atom.tolist()
        self._ask = self._ask_again if ask_again else self._ask_once
        self._questions_of = _questions_by_cell(history, len(table), proposal.atom)
        self._next_rank: list[int] = history.drawn_by_cell(len(table)).tolist()
        self._picks: list[int] = []
        self._new_ranks: list[int] = []
        self.questions: list[int] = []
        self.new_cells: list[int] = []

    def add(self, pick: int, place: int) -> None:
        """Add a draw that `_places` yielded."""
        atom = pick - len(self._table)
        self.questions.append(self._atoms[atom] if atom >= 0 else self._ask(pick, place))
        self._picks.append(pick)

    def _ask_once(self, cell: int, place: int) -> int:
        """Return the earlier question about a row drawn before, or a new one about the next row."""
        questions = self._questions_of(cell)
        if place < len(questions):
            return questions[place]
        questions.append(self._new_question(cell, self._next_rank[cell]))
        return questions[-1]

    def _ask_again(self, cell: int, place: int) -> int:
        """Return a new question about a row drawn before, or about the next one."""
        return self._new_question(cell, min(place, self._next_rank[cell]))

    def _new_question(self, cell: int, rank: int) -> int:
        """Return a new question about the row of a rank, at most the next rank of its cell."""
        self.new_cells.append(cell)
        self._new_ranks.append(rank)
        self._next_rank[cell] = max(self._next_rank[cell], rank + 1)
        return len(self._before) + len(self.new_cells) - 1

    def history(self) -> History:
        """Return the history with these draws as one more round."""
        asked: IntArray = np.array(self.questions, dtype=np.int64)
        new = np.zeros(len(asked), dtype=np.bool_)
        distinct, first = np.unique(asked, return_index=True)
        new[first[distinct >= len(self._before)]] = True
        proposal, picks = self._proposal, np.array(self._picks, dtype=np.int64)
        probability = np.concatenate([proposal.cell_probability, proposal.atom_probability])
        drawn = Round(asked, probability[picks], new, proposal.posterior, proposal.cell_probability)
        cell = np.array(self.new_cells, dtype=np.int64)
        rank = np.array(self._new_ranks, dtype=np.int64)
        outputs = self._table.kinds.of_cells(cell)
        return self._before.with_round(drawn, cell, rank, outputs)


def _questions_by_cell(history: History, cells: int, atoms: IntArray) -> Callable[[int], list[int]]:
    """Return a function from a cell to its questions but atoms, to which callers append."""
    is_atom = np.zeros(len(history), dtype=bool)
    is_atom[atoms] = True
    questions = np.flatnonzero(~is_atom)
    by_cell = questions[np.argsort(history.cell[questions], kind="stable")]
    first = np.searchsorted(history.cell[by_cell], np.arange(cells + 1))
    return functools.cache(lambda cell: by_cell[first[cell] : first[cell + 1]].tolist())
