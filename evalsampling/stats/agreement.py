"""How far annotators agree, and how often each of them is right, with intervals.

References:
    K. Krippendorff, *Computing Krippendorff's Alpha-Reliability*, University of Pennsylvania 2011.
    B. Efron and C. Stein, *The jackknife estimate of variance*, Annals of Statistics 9, 1981.
"""

import dataclasses

import numpy as np
import numpy.typing as npt
from scipy import special

from evalsampling.stats.proportions import clopper_pearson

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha of classes, with an interval.

    Attributes:
        alpha: 1 if all agree, 0 if no more than by chance; None if there was one class only.
        low: lower end, None without alpha.
        high: upper end, likewise.
        rows: that have two votes or more.
        votes: of these rows.
    """

    alpha: float | None
    low: float | None
    high: float | None
    rows: int
    votes: int


def krippendorff_alpha(counts: IntArray, confidence: float = 0.95) -> Agreement:
    """Return Krippendorff's alpha for nominal data, any number of votes a row.

    alpha = 1 - D_o / D_e: D_o is the share of pairs of votes on a row that differ, each row
    weighing as much as it has votes, and D_e that of all pairs of votes. The interval is alpha +- t
    times the jackknife's standard error over the rows, cut at 1. Where no two votes differ that
    error is 0; then the lower end is what rows with a difference would make of it, were their share
    at its upper limit by Clopper and Pearson.

    Args:
        counts: shape (rows, classes): votes for each class. Rows with less than two are left out.
        confidence: of the interval, in (0, 1).
    """
    size = counts.sum(axis=1)
    kept = size >= 2
    counts, size = counts[kept].astype(np.float64), size[kept].astype(np.float64)
    rows, votes = len(size), int(size.sum())
    differing = size - (counts * (counts - 1)).sum(axis=1) / np.maximum(size - 1, 1)
    totals = counts.sum(axis=0)
    alpha = float(_alpha(np.array(differing.sum()), totals, np.array(float(votes))))
    if not np.isfinite(alpha):
        return Agreement(None, None, None, rows, votes)
    tail = (1 - confidence) / 2
    if differing.sum() == 0:
        expected = 1 - float((totals * (totals - 1)).sum()) / (votes * (votes - 1))
        share = 1 - tail ** (1 / rows)
        return Agreement(alpha, max(1 - share / expected, -1.0), 1.0, rows, votes)
    if rows < 3:
        return Agreement(alpha, -1.0, 1.0, rows, votes)
    without = _alpha(differing.sum() - differing, totals - counts, votes - size)
    without = np.where(np.isfinite(without), without, 1.0)
    error = np.sqrt((rows - 1) / rows * ((without - without.mean()) ** 2).sum())
    reach = float(special.stdtrit(rows - 1, 1 - tail)) * float(error)
    return Agreement(alpha, max(alpha - reach, -1.0), min(alpha + reach, 1.0), rows, votes)


def _alpha(differing: FloatArray, totals: FloatArray, votes: FloatArray) -> FloatArray:
    """Return alpha from the differing votes, the votes of each class and their number."""
    pairs = votes * (votes - 1)
    expected = pairs - (totals * (totals - 1)).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, 1 - differing * (votes - 1) / expected, np.nan)


@dataclasses.dataclass(frozen=True)
class Share:
    """A share of independent trials, with the interval of Clopper and Pearson.

    Attributes:
        hits: how many of them.
        trials: how many there were.
        share: hits / trials, None without trials.
        low: lower end, in [0, 1].
        high: upper end, in [0, 1].
    """

    hits: int
    trials: int
    share: float | None
    low: float
    high: float

    @classmethod
    def of_trials(cls, hits: int, trials: int, confidence: float = 0.95) -> "Share":
        """Return the share of hits among trials.

        Args:
            hits: how many.
            trials: how many, at least as many.
            confidence: of the interval, in (0, 1).
        """
        low, high = clopper_pearson(hits, trials, confidence)
        return cls(hits, trials, hits / trials if trials else None, low, high)
