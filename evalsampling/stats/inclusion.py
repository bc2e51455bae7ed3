"""Rows drawn without replacement with unequal probabilities: how probable, how many, which.

References:
    C.-E. Särndal, B. Swensson and J. Wretman, *Model Assisted Survey Sampling*, Springer 1992,
    section 3.6 (probabilities proportional to size, those above 1 being set to 1).
"""

import numpy as np
import numpy.typing as npt

from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History, Round
from evalsampling.stats.pivotal import round_sizes

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def water_fill(size: FloatArray, rows: IntArray, expected: float) -> FloatArray:
    """Return inclusion probabilities min(1, kappa size) that sum to an expected number of rows.

    Args:
        size: shape (cells,), at least 0: measure of size of each row of a cell.
        rows: shape (cells,): rows of each cell.
        expected: number of rows wanted, at least 0. If rows of positive size are fewer, all of
            them are taken.

    Returns:
        Shape (cells,), in [0, 1]; 0 where the size is 0.
    """
    order = np.argsort(-size, kind="stable")
    ordered, count = size[order], rows[order].astype(np.float64)
    positive = ordered > 0
    if count[positive].sum() <= expected:
        return (size > 0).astype(np.float64)
    # With the first i cells certain, kappa is what is left by the total size of the others.
    certain = np.concatenate([[0.0], np.cumsum(count)[:-1]])
    mass = np.cumsum((ordered * count)[::-1])[::-1]
    factor = np.divide(expected - certain, mass, out=np.zeros(len(mass)), where=mass > 0)
    # The right i is the first at which the largest size that is left stays below 1.
    place = int(np.argmax(factor * ordered <= 1))
    return np.minimum(size * factor[place], 1.0)


def draw_unseen(
    table: CellTable,
    history: History,
    chance: FloatArray,
    rng: np.random.Generator,
    posterior: FloatArray | None = None,
    group: IntArray | None = None,
    answers: int = 1,
) -> History:
    """Return the history with one round more of rows that nobody has drawn, none of them twice.

    A cell's number of rows is its expected one, rounded up or down by ordered pivotal sampling,
    leaf by leaf; they are the next ones of its permanent order. So each has its inclusion
    probability, and the indicators are negatively associated.

    Args:
        table: the cells.
        history: rounds so far.
        chance: shape (cells,), in [0, 1]: inclusion probability of the rows nobody has drawn.
        rng: source of randomness; only ``random`` is called.
        posterior: model behind the round, shape (leaves, classes), if there is one.
        group: shape (cells,): see `stats.pivotal.round_sizes`; the leaves if not given.
        answers: most questions about a row of a stochastic oracle. A cell is then taken for so many
            copies of it, one after the other, and what is said of rows holds of their copies.
    """
    asked = np.bincount(history.cell, minlength=len(table))
    rank = history.drawn_by_cell(len(table)) if answers == 1 else asked
    expected = (table.count * answers - rank) * chance
    sizes = round_sizes(expected, table.leaf if group is None else group, rng)
    cells = np.repeat(np.arange(len(table)), sizes)
    cells = cells[np.argsort(rng.random(len(cells)))]  # the order of a round's tasks tells nothing
    by_cell = np.argsort(cells, kind="stable")
    ordered = cells[by_cell]
    ranks = np.zeros(len(cells), dtype=np.int64)
    ranks[by_cell] = rank[ordered] + np.arange(len(cells)) - np.searchsorted(ordered, ordered)
    drawn = Round(
        question=len(history) + np.arange(len(cells)),
        probability=chance[cells],
        new=np.ones(len(cells), dtype=np.bool_),
        posterior=posterior,
        cell_probability=chance,
    )
    ranks %= table.count[cells]
    return history.with_round(drawn, cells, ranks, table.outputs.take(table.first_kind[cells]))
