"""A summary of the probabilities that a pool's scores stand for, in numbers and in a sentence."""

import dataclasses

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.counted import counted
from evalsampling.stats.log_odds import expit, logit

LEAST_OF_POOL = 0.1
"""Probabilities below this number divided by the rows of the pool are taken to be equal: smaller
ones hardly add a positive to the pool."""

_MOST = 1 - 1e-9
"""Greatest probability; it is close to 1, since the order of probabilities near 1 may matter."""

_TRIM = 1e-3
"""Share of the rows at the bottom, of the expected positives at the top, beyond a curve's ends."""

_MOST_TRIMMED = 5
"""Most rows beyond the upper end of a curve: probabilities may be far too high."""

_FEW = 20
"""Most distinct probabilities at which the sentence mentions ties."""

_MOSTLY = 0.5
"""Share of the rows with the same probability above which the sentence mentions it."""


def prior_log_odds(probability: FloatArray, rows: int) -> FloatArray:
    """Return the log-odds of prior probabilities, which are cut to a range that matters in a pool.

    Args:
        probability: any shape, in [0, 1].
        rows: rows of the pool.
    """
    least = min(LEAST_OF_POOL / rows, 0.25)
    return logit(np.clip(probability, least, _MOST))


def ends_of_curve(x: FloatArray, count: IntArray) -> tuple[float, float]:
    """Return the greatest and the least log-odds of a curve, which a few extreme rows do not move.

    Args:
        x: shape (cells,): `prior_log_odds`.
        count: shape (cells,): rows.
    """
    order = np.argsort(x)
    rows = np.cumsum(count[order])
    low = x[order][np.searchsorted(rows, _TRIM * rows[-1])]
    downward = order[::-1]
    positives = np.cumsum(count[downward] * expit(x[downward]))
    reached = np.searchsorted(positives, _TRIM * positives[-1])
    reached = min(reached, np.searchsorted(np.cumsum(count[downward]), _MOST_TRIMMED, "right"))
    high = x[downward][reached]
    return (float(high), float(low)) if high > low else (float(x.max()), float(x.min()))


@dataclasses.dataclass(frozen=True)
class ScoreSummary:
    """The prior probabilities of the positive class in the cells of a pool, summed up.

    Attributes:
        rows: number of rows of the pool.
        cells: number of cells.
        values: distinct probabilities of cells; rows may have more.
        least: least probability, in [0, 1].
        greatest: greatest probability.
        expected: expected number of positive rows if the probabilities are right.
        predicted: rows that the first system predicts positive.
        tied: share of the rows that have the most frequent probability.
        nearly_never: share of the rows with a probability below `LEAST_OF_POOL` / `rows`, which
            are all taken to be equal.
    """

    rows: int
    cells: int
    values: int
    least: float
    greatest: float
    expected: float
    predicted: float
    tied: float
    nearly_never: float

    @classmethod
    def of_class(cls, table: CellTable, positive: int) -> "ScoreSummary":
        """Return the summary of a pool.

        Args:
            table: the cells of the pool.
            positive: code of the positive class.
        """
        prior = table.prior[:, positive]
        values, place = np.unique(prior, return_inverse=True)
        rows = np.bincount(place, table.count)
        predicted = (table.outputs.prediction[:, 0] == positive).astype(np.float64)
        return cls(
            rows=table.rows,
            cells=len(table),
            values=len(values),
            least=float(values[0]),
            greatest=float(values[-1]),
            expected=float(table.count @ prior),
            predicted=float(table.count @ table.mean_by_cell(predicted)),
            tied=float(rows.max() / table.rows),
            nearly_never=float(table.count[prior < LEAST_OF_POOL / table.rows].sum() / table.rows),
        )

    @property
    def words(self) -> str:
        """The summary in sentences."""
        text = (
            f"{counted(self.rows, 'row')}, probability of a positive {self.least:.3g} to "
            f"{self.greatest:.3g} in {counted(self.values, 'step')}. If it is right, "
            f"{self.expected:,.4g} rows are positive; {self.predicted:,.0f} are predicted so"
        )
        if self.values == self.rows:
            pass  # No row has the probability of another.
        elif self.tied > _MOSTLY:
            text += f". {_percent(self.tied)} of the rows have the same probability"
        elif self.values <= _FEW:
            text += ". Rows with the same probability are drawn alike"
        if self.nearly_never * self.rows > 1.5:  # One alone is like no other.
            text += (
                f". {_percent(self.nearly_never)} have one below "
                f"{LEAST_OF_POOL / self.rows:.1g}: too little to matter here, so they are treated "
                "alike"
            )
        return text


def _percent(share: float) -> str:
    """Return a share in whole percent: none is said to be 0 %, and less than all not 100 %."""
    percent = 100 * share
    if percent < 0.5:
        return "Less than 1 %"
    return f"{percent:.0f} %" if percent < 99.5 or share == 1 else "More than 99 %"
