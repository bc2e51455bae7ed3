"""Draws of a number: intervals and bands that hold a share of the draws."""

import dataclasses
import functools

import numpy as np

from evalsampling.stats.arrays import BoolArray, FloatArray

_ROUNDING = 1e-9
"""Numbers that differ by less than this share of their range differ by rounding only."""


@dataclasses.dataclass(frozen=True)
class DrawnRange:
    """Draws of a number, each known to lie between two ends that differ if cells do not fix it."""

    low: FloatArray  # least value of each draw, shape (draws,), NaN where the number is undefined
    high: FloatArray  # greatest value of each draw, shape (draws,), NaN in the same places
    weight: FloatArray | None = None  # weight of each draw, shape (draws,); equal if not given

    @functools.cached_property
    def defined(self) -> BoolArray:
        """Whether the number is defined in each draw, shape (draws,)."""
        return np.isfinite(self.low)

    @functools.cached_property
    def middle(self) -> FloatArray:
        """The midpoint of the ends of each defined draw."""
        return np.asarray((self.low + self.high)[self.defined] / 2)

    @property
    def median(self) -> float:
        """Weighted median of the midpoints."""
        order = np.argsort(self.middle)
        weight = np.ones(len(order)) if self.weight is None else self.weight[self.defined][order]
        reached = np.cumsum(weight)
        half = np.searchsorted(reached, reached[-1] / 2 * np.array([1 - 1e-9, 1 + 1e-9]))
        return float(self.middle[order][half].mean())

    @functools.cached_property
    def gap(self) -> float:
        """Median distance between the ends of a draw."""
        if self.defined.all() and np.array_equal(self.low, self.high):  # far faster
            return 0.0
        return float(np.median(self._widths))

    @property
    def _widths(self) -> FloatArray:
        """The distance between the ends of each defined draw."""
        return self.high[self.defined] - self.low[self.defined]

    @functools.cached_property
    def is_informative(self) -> bool:
        """Whether the gap, which cells leave open, is small beside the spread of the draws."""
        return self.gap <= 4 * float(np.std(self.middle))

    @property
    def variance(self) -> float:
        """Variance of the number if it is uniform between the ends of each draw."""
        return float(np.var(self.middle) + np.mean(self._widths**2) / 12)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the ends of an interval that holds a share of draws, NaN if none has weight."""
        kept = self.defined
        weight = None if self.weight is None else self.weight[kept]
        if not kept.any() or (weight is not None and weight.sum() == 0):
            return np.nan, np.nan
        low, high = shortest_interval(self.low[kept], confidence, weight)
        if self.gap > 0:
            high = shortest_interval(self.high[kept], confidence, weight)[1]
        return low, high


def shortest_interval(
    values: FloatArray, confidence: float, weight: FloatArray | None = None
) -> tuple[float, float]:
    """Return the ends of the shortest interval that holds a share of draws.

    Of equally short ones it is that with most draws, then the one whose middle is nearest to the
    median; of two at equal distances, what both span. So neither rounding nor a sign chooses.
    """
    order = np.argsort(values)
    ordered = values[order]
    weight = np.ones(len(values)) if weight is None else weight[order]
    below = np.concatenate([[0.0], np.cumsum(weight)])
    below /= below[-1]
    starts = np.flatnonzero(below[:-1] + confidence <= 1 + 1e-12)
    ends = np.searchsorted(below[1:], below[starts] + confidence - 1e-12)
    ends = np.minimum(ends, len(values) - 1)
    width = ordered[ends] - ordered[starts]
    rounding = _ROUNDING * (ordered[-1] - ordered[0])
    short = np.flatnonzero(width <= width.min() + rounding)
    first = np.searchsorted(ordered, ordered[starts[short]] - rounding)
    last = np.searchsorted(ordered, ordered[ends[short]] + rounding, side="right")
    held = np.round(below[last] - below[first], 9)
    short = short[held == held.max()]
    low, high = ordered[starts[short]], ordered[ends[short]]
    half = np.searchsorted(below[1:], 0.5 + 1e-9 * np.array([-1, 1]))
    off = np.abs((low + high) / 2 - ordered[half].mean())
    nearest = off <= off.min() + rounding
    return float(low[nearest].min()), float(high[nearest].max())


def simultaneous(values: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of a band that holds a share of the curves entirely, shape (m,) each.

    Every point has the same share of draws below and above the band, the largest that leaves enough
    curves inside. If it is 0, each end lies beyond the outermost draw by its distance to the next.
    """
    defined = np.isfinite(values)
    count = np.maximum(defined.sum(axis=0), 1)
    rank = np.argsort(np.argsort(np.where(defined, values, np.inf), axis=0), axis=0)
    depth = np.minimum(rank, count - 1 - rank) / count
    low, high = np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
    outermost = np.where(defined, depth, np.inf).min(axis=1)[defined.any(axis=1)]
    if not len(outermost):
        return low, high
    cut = float(np.sort(outermost)[int((1 - confidence) * len(outermost))])
    for point in np.flatnonzero(defined.any(axis=0)):
        drawn = np.sort(values[defined[:, point], point])
        inward = min(int(np.ceil(cut * len(drawn) - 1e-9)), (len(drawn) - 1) // 2)
        low[point], high[point] = drawn[inward], drawn[len(drawn) - 1 - inward]
        if inward == 0 and len(drawn) > 1:
            low[point] -= drawn[1] - drawn[0]
            high[point] += drawn[-1] - drawn[-2]
    return low, high
