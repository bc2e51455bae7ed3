"""Bounds of a precision function at any rank, given some of its points.

p(r) is the share of positives among the r items ranked first. It is (r~, m)-weakly monotone if
p(r1) >= p(r2) for all r1 >= r~ and r2 >= r1 + m.

References:
    [SX] A. Sabharwal and Y. Xue, *Adaptive Stratified Sampling for Precision-Recall Estimation*,
    UAI 2018: definition 2, theorem 2, equations 3 and 4.
"""

import dataclasses

import numpy as np

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-9
"""Rounding error allowed in a number of positives."""


@dataclasses.dataclass(frozen=True)
class Envelope:
    """All weakly monotone precision functions through k points, whatever the list's length.

    At a point that is known exactly the bounds are those of the paper. At an estimate p~ that is
    off by a factor of at most f they are such that f times the upper bound, and the lower bound
    divided by f, hold: the m p~ positives that m items may have are not rounded down; and just
    below an estimate the lower bound is p~ (y - m) / v throughout. After a point that less than m
    items follow, only the bound of one positive for each item is used.

    Methods take the ranks ``at`` which they look, shape (n,).
    """

    rank: IntArray  # (k,), from 1, ascending: y
    precision: FloatArray  # (k,): p(y), or an estimate of it
    exact: BoolArray  # (k,), bool: which points are known exactly
    m: int  # the m of weak monotonicity, at least 1
    rows: int  # N, length of the list

    def upper(self, at: IntArray) -> FloatArray:
        """Return the greatest possible precision, shape (n,)."""
        v = at[:, None].astype(np.float64)
        hits = self._hits
        gain = np.where(self.rank + self.m <= self.rows, self._gain, self.m)
        after = np.where(
            v > self.rank + self.m, self.precision * v, hits + np.minimum(v - self.rank, gain)
        )
        most = np.where(v <= self.rank, hits, after)
        return np.minimum(1.0, np.min(most / v, axis=1))

    def lower(self, at: IntArray) -> FloatArray:
        """Return the least possible precision, shape (n,)."""
        v = at[:, None].astype(np.float64)
        hits, gain = self._hits, self._gain
        near = np.where(self.exact, hits - np.minimum(self.rank - v, gain), hits - gain)
        before = np.where(v < self.rank - self.m, self.precision * v, near)
        least = np.where(v >= self.rank, hits, before)
        return np.maximum(0.0, np.max(least / v, axis=1))

    def bounds(self, at: IntArray, factor: float) -> tuple[FloatArray, FloatArray]:
        """Return the least and greatest precision by points off by a factor; swapped if crossed."""
        upper, lower = self.upper(at), self.lower(at)
        greatest = np.minimum(1.0, factor * np.maximum(upper, lower))
        return np.minimum(upper, lower) / factor, greatest

    def middle(self, at: IntArray) -> FloatArray:
        """Return the geometric mean of both bounds, shape (n,): within sqrt(height) of either.

        Where bounds from estimates cross, the interpolation between points, cut to lie between
        them.
        """
        upper, lower = self.upper(at), self.lower(at)
        crossed = np.clip(self._interpolated(at), upper, np.maximum(upper, lower))
        return np.where(upper < lower, crossed, np.sqrt(upper * lower))

    def points_alone(
        self, at: IntArray, factor: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the precision interpolated between points, and its bounds, each of shape (n,).

        They hold without weak monotonicity: up to a rank there are at least the positives up to the
        point before it, and at most these and all rows since. No rank is beyond the last point.
        """
        off = np.where(self.exact, 1.0, factor)
        rank = np.append(0, self.rank)
        least, most = np.append(0, self._hits / off), np.append(0, self._hits * off)
        after = np.searchsorted(rank, at)
        before = after - 1
        low = np.maximum(least[before], least[after] - (rank[after] - at))
        high = np.minimum(most[after], most[before] + at - rank[before])
        return self._interpolated(at), low / at, np.minimum(high / at, 1.0)

    def rise(self) -> tuple[int, float, float]:
        """Return after which rank precision rises most, the precision there and the later one."""
        far = self.rank >= self.rank[:, None] + self.m
        later = np.max(np.where(far, self.precision, 0.0), axis=1)
        # Rises are compared as ratios; one from 0 is infinite.
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(later > 0, later / self.precision, 0.0)
        most = int(np.argmax(ratio))
        return int(self.rank[most]), float(self.precision[most]), float(later[most])

    def height(self, at: IntArray) -> FloatArray:
        """Return the upper bound divided by the lower one, at least 1; infinite where that is 0."""
        upper, lower = self.upper(at), self.lower(at)
        ratio = np.full(len(at), np.inf)
        np.divide(upper, lower, out=ratio, where=lower > 0)
        return np.maximum(ratio, 1.0)

    def _interpolated(self, at: IntArray) -> FloatArray:
        """Return the precision with positives spread evenly from point to point, shape (n,)."""
        return np.interp(at, np.append(0, self.rank), np.append(0, self._hits)) / at

    @property
    def _hits(self) -> FloatArray:
        """Positives up to each point, shape (k,)."""
        return self.precision * self.rank

    @property
    def _gain(self) -> FloatArray:
        """Most positives among m items after, or before, each point, shape (k,)."""
        gain = self.m * self.precision
        return np.where(self.exact, np.floor(gain + _ROUNDING), gain)
