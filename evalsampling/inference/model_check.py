"""A check of whether labels contradict their model, by bands of scores and by predictions.

It is a posterior predictive check (A. Gelman, X.-L. Meng and H. Stern, *Posterior predictive
assessment of model fitness via realized discrepancies*, Statistica Sinica 6, 1996).
"""

from collections.abc import Iterator

import numpy as np

from evalsampling.inference.class_curves import likeliness
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable

MOST_R_HAT = 1.3
"""Nested R-hat above which chains from different starts are taken to disagree.

In 424 fits on 53 real pools its median was 1.01 and its maximum 1.11 (docs/calibrated.md)."""

LEAST_CHANCE = 0.01
"""Least posterior predictive p-value with which the model is used."""

_BANDS = 8
"""Number of bands of scores, with about as many labelled rows in each."""


def misfit(
    table: CellTable, seen: IntArray, rates: FloatArray, rng: np.random.Generator
) -> str | None:
    """Return in words which labels contradict the model's draws of the rates; None if none do.

    The labelled rows are split by rank into bands with as many rows in each, and by the prediction
    of each system. The discrepancy is the greatest of |k - E| / sqrt(V + 1/4), k
    the labelled rows of a class in a part, E and V the mean and the variance of their number given
    a draw. It is compared with the discrepancy of labels simulated from the draw.

    Args:
        table: the cells.
        seen: shape (cells, classes): number of labels of each class.
        rates: shape (draws, cells, classes): draws of the rate of each class.
        rng: source of the simulated labels.
    """
    labelled = seen.sum(axis=1)
    cells = np.flatnonzero(labelled)
    if not len(cells):
        return None
    for y in range(1, table.classes):
        titles, holds = zip(*_parts(table, y, cells, labelled[cells]), strict=True)
        rows = np.stack(holds).astype(np.float64)
        rate = np.clip(rates[:, :, y].take(cells, axis=1), 0.0, 1.0)
        expected = (rate * labelled[cells]) @ rows.T
        spread = np.sqrt((rate * (1 - rate) * labelled[cells]) @ rows.T + 0.25)
        met = rows @ seen[cells, y]
        simulated = np.abs(rng.binomial(labelled[cells], rate) @ rows.T - expected) / spread
        observed = np.abs(met - expected) / spread
        chance = np.mean(simulated.max(axis=1) >= observed.max(axis=1))
        if chance < LEAST_CHANCE:
            worst = int(np.argmax(observed.mean(axis=0)))
            number = int(rows[worst] @ labelled[cells])
            return (
                f"of {number} labelled rows {titles[worst]} {int(met[worst])} are of class {y}, "
                f"where the curve makes {expected[:, worst].mean():.1f} likely"
            )
    return None


def _parts(
    table: CellTable, y: int, cells: IntArray, labelled: IntArray
) -> Iterator[tuple[str, BoolArray]]:
    """Yield words for the subsets of cells in which labels of a class are compared, and these.

    The words are such as "ranked 201 to 5,000 by score"; which cells are in it is an array of shape
    (labelled cells,).
    """
    distinct, place_of = np.unique(likeliness(table, y), return_inverse=True)
    rows = np.bincount(place_of, table.count)
    above = (rows.sum() - np.cumsum(rows)).astype(np.int64)
    place, drawn = place_of[cells], np.bincount(place_of[cells], labelled, len(distinct))
    below = np.cumsum(drawn) - drawn / 2
    band = (below * _BANDS / labelled.sum()).astype(np.int64)
    for b in np.unique(band[place]):
        lowest, highest = np.flatnonzero(band == b)[[0, -1]]
        last = above[lowest] + int(rows[lowest])
        yield f"ranked {above[highest] + 1:,} to {last:,} by score", band[place] == b
    for system, of_system in enumerate(table.outputs.prediction.T):
        mostly = table.mean_by_cell((of_system == y).astype(np.float64))[cells] > 0.5
        name = f" by system {system}" if table.outputs.prediction.shape[1] > 1 else ""
        if mostly.any() and not mostly.all():
            yield f"predicted to be of it{name}", mostly
            yield f"not predicted to be of it{name}", ~mostly
