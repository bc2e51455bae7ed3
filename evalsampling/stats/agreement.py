"""Agreement of annotators, and shares of independent trials, with intervals.

References:
    K. Krippendorff, *Computing Krippendorff's Alpha-Reliability*, University of Pennsylvania 2011.
    B. Efron and C. Stein, *The jackknife estimate of variance*, Annals of Statistics 9, 1981.
"""

import dataclasses

import numpy as np
import scipy

from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.proportions import clopper_pearson


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha, with an interval.

    Attributes:
        alpha: 1 if all agree, 0 if no more than by chance; None if all votes are equal.
        low: lower end, None without alpha.
        high: upper end, None without alpha.
        rows: number of rows that have two votes or more.
        votes: number of votes on these rows.
    """

    alpha: float | None
    low: float | None
    high: float | None
    rows: int
    votes: int


def krippendorff_alpha(counts: IntArray, confidence: float = 0.95) -> Agreement:
    """Return Krippendorff's alpha for nominal data, any number of votes a row.

    alpha = 1 - D_o / D_e: D_o is the share of pairs of votes on a row that differ, rows weighted by
    their number of votes, and D_e that of all pairs of votes. The interval is alpha +- t times the
    jackknife's standard error over the rows, cut at 1. Where no two votes on a row differ that
    error is 0; the lower end is then alpha if the share of rows with a difference were at its upper
    limit by Clopper and Pearson.

    Args:
        counts: shape (rows, classes): votes for each class. Rows with less than two are left out.
        confidence: of the interval, in (0, 1).
    """
    counts = counts[counts.sum(axis=1) >= 2].astype(np.float64)
    size, totals = counts.sum(axis=1), counts.sum(axis=0)
    differing = size - (counts * (counts - 1)).sum(axis=1) / np.maximum(size - 1, 1)
    expected = _differing_pairs(totals)
    pairs = float(size.sum() * (size.sum() - 1))
    without, chance = _differing_pairs(totals - counts), float(expected) / max(pairs, 1)
    return _with_interval(size, differing, expected, without, chance, confidence)


def krippendorff_alpha_of_numbers(
    value: FloatArray, row: IntArray, confidence: float = 0.95
) -> Agreement:
    """Return Krippendorff's alpha for interval data: a pair counts by its squared difference.

    The interval is that of `krippendorff_alpha`; where no two votes on a row differ, the difference
    of a row that has one is taken to be the mean one of two votes on any rows.

    Args:
        value: shape (votes,).
        row: shape (votes,): the row of each vote. Rows with less than two are left out.
        confidence: of the interval, in (0, 1).
    """
    _, row, size = np.unique(row, return_inverse=True, return_counts=True)
    kept = size[row] >= 2
    _, row, size = np.unique(row[kept], return_inverse=True, return_counts=True)
    value = value[kept] - (value[kept].mean() if kept.any() else 0.0)
    total, squares = np.bincount(row, value), np.bincount(row, value**2)
    differing = 2 * np.maximum(size * squares - total**2, 0.0) / np.maximum(size - 1, 1)
    differing[differing <= _ROUNDING * squares] = 0.0
    votes = size.sum()
    expected = 2 * (votes * squares.sum() - total.sum() ** 2)
    without = 2 * ((votes - size) * (squares.sum() - squares) - (total.sum() - total) ** 2)
    return _with_interval(size.astype(np.float64), differing, expected, without, 1.0, confidence)


_ROUNDING = 1e-12
"""Share of the squares of a row's votes below which their differences are rounding errors."""


def _differing_pairs(totals: FloatArray) -> FloatArray:
    """Return the number of ordered pairs of votes that differ, (...), from (..., classes) votes."""
    votes = totals.sum(axis=-1)
    return np.asarray(votes * (votes - 1) - (totals * (totals - 1)).sum(axis=-1))


def _with_interval(
    size: FloatArray,
    differing: FloatArray,
    expected: FloatArray,
    without: FloatArray,
    chance: float,
    confidence: float,
) -> Agreement:
    """Return alpha = 1 - D_o / D_e with the interval of the jackknife over the rows.

    Args:
        size: shape (rows,): votes of each row, at least 2.
        differing: shape (rows,): total difference of its ordered pairs, over its votes minus 1.
        expected: total difference of the ordered pairs of all votes.
        without: shape (rows,): the same without the votes of a row.
        chance: mean difference of any two votes, over that of a row that has one.
        confidence: in (0, 1).
    """
    rows, votes = len(size), int(size.sum())
    alpha = float(_alpha(np.array(differing.sum()), expected, np.array(float(votes))))
    if not np.isfinite(alpha):
        return Agreement(None, None, None, rows, votes)
    tail = (1 - confidence) / 2
    if differing.sum() == 0:
        share = 1 - tail ** (1 / rows)
        return Agreement(alpha, max(1 - share / chance, -1.0), 1.0, rows, votes)
    if rows < 3:
        return Agreement(alpha, -1.0, 1.0, rows, votes)
    left_out = _alpha(differing.sum() - differing, without, votes - size)
    left_out = np.where(np.isfinite(left_out), left_out, 1.0)
    error = np.sqrt((rows - 1) / rows * ((left_out - left_out.mean()) ** 2).sum())
    reach = float(scipy.special.stdtrit(rows - 1, 1 - tail)) * float(error)
    return Agreement(alpha, max(alpha - reach, -1.0), min(alpha + reach, 1.0), rows, votes)


def _alpha(differing: FloatArray, expected: FloatArray, votes: FloatArray) -> FloatArray:
    """Return alpha from the differences of rows, those of all pairs of votes and their number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, 1 - differing * (votes - 1) / expected, np.nan)


@dataclasses.dataclass(frozen=True)
class Share:
    """A share of independent trials, with the interval of Clopper and Pearson.

    Attributes:
        hits: number of hits.
        trials: number of trials.
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
            hits: number of hits.
            trials: number of trials, at least that of hits.
            confidence: of the interval, in (0, 1).
        """
        low, high = clopper_pearson(hits, trials, confidence)
        return cls(hits, trials, hits / trials if trials else None, low, high)
