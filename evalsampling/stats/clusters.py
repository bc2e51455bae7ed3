"""How many rows of a pool share a cluster, by a sketch whose size does not depend on the pool.

References:
    N. Alon, Y. Matias and M. Szegedy, *The space complexity of approximating the frequency
    moments*, STOC 1996.
    M. Charikar, K. Chen and M. Farach-Colton, *Finding frequent items in data streams*, ICALP 2002
    (signed buckets).
"""

import dataclasses
from collections.abc import Iterable

import numpy as np

from evalsampling.stats.arrays import IntArray

_BITS = 16
"""Of the number of buckets: the sum of squares is known to one part in 180, two times in three."""

CORRELATION = 0.05
"""Intra-cluster correlation that plans reckon with, before any label tells of it."""


@dataclasses.dataclass(frozen=True)
class SharedClusters:
    """How the rows of a pool are spread over clusters.

    Attributes:
        rows: of the pool.
        chance: that two rows of the pool, drawn at random, are of one cluster.
    """

    rows: int
    chance: float

    @classmethod
    def of_numbers(cls, batches: Iterable[IntArray]) -> "SharedClusters":
        """Return the spread of rows, given the hashed numbers of their clusters in batches."""
        sums, rows = np.zeros(1 << _BITS, dtype=np.int64), 0
        for number in batches:
            sign = 1 - 2 * ((number >> _BITS) & 1)
            sums += np.bincount(number & (len(sums) - 1), sign, len(sums)).astype(np.int64)
            rows += len(number)
        pairs = float(sums @ sums) - rows
        return cls(rows, min(max(pairs / max(rows * (rows - 1), 1), 0.0), 1.0))

    def drawn_together(self, labels: float) -> float:
        """Return m, the expected rows in the cluster of a drawn row, of so many drawn evenly."""
        return 1 + max(labels - 1, 0) * self.chance

    def design_effect(self, labels: float) -> float:
        """Return 1 + (m - 1) `CORRELATION` (Kish, *Survey Sampling*, 1965, section 5.4).

        It is 1 if all rows have labels.
        """
        if labels >= self.rows:
            return 1.0
        return 1 + (self.drawn_together(labels) - 1) * CORRELATION
