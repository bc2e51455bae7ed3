"""Drawing rows with replacement through cells: exact row probabilities, no pool needed."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History, Round

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_DRAWS_AT_A_TIME = 256
DRAWS_PER_NEW_ROW = 50
"""A round that waits for new rows gives up after this many draws for each row wanted."""


@dataclasses.dataclass(frozen=True)
class Proposal:
    """The chance of every row of the pool to be taken by one draw.

    Attributes:
        cell_probability: shape (cells,): q of each row of the cell that is not an atom.
        atom: questions of the history about the *atoms*, labelled rows with a q of their own.
        atom_probability: shape (atoms,): q of each atom.
        posterior: model behind the proposal, shape (leaves, classes), if there is one.
    """

    cell_probability: FloatArray
    atom: IntArray
    atom_probability: FloatArray
    posterior: FloatArray | None = None

    def mixed(self, delta: float, rows: int) -> "Proposal":
        """Return (1 - delta) q + delta p, p being the pool's own distribution of ``rows`` rows."""
        return dataclasses.replace(
            self,
            cell_probability=(1 - delta) * self.cell_probability + delta / rows,
            atom_probability=(1 - delta) * self.atom_probability + delta / rows,
        )


@dataclasses.dataclass(frozen=True)
class StopRule:
    """When a round ends.

    Attributes:
        new_rows: with the draw that asks this many new questions.
        draws: with this many draws.
    """

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
    """Draw rows with replacement, each draw from the same proposal.

    A draw that falls on the part of a cell that is not atoms takes each of its rows with equal
    chance: one that was drawn before, or else a row nobody has seen, and since all of these are
    alike it is the next one of the cell's permanent order.

    Args:
        proposal: with sum(cell_probability * (count - atoms of the cell)) + sum(atom_probability)
            equal to 1 up to rounding.
        table: the cells.
        history: rounds so far; it must know a label for each atom.
        stop: when to end.
        rng: source of randomness; only ``random`` is called.
        ask_again: whether every draw asks a question, as a stochastic oracle needs; such a
            proposal has no atoms.

    Returns:
        The history with one round more; its new questions have no label yet.
    """
    cells, known = len(table), len(history)
    free = table.count - np.bincount(history.cell[proposal.atom], minlength=cells)
    mass = np.concatenate([free * proposal.cell_probability, proposal.atom_probability])
    cumulated = np.cumsum(mass)
    seen = _seen_rows(history, cells, proposal.atom, ask_again)
    next_rank = history.drawn_by_cell(cells)
    questions: list[int] = []
    chosen: list[int] = []
    new_cells: list[int] = []
    new_ranks: list[int] = []
    while len(questions) < stop.draws and len(new_cells) < stop.new_rows:
        uniforms = rng.random((_DRAWS_AT_A_TIME, 2))
        picks = np.searchsorted(cumulated, uniforms[:, 0] * cumulated[-1], side="right")
        place = uniforms[:, 1] * free[np.minimum(picks, cells - 1)]
        for pick, position in zip(picks.tolist(), place.astype(np.int64).tolist(), strict=True):
            if pick >= cells:
                question = int(proposal.atom[pick - cells])
            else:
                rows = seen(pick)
                fresh = position >= len(rows)
                if fresh:
                    position = len(rows)
                    rows.append(int(next_rank[pick]) if ask_again else known + len(new_cells))
                    next_rank[pick] += 1
                question = rows[position]
                if fresh or ask_again:
                    new_cells.append(pick)
                    new_ranks.append(question if ask_again else int(next_rank[pick]) - 1)
                    question = known + len(new_cells) - 1
            questions.append(question)
            chosen.append(pick)
            if len(questions) == stop.draws or len(new_cells) == stop.new_rows:
                break

    asked: IntArray = np.array(questions, dtype=np.int64)
    probability = np.concatenate([proposal.cell_probability, proposal.atom_probability])
    new = np.zeros(len(asked), dtype=np.bool_)
    distinct, first = np.unique(asked, return_index=True)
    new[first[distinct >= known]] = True
    drawn = Round(asked, probability[np.array(chosen, dtype=np.int64)], new, proposal.posterior)
    cell = np.array(new_cells, dtype=np.int64)
    outputs = table.outputs.take(table.first_kind[cell])
    return history.with_round(drawn, cell, np.array(new_ranks, dtype=np.int64), outputs)


def _seen_rows(
    history: History, cells: int, atoms: IntArray, ask_again: bool
) -> Callable[[int], list[int]]:
    """Return what finds the rows met of a cell, apart from atoms: by question, or by rank.

    The same list each time, for the caller to add to.
    """
    if ask_again:
        drawn = history.drawn_by_cell(cells)
        return functools.cache(lambda cell: list(range(drawn[cell])))
    is_atom = np.zeros(len(history), dtype=bool)
    is_atom[atoms] = True
    questions = np.flatnonzero(~is_atom)
    by_cell = questions[np.argsort(history.cell[questions], kind="stable")]
    first = np.searchsorted(history.cell[by_cell], np.arange(cells + 1))
    return functools.cache(lambda cell: by_cell[first[cell] : first[cell + 1]].tolist())
