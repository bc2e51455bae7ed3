"""What was made of the scores of a pool, in numbers and in a sentence, before any label."""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.stats.cells import CellTable
from evalsampling.stats.log_odds import logit

FloatArray = npt.NDArray[np.float64]

LEAST_OF_POOL = 0.1
"""Probabilities are told apart as far as this many rows of the pool: rates so near to 0 make no
difference there."""

_MOST = 1 - 1e-9
"""Probabilities are taken to be at most this: near 1 their order may tell a lot."""

_FEW = 20
"""Values of the probability up to which their number is worth a word."""

_MOSTLY = 0.5
"""Share of the rows with one value of the probability from which on it is worth a word."""


def prior_log_odds(probability: FloatArray, rows: int) -> FloatArray:
    """Return the log-odds of prior probabilities, told apart as far as matters in a pool.

    Args:
        probability: any shape, in [0, 1].
        rows: of the pool.
    """
    least = min(LEAST_OF_POOL / rows, 0.25)
    return logit(np.clip(probability, least, _MOST))


@dataclasses.dataclass(frozen=True)
class ScoreSummary:
    """The probabilities of the positive class that scores stand for, cell by cell.

    Attributes:
        rows: of the pool.
        cells: that they are summed up in.
        values: different probabilities among these; of rows there may be more.
        least: of them, in [0, 1].
        greatest: of them.
        expected: rows that are positive if the probabilities are right.
        predicted: rows that the first system predicts positive.
        tied: share of the rows that the most frequent value has.
        nearly_never: share of the rows with a probability below `LEAST_OF_POOL` over the rows,
            which are all taken alike.
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
        """Return that of a pool.

        Args:
            table: its cells.
            positive: code of the positive class.
        """
        prior = table.prior[:, positive]
        values, place = np.unique(prior, return_inverse=True)
        rows = np.bincount(place, table.count)
        says = (table.outputs.prediction[:, 0] == positive).astype(np.float64)
        return cls(
            rows=table.rows,
            cells=len(table),
            values=len(values),
            least=float(values[0]),
            greatest=float(values[-1]),
            expected=float(table.count @ prior),
            predicted=float(table.count @ table.mean_by_cell(says)),
            tied=float(rows.max() / table.rows),
            nearly_never=float(table.count[prior < LEAST_OF_POOL / table.rows].sum() / table.rows),
        )

    @property
    def words(self) -> str:
        """The same in a sentence."""
        steps = "1 step" if self.values == 1 else f"{self.values:,} steps"
        told = (
            f"{self.rows:,} rows, probability of a positive {self.least:.3g} to "
            f"{self.greatest:.3g} in {steps}; if it is right {self.expected:,.4g} rows are "
            f"positive, {self.predicted:,.0f} are predicted so"
        )
        if self.tied > _MOSTLY:
            told += f"; {100 * self.tied:.0f} % of the rows have the same one"
        elif self.values <= _FEW:
            told += "; rows with the same one are drawn alike"
        if self.nearly_never:
            told += (
                f"; {100 * self.nearly_never:.0f} % have one below {LEAST_OF_POOL / self.rows:.1g},"
                " which is too little to matter here, so they are taken alike"
            )
        return told
