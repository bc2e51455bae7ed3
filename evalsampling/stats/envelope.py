"""What a precision function can be, given some points of it: bounds at any rank.

p(r) is the share of positives among the r items ranked first. It is (r~, m)-weakly monotone if
p(r1) >= p(r2) for all r1 >= r~ and r2 >= r1 + m.

References:
    [SX] A. Sabharwal and Y. Xue, *Adaptive Stratified Sampling for Precision-Recall Estimation*,
    UAI 2018: definition 2, theorem 2, equations 3 and 4.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_ROUNDING = 1e-9
"""Rounding error allowed in a number of positives."""


@dataclasses.dataclass(frozen=True)
class Envelope:
    """All weakly monotone precision functions through k points: O(k), whatever the list's length.

    Of a point known exactly the bounds are those of the paper. Of an estimate p~ that is off by a
    factor of at most f they are made so that f times the upper bound, and the lower one divided by
    f, hold: the m p~ positives that m items may have are not rounded down; and just below an
    estimate the lower bound is p~ (y - m) / v throughout, since the paper's p~ y - (y - v)
    positives, divided by f, can be more than there are.

    The paper's bound of what follows a point tacitly takes m items to follow it: of a point nearer
    to the end of the list nothing is known but that an item is one positive at most.

    Attributes:
        rank: shape (k,), from 1, ascending: y.
        precision: shape (k,): p(y), or an estimate of it.
        exact: shape (k,), bool: which are known exactly.
        m: of the weak monotonicity, at least 1.
        rows: N, length of the list.
    """

    rank: IntArray
    precision: FloatArray
    exact: npt.NDArray[np.bool_]
    m: int
    rows: int

    def upper(self, at: IntArray, factor: float = 1.0) -> FloatArray:
        """Return the greatest precision there can be, shape (n,).

        Args:
            at: shape (n,): ranks.
            factor: by which precisions may be too small.
        """
        v = at[:, None].astype(np.float64)
        hits = self._hits
        gain = np.where(self.rank + self.m <= self.rows, self._gain, self.m)
        after = np.where(
            v > self.rank + self.m, self.precision * v, hits + np.minimum(v - self.rank, gain)
        )
        most = np.where(v <= self.rank, hits, after)
        return np.minimum(1.0, factor * np.min(most / v, axis=1))

    def lower(self, at: IntArray, factor: float = 1.0) -> FloatArray:
        """Return the least precision there can be, shape (n,).

        Args:
            at: shape (n,): ranks.
            factor: by which precisions may be too large.
        """
        v = at[:, None].astype(np.float64)
        hits, gain = self._hits, self._gain
        near = np.where(self.exact, hits - np.minimum(self.rank - v, gain), hits - gain)
        before = np.where(v < self.rank - self.m, self.precision * v, near)
        least = np.where(v >= self.rank, hits, before)
        return np.maximum(0.0, np.max(least / v, axis=1) / factor)

    def middle(self, at: IntArray) -> FloatArray:
        """Return the geometric mean of both bounds, shape (n,): within sqrt(height) of either."""
        return np.sqrt(self.upper(at) * self.lower(at))

    def height(self, at: IntArray) -> FloatArray:
        """Return the upper bound by the lower one, shape (n,); infinite where that is 0.

        At least 1: bounds from estimates may cross.
        """
        upper, lower = self.upper(at), self.lower(at)
        ratio = np.full(len(at), np.inf)
        np.divide(upper, lower, out=ratio, where=lower > 0)
        return np.maximum(ratio, 1.0)

    @property
    def _hits(self) -> FloatArray:
        """Positives up to each point, shape (k,)."""
        return self.precision * self.rank

    @property
    def _gain(self) -> FloatArray:
        """Most positives among m items after, or before, each point, shape (k,)."""
        gain = self.m * self.precision
        return np.where(self.exact, np.floor(gain + _ROUNDING), gain)
