"""How many rows of a pool share a cluster, by a sketch whose size does not depend on the pool.

References:
    N. Alon, Y. Matias and M. Szegedy, *The space complexity of approximating the frequency
    moments*, STOC 1996.
    M. Charikar, K. Chen and M. Farach-Colton, *Finding frequent items in data streams*, ICALP 2002
    (signed buckets).
"""

import dataclasses

import numpy as np

from evalsampling.stats.arrays import IntArray

_BITS = 16
"""Of the number of buckets: the sum of squares is known to one part in 180, two times in three."""

CORRELATION = 0.05
"""Intra-cluster correlation that plans reckon with, before any label tells of it."""


@dataclasses.dataclass(frozen=True, eq=False)
class ClusterSums:
    """The sketch of the rows of clusters, which add up in any order."""

    rows: int
    sums: IntArray  # (2^16,): the signed numbers of rows in each bucket

    @classmethod
    def of_numbers(cls, number: IntArray) -> "ClusterSums":
        """Return the sketch of rows, given the hashed number of the cluster of each."""
        sign = 1 - 2 * ((number >> _BITS) & 1)
        buckets = 1 << _BITS
        sums = np.bincount(number & (buckets - 1), sign, buckets).astype(np.int64)
        return cls(len(number), sums)

    def __add__(self, other: "ClusterSums") -> "ClusterSums":
        """Return the sketch of the rows of both."""
        return ClusterSums(self.rows + other.rows, self.sums + other.sums)

    def shared(self) -> "SharedClusters":
        """Return how the rows are spread over clusters."""
        pairs = float(self.sums @ self.sums) - self.rows
        chance = pairs / max(self.rows * (self.rows - 1), 1)
        return SharedClusters(self.rows, min(max(chance, 0.0), 1.0))


@dataclasses.dataclass(frozen=True)
class SharedClusters:
    """How the rows of a pool are spread over clusters."""

    rows: int
    chance: float  # that two rows of the pool, drawn at random, are of one cluster

    @property
    def rows_together(self) -> float:
        """The expected number of rows in the cluster of a row of the pool, itself among them."""
        return self.drawn_together(self.rows)

    def drawn_together(self, labels: float) -> float:
        """Return m, the expected rows in the cluster of a drawn row, of so many drawn evenly."""
        return 1 + max(labels - 1, 0) * self.chance

    def design_effect(self, labels: float, whole: bool = False) -> float:
        """Return 1 + (m - 1) `CORRELATION` (Kish, 1965, section 5.4); 1 if all rows have labels."""
        if labels >= self.rows:
            return 1.0
        together = self.rows_together if whole else self.drawn_together(labels)
        return 1 + (together - 1) * CORRELATION
