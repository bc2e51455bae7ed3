"""Strata of numeric features, for a pool without scores: a k-d tree fitted to a sample.

The sample and the tree depend on the rows of the pool alone, not on how it was cut. Like edges,
the tree is fitted once, saved, and never fitted again.
"""

import dataclasses
import functools
import heapq

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import FloatArray, IntArray, UInt64Array
from evalsampling.stats.hashing import bottom_k

_LEAF = -1
"""Stands for the feature of a node that is not split."""

_ROWS_AT_A_TIME = 1 << 14
"""Rows that descend the tree at a time: the intermediate arrays stay in the cache."""


@dataclasses.dataclass(frozen=True)
class FeatureSample:
    """The rows of least hash with their features: a simple random sample of a pool, mergeable.

    Rows of equal hash are taken in the order of their features, so that any sharding of a pool
    gives the same sample.
    """

    capacity: int  # most rows kept, at least 1
    hashes: UInt64Array  # (rows,), uint64, ascending
    features: FloatArray  # (rows, features), float64, finite; zeros have no sign

    @classmethod
    def from_rows(
        cls, hashes: UInt64Array, features: npt.NDArray[np.floating], capacity: int
    ) -> "FeatureSample":
        """Return a sample of rows."""
        rows = bottom_k(hashes, features, capacity)
        return cls(capacity, hashes[rows], features[rows].astype(np.float64) + 0.0)

    def __add__(self, other: "FeatureSample") -> "FeatureSample":
        """Return the sample of both pools together."""
        hashes = np.concatenate([self.hashes, other.hashes])
        features = np.concatenate([self.features, other.features])
        return FeatureSample.from_rows(hashes, features, self.capacity)


@dataclasses.dataclass(frozen=True)
class KdTree:
    """A binary tree of splits by one feature each, whose leaves are the strata.

    Nodes are listed level by level, so that the children of the split nodes are, in pairs, the
    nodes 1, 2, 3, ... Leaves are numbered from left to right.
    """

    feature: IntArray  # (nodes,), int64: the feature that splits each node, -1 for a leaf
    threshold: FloatArray  # (nodes,), float64: rows below it go left, all others right; 0 in leaves

    @classmethod
    def fit(cls, features: npt.NDArray[np.floating], leaves: int) -> "KdTree":
        """Return a tree fitted to a sample of rows in any order.

        The node with most rows (the oldest of equals) is split until there are enough leaves or
        every one is a single point. The feature is that of the greatest standard deviation of
        mid-ranks among the whole sample (the first of equals): they have no unit, know no outliers,
        and ties shrink them. The threshold lies between the two distinct values nearest to the
        median (the lower of two as near). Below 10^6 rows ranks are compared exactly (J. L.
        Bentley, *Multidimensional binary search trees used for associative searching*, CACM 18,
        1975).
        """
        values = features.astype(np.float64)
        ranks = np.stack([_doubled_midranks(column) for column in values.T], axis=1)
        feature, threshold, left = [_LEAF], [0.0], [0]
        waiting = [(-len(values), 0, np.arange(len(values)))]
        while waiting and len(feature) < 2 * leaves - 1:
            _, node, rows = heapq.heappop(waiting)
            split = _widest(ranks[rows])
            if split is None:
                continue
            column = values[rows, split]
            feature[node], threshold[node], left[node] = split, _middle(column), len(feature)
            below = column < threshold[node]
            for child in (rows[below], rows[~below]):
                heapq.heappush(waiting, (-len(child), len(feature), child))
                feature.append(_LEAF)
                threshold.append(0.0)
                left.append(0)
        order = [0]  # level by level: children are put after all nodes listed so far
        for node in order:
            if feature[node] != _LEAF:
                order += (left[node], left[node] + 1)
        return cls(np.array(feature, dtype=np.int64)[order], np.array(threshold)[order])

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return len(self.feature) // 2 + 1

    @property
    def parting(self) -> IntArray:
        """Level of the tree at which each two neighbouring leaves part, from 1: (leaves - 1,)."""
        layout = self._layout
        parting = np.zeros(self.leaves - 1, dtype=np.int64)
        splits = np.flatnonzero(self.feature != _LEAF)
        parting[layout.leaf[layout.left[splits] + 1] - 1] = layout.level[splits] + 1
        return parting

    def find(self, features: npt.NDArray[np.floating]) -> IntArray:
        """Return the leaf of each row, shape (n,), in [0, leaves)."""
        leaf = np.empty(len(features), dtype=np.int64)
        for begin in range(0, len(features), _ROWS_AT_A_TIME):
            part = slice(begin, begin + _ROWS_AT_A_TIME)
            leaf[part] = self._find(features[part].astype(np.float64))
        return leaf

    def _find(self, features: FloatArray) -> IntArray:
        layout = self._layout
        row = np.arange(len(features))
        node = np.zeros(len(features), dtype=np.int64)
        for _ in range(layout.depth):
            right = features[row, layout.feature[node]] >= layout.threshold[node]
            node = layout.left[node] + right
        return layout.leaf[node]

    @functools.cached_property
    def _layout(self) -> "_Layout":
        splits = np.flatnonzero(self.feature != _LEAF)
        left = np.arange(len(self.feature))
        left[splits] = 2 * np.arange(len(splits)) + 1
        below = np.ones(len(left), dtype=np.int64)  # leaves below each node, or itself
        for node in splits[::-1]:
            below[node] = below[left[node]] + below[left[node] + 1]
        leaf, depth = np.zeros_like(left), np.zeros_like(left)
        for node in splits:
            first, second = left[node], left[node] + 1
            leaf[first], leaf[second] = leaf[node], leaf[node] + below[first]
            depth[first] = depth[second] = depth[node] + 1
        return _Layout(
            feature=np.maximum(self.feature, 0),
            threshold=np.where(self.feature == _LEAF, np.inf, self.threshold),
            left=left,
            leaf=leaf,
            level=depth,
            depth=int(depth.max()),
        )


@dataclasses.dataclass(frozen=True)
class _Layout:
    """A tree in which rows that have arrived in a leaf stay there."""

    feature: IntArray  # (nodes,): the feature compared, any one in a leaf
    threshold: FloatArray  # (nodes,): infinite in a leaf
    left: IntArray  # (nodes,): the left child, a leaf's own number
    leaf: IntArray  # (nodes,): number of the first leaf at or below each node
    level: IntArray  # (nodes,): number of splits above each node
    depth: int  # greatest number of splits above a leaf


def _doubled_midranks(column: FloatArray) -> IntArray:
    """Return twice the mid-rank of each value, from the ranks 0 to n, shape (n,)."""
    _, place, count = np.unique(column, return_inverse=True, return_counts=True)
    ranks: IntArray = 2 * np.cumsum(count) - count
    return ranks[place]


def _widest(ranks: IntArray) -> int | None:
    """Return the column of the greatest variance, None if all are constant.

    Python integers make the variances, times n^2, exact: no rounding decides between equals.
    """
    sums, squares = ranks.sum(axis=0), (ranks * ranks).sum(axis=0)
    pairs = zip(sums.tolist(), squares.tolist(), strict=True)
    spreads = [len(ranks) * square - total * total for total, square in pairs]
    widest = max(range(len(spreads)), key=spreads.__getitem__)
    return widest if spreads[widest] > 0 else None


def _middle(column: FloatArray) -> float:
    """Return a threshold between the two distinct values nearest to the median."""
    ordered = np.sort(column)
    cuts = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
    cut = cuts[np.argmin(np.abs(2 * cuts - len(ordered)))]
    low, high = float(ordered[cut - 1]), float(ordered[cut])
    middle = low / 2 + high / 2
    return middle if low < middle < high else high
