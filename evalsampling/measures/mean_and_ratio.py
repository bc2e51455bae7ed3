"""Mappings that many measures share: the mean of a loss, and a ratio of two."""

import numpy as np

from evalsampling.measures.base import Measure, takes_columns
from evalsampling.stats.arrays import FloatArray


def divide(numerator: FloatArray, denominator: FloatArray, undefined: float = np.nan) -> FloatArray:
    """Return numerator / denominator, and ``undefined`` where the denominator is 0."""
    result = np.full_like(numerator, undefined)
    return np.divide(numerator, denominator, out=result, where=denominator != 0)


class Mean(Measure):
    """A mean loss, or several: g(R) = R."""

    affine = True

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        """Return R, shape (d,)."""
        return risk

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return the identity, shape (d, d)."""
        return np.eye(len(risk))


class Ratio(Measure):
    """A ratio of two mean losses: d = 2, g(R) = R1 / R2."""

    scale_free = True

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        """Return R1 / R2, shape (1,): NaN where R2 is 0."""
        return divide(risk[:1], risk[1:])

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return [1 / R2, -R1 / R2^2], shape (1, 2): NaN where R2 is 0."""
        if risk[1] == 0:
            return np.full((1, 2), np.nan)
        return np.array([[1.0, -risk[0] / risk[1]]]) / risk[1]

    def jacobians(self, risks: FloatArray) -> FloatArray:
        """Return `jacobian` at each of n ``risks``, shape (n, 2): shape (n, 1, 2)."""
        above, below = risks[:, 0], np.where(risks[:, 1] == 0, np.nan, risks[:, 1])
        slopes = np.stack([np.ones(len(risks)), -above / below], axis=1) / below[:, None]
        return slopes[:, None]
