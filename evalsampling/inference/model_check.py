"""Whether labels contradict the model of them: band by band of the scores, and among predictions.

A posterior predictive check (A. Gelman, X.-L. Meng and H. Stern, *Posterior predictive assessment
of model fitness via realized discrepancies*, Statistica Sinica 6, 1996).
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from evalsampling.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable

MOST_R_HAT = 1.3
"""Nested R-hat above which chains from different starts are taken to disagree.

Of 424 fits on 53 real pools it was 1.01 in the median and 1.11 at most (docs/calibrated.md)."""

LEAST_CHANCE = 0.01
"""Chance, under the model, of labels that fit as badly as those met or worse, below which the model
is not used."""

_BANDS = 8
"""Bands of the scores that labelled rows are split into, as many in each."""


def misfit(
    table: CellTable, seen: IntArray, rates: FloatArray, rng: np.random.Generator
) -> str | None:
    """Return in words where labels contradict draws of their rates; None if nowhere.

    The labelled rows are split by their prior probability into bands with as many rows in each, and
    by the prediction of each system. The discrepancy is the greatest of |k - E| / sqrt(V + 1/4), k
    the rows of a class met in a part, E and V the mean and the variance of their number by a draw;
    it is compared with that of labels made from the draw.

    Args:
        table: the cells.
        seen: shape (cells, classes): labels.
        rates: shape (draws, cells, classes).
        rng: source of the made labels.
    """
    labelled = seen.sum(axis=1)
    cells = np.flatnonzero(labelled)
    if not len(cells):
        return None
    for y in range(1, table.classes):
        parts = list(_parts(table, y, cells, labelled[cells]))
        rows = np.stack([part.holds for part in parts]).astype(np.float64)
        rate = np.clip(rates[:, :, y].take(cells, axis=1), 0.0, 1.0)
        expected = (rate * labelled[cells]) @ rows.T
        spread = np.sqrt((rate * (1 - rate) * labelled[cells]) @ rows.T + 0.25)
        met = rows @ seen[cells, y]
        made = rng.binomial(labelled[cells], rate) @ rows.T
        found = np.abs(met - expected) / spread
        chance = np.mean((np.abs(made - expected) / spread).max(axis=1) >= found.max(axis=1))
        if chance < LEAST_CHANCE:
            worst = int(np.argmax(found.mean(axis=0)))
            part = parts[worst]
            number = int(rows[worst] @ labelled[cells])
            return (
                f"of {number} labelled rows {part.title} {int(met[worst])} are of class {y}, where "
                f"the curve makes {expected[:, worst].mean():.1f} likely"
            )
    return None


@dataclasses.dataclass(frozen=True)
class _Part:
    """Some of the labelled cells.

    Attributes:
        title: "with prior probability 0.2 to 0.3".
        holds: shape (labelled cells,).
    """

    title: str
    holds: npt.NDArray[np.bool_]


def _parts(table: CellTable, y: int, cells: IntArray, labelled: IntArray) -> Iterator[_Part]:
    """Yield the parts that labels of a class are compared in."""
    prior = table.prior[cells, y]
    distinct, place = np.unique(prior, return_inverse=True)
    below = np.cumsum(np.bincount(place, labelled)) - np.bincount(place, labelled) / 2
    band = (below * _BANDS / labelled.sum()).astype(np.int64)
    for one in np.unique(band):
        least, greatest = distinct[band == one][[0, -1]]
        yield _Part(f"with prior probability {least:.3g} to {greatest:.3g}", band[place] == one)
    for system, of_system in enumerate(table.outputs.prediction.T):
        mostly = table.mean_by_cell((of_system == y).astype(np.float64))[cells] > 0.5
        name = f" by system {system}" if table.outputs.prediction.shape[1] > 1 else ""
        if mostly.any() and not mostly.all():
            yield _Part(f"predicted to be of it{name}", mostly)
            yield _Part(f"not predicted to be of it{name}", ~mostly)
