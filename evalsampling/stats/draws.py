"""Drawing rows with replacement through cells: exact row probabilities, no pool needed."""

import dataclasses

import numpy as np
import numpy.typing as npt

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
        atom: indices into the history's rows of the *atoms*, labelled rows with a q of their own.
        atom_probability: shape (atoms,): q of each atom.
        posterior: model behind the proposal, shape (leaves, classes), if there is one.
    """

    cell_probability: FloatArray
    atom: IntArray
    atom_probability: FloatArray
    posterior: FloatArray | None = None


@dataclasses.dataclass(frozen=True)
class StopRule:
    """When a round ends.

    Attributes:
        new_rows: with the draw that meets this many new rows.
        draws: with this many draws.
    """

    new_rows: int
    draws: int


def draw_rows(
    proposal: Proposal,
    count: IntArray,
    history: History,
    stop: StopRule,
    rng: np.random.Generator,
) -> History:
    """Draw rows with replacement, each draw from the same proposal.

    A draw that falls on the part of a cell that is not atoms takes each of its rows with equal
    chance: one that was drawn before, or else a row nobody has seen, and since all of these are
    alike it is the next one of the cell's permanent order.

    Args:
        proposal: with sum(cell_probability * (count - atoms of the cell)) + sum(atom_probability)
            equal to 1 up to rounding.
        count: shape (cells,): rows of each cell.
        history: rounds so far; it must know a label for each atom.
        stop: when to end.
        rng: source of randomness; only ``random`` is called.

    Returns:
        The history with one round more; its new rows have no label yet.
    """
    cells = len(count)
    atom_cell = history.cell[proposal.atom]
    free = count - np.bincount(atom_cell, minlength=cells)
    mass = np.concatenate([free * proposal.cell_probability, proposal.atom_probability])
    cumulated = np.cumsum(mass)

    is_atom = np.zeros(len(history.cell), dtype=bool)
    is_atom[proposal.atom] = True
    seen: dict[int, list[int]] = {}
    for known_row in np.flatnonzero(~is_atom).tolist():
        seen.setdefault(int(history.cell[known_row]), []).append(known_row)

    next_rank = history.drawn_by_cell(cells)
    rows: list[int] = []
    chosen: list[int] = []
    new_cells: list[int] = []
    new_ranks: list[int] = []
    while len(rows) < stop.draws and len(new_cells) < stop.new_rows:
        uniforms = rng.random((_DRAWS_AT_A_TIME, 2))
        picks = np.searchsorted(cumulated, uniforms[:, 0] * cumulated[-1], side="right")
        place = uniforms[:, 1] * free[np.minimum(picks, cells - 1)]
        for pick, position in zip(picks.tolist(), place.astype(np.int64).tolist(), strict=True):
            if pick >= cells:
                rows.append(int(proposal.atom[pick - cells]))
            else:
                known = seen.setdefault(pick, [])
                if position >= len(known):
                    position = len(known)
                    known.append(len(history.cell) + len(new_cells))
                    new_cells.append(pick)
                    new_ranks.append(int(next_rank[pick]))
                    next_rank[pick] += 1
                rows.append(known[position])
            chosen.append(pick)
            if len(rows) == stop.draws or len(new_cells) == stop.new_rows:
                break

    row: IntArray = np.array(rows, dtype=np.int64)
    probability = np.concatenate([proposal.cell_probability, proposal.atom_probability])
    new = np.zeros(len(row), dtype=np.bool_)
    distinct, first = np.unique(row, return_index=True)
    new[first[distinct >= len(history.cell)]] = True
    drawn = Round(row, probability[np.array(chosen, dtype=np.int64)], new, proposal.posterior)
    return history.with_round(
        drawn, np.array(new_cells, dtype=np.int64), np.array(new_ranks, dtype=np.int64)
    )
