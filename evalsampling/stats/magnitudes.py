"""Magnitudes of rows: the cost of a label, and how much a row counts, each in classes."""

import dataclasses
import math

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray

COST, WEIGHT = "cost", "weight"

BY, ROWS = " by ", "rows"
"""In the name of a measure, before how its rows count: by a column of weights, or all the same."""

POWERS = {COST: -0.5, WEIGHT: 1.0}
"""Magnitudes in the order of a cell's code; the power of each that optimal chances go with."""

MOST_CLASSES = 16
"""Most classes of a magnitude: they multiply the number of cells."""


@dataclasses.dataclass(frozen=True)
class MagnitudeClasses:
    """Log-spaced classes of a magnitude."""

    # (classes + 1,), above 0, increasing: the first is the least value of the pool, the last the
    # greatest. They are equal if all values are
    edges: FloatArray
    power: float = 1.0  # of the magnitude, that the best chance of a row goes with: see `POWERS`

    @classmethod
    def spanning(
        cls, low: float, high: float, classes: int, power: float = 1.0
    ) -> "MagnitudeClasses":
        """Return classes of equal width on the logarithmic scale."""
        edges = np.geomspace(low, high, (classes if high > low else 1) + 1)
        edges[0], edges[-1] = low, high
        return cls(edges, power)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.edges) - 1

    def find(self, value: FloatArray) -> IntArray:
        """Return the class of each value, shape (n,), in [0, classes)."""
        return np.searchsorted(self.edges[1:-1], value, side="right").astype(np.int64)

    def relative(self, value: FloatArray) -> FloatArray:
        """Return values as shares of the greatest of their class, shape (n,), in (0, 1]."""
        return np.minimum(value / self.edges[self.find(value) + 1], 1.0)

    def absolute(self, share: FloatArray, of_class: IntArray) -> FloatArray:
        """Return the values that have the shares that `relative` returns, shape (n,)."""
        return share * self.edges[of_class + 1]

    @property
    def loss(self) -> float:
        """Share of the labels, or the money, that is lost to classes: x coth x - 1.

        x = |power| ln(r) / 2, for values log-uniform in a class whose greatest is r times its
        least, if its rows have the same chance instead of one in proportion to value^power.
        """
        x = abs(self.power) * math.log(self.edges[-1] / self.edges[0]) / self.classes / 2
        return x / math.tanh(x) - 1 if x > 0 else 0.0
