"""Permanent random numbers of rows, which decide once which rows a Poisson sample has.

References:
    K. R. W. Brewer, L. J. Early and S. F. Joyce, *Selecting several samples from a single
    population*, Australian Journal of Statistics 14, 1972.
"""

import dataclasses

import numpy as np

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray, UInt64Array


def permanent_numbers(hashes: UInt64Array) -> FloatArray:
    """Return the permanent random number of each row in [0, 1): the first 53 bits of its hash."""
    return (hashes >> np.uint64(11)).astype(np.float64) / float(1 << 53)


_CLUSTER_BITS = 40
"""Bits of the key of a row that are its cluster's, where rows of a cluster follow each other."""


def keys_by_cluster(keys: UInt64Array, cluster: IntArray) -> UInt64Array:
    """Return keys whose first 40 bits are the cluster's and whose others are the row's: (n,).

    Two clusters with the same bits count as one: of a million, one pair in every second pool.
    Numbers of clusters have 53 bits.
    """
    own = np.uint64(64 - _CLUSTER_BITS)
    of_cluster = cluster.astype(np.uint64) >> np.uint64(53 - _CLUSTER_BITS)
    return (of_cluster << own) | (keys & ((np.uint64(1) << own) - np.uint64(1)))


def share_beyond(number: FloatArray, bound: FloatArray) -> FloatArray:
    """Return where numbers lie between bounds and 1, as shares: 0 below a bound, or if it is 1."""
    left = 1 - bound
    beyond = np.maximum(number - bound, 0.0)
    return np.divide(beyond, left, out=np.zeros(len(left)), where=left > 0)


@dataclasses.dataclass(frozen=True)
class RowNumbers:
    """Random numbers of rows that a round may draw."""

    cell: IntArray  # (n,): cell of each row
    share: FloatArray  # (n,), in [0, 1): a row is in the round iff this is below its chance


@dataclasses.dataclass(frozen=True)
class PermanentNumbers:
    """Permanent random numbers of the first rows of each cell in its permanent order."""

    cell: IntArray  # (n,), ascending: index into the cell table
    number: FloatArray  # (n,), in [0, 1), ascending within a cell
    count: IntArray  # (cells,): all rows of each cell of the pool

    @classmethod
    def of_hashes(cls, cell: IntArray, hashes: UInt64Array, count: IntArray) -> "PermanentNumbers":
        """Return the numbers of rows ordered by cell and hash."""
        return cls(cell, permanent_numbers(hashes), count)

    def next_clusters(
        self, drawn: IntArray, wanted: int, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        """Return cell and rank of the rows of the next clusters, until they are as many as wanted.

        The last cluster is taken whole, its rows in random order. Of each cell some rows were
        ``drawn``, its first ones. If later rows of a cell may be of these clusters and are not
        known, one more row of the cell is returned: reading it shows that the reserve is short.
        """
        first = np.searchsorted(self.cell, np.arange(len(self.count)))
        held = np.diff(np.append(first, len(self.cell)))
        rank = np.arange(len(self.cell)) - first[self.cell]
        cluster = (self.number * float(1 << _CLUSTER_BITS)).astype(np.int64)
        fresh = np.flatnonzero(rank >= drawn[self.cell])
        fresh = fresh[np.lexsort((rng.random(len(fresh)), cluster[fresh]))]
        ends = np.flatnonzero(np.diff(cluster[fresh], append=-1)) + 1
        enough = min(int(np.searchsorted(ends, wanted)), len(ends) - 1)
        taken = fresh[: ends[enough]] if len(ends) else fresh
        last = np.where(held > 0, cluster[np.maximum(first + held, 1) - 1], -1)
        goes_on = np.flatnonzero(held < self.count)
        short = goes_on[last[goes_on] <= cluster[taken].max(initial=-1)]
        return np.append(self.cell[taken], short), np.append(rank[taken], held[short])

    def after(self, drawn: IntArray) -> FloatArray:
        """Return the least number above the numbers of each cell's first rows, shape (cells,)."""
        first = np.searchsorted(self.cell, np.arange(len(self.count)))
        begin = np.zeros(len(self.count))
        has = drawn > 0
        begin[has] = np.nextafter(self.number[first[has] + drawn[has] - 1], 1.0)
        return begin

    def fresh(self, drawn: IntArray, before: FloatArray) -> "FreshNumbers":
        """Return the numbers of rows never drawn, as shares of the range beyond ``before``."""
        first = np.searchsorted(self.cell, np.arange(len(self.count)))
        rank = np.arange(len(self.cell)) - first[self.cell]
        kept = rank >= drawn[self.cell]
        cell = self.cell[kept]
        share = share_beyond(self.number[kept], before[cell])
        held = np.bincount(self.cell, minlength=len(self.count))
        return FreshNumbers(cell, share, held < self.count)


@dataclasses.dataclass(frozen=True)
class FreshNumbers(RowNumbers):
    """Numbers of rows that were never drawn: given the drawn rows, independent and uniform."""

    goes_on: BoolArray  # (cells,): whether the cell has later rows, whose numbers are unknown

    def sizes(self, kept: BoolArray, chance: FloatArray) -> IntArray:
        """Return how many rows a round draws of each cell, shape (cells,).

        If it draws all rows of a cell with known numbers, and the cell has more, one more row is
        counted: reading it shows that the reserve is too short.
        """
        cells = len(self.goes_on)
        sizes = np.bincount(self.cell[kept], minlength=cells)
        available = np.bincount(self.cell, minlength=cells)
        return sizes + (self.goes_on & (sizes == available) & (chance > 0))
