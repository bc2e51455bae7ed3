"""Hierarchical clustering of the bins of a score: edges in the order in which they part clusters.

A bin stands at its middle, with the weight of its rows; clusters are runs of adjacent bins. Both
methods look at the sum of squared distances from the means of the clusters.

References:
    J. H. Ward, *Hierarchical grouping to optimize an objective function*, JASA 58, 1963.
    C. K. Reddy and B. Vinzamuri, *A survey of partitional and hierarchical clustering algorithms*,
    2014, which [MR] appendix I names.
"""

import dataclasses
import heapq
from collections.abc import Callable

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.score_counts import ScoreBins
from evalsampling.stats.strata import BINS_PER_LEAF, HierarchicalCut


def agglomerative_cuts(place: FloatArray, rows: IntArray, leaves: int) -> IntArray:
    """Return where clusters part that were joined, coarsest first: their first bins.

    The two neighbours whose union raises the sum of squares least are joined (the leftmost of
    equals), until one is left; the joins that were last are the coarsest cuts.
    """
    bins = len(place)
    count, mean = rows.astype(np.float64).tolist(), place.tolist()
    after, before = [*range(1, bins), -1], [-1, *range(bins - 1)]
    version, joined = [0] * bins, []

    def rise(left: int) -> tuple[float, int, int, int]:
        right = after[left]
        weight = count[left] * count[right] / (count[left] + count[right])
        return weight * (mean[right] - mean[left]) ** 2, left, version[left], version[right]

    waiting = [rise(left) for left in range(bins - 1)]
    heapq.heapify(waiting)
    while waiting:
        _, left, of_left, of_right = heapq.heappop(waiting)
        right = after[left]
        if right < 0 or (version[left], version[right]) != (of_left, of_right):
            continue
        joined.append(right)
        total = count[left] + count[right]
        mean[left] += (mean[right] - mean[left]) * count[right] / total
        count[left], after[left] = total, after[right]
        version[left] += 1
        version[right] = -1
        if after[left] >= 0:
            before[after[left]] = left
            heapq.heappush(waiting, rise(left))
        if before[left] >= 0:
            heapq.heappush(waiting, rise(before[left]))
    return np.array(joined[::-1][: leaves - 1], dtype=np.int64)


def divisive_cuts(place: FloatArray, rows: IntArray, leaves: int) -> IntArray:
    """Return where clusters part that were divided, coarsest first: their first bins.

    The cluster whose division in two lowers the sum of squares most is divided where it does (the
    leftmost of equals), until there are enough.
    """
    place = place - np.average(place, weights=rows)  # Sums of squares lose fewer digits.
    count = np.append(0.0, np.cumsum(rows, dtype=np.float64))
    total = np.append(0.0, np.cumsum(rows * place))

    def division(first: int, end: int) -> tuple[float, int, int, int]:
        left, right = (x[first + 1 : end] - x[first] for x in (count, total))
        all_rows, whole = count[end] - count[first], total[end] - total[first]
        fall = (right / left - whole / all_rows) ** 2 * left * all_rows / (all_rows - left)
        best = int(np.argmax(fall))
        return -float(fall[best]), first, first + 1 + best, end

    waiting = [division(0, len(place))] if len(place) > 1 else []
    cuts: list[int] = []
    while waiting and len(cuts) < leaves - 1:
        _, first, cut, end = heapq.heappop(waiting)
        cuts.append(cut)
        for part in ((first, cut), (cut, end)):
            if part[1] - part[0] > 1:
                heapq.heappush(waiting, division(*part))
    return np.array(cuts, dtype=np.int64)


def _middles(scores: ScoreBins) -> FloatArray:
    """Return the middles of bins, shape (bins,), in units in which no square overflows."""
    scale = max(abs(scores.minimum), abs(scores.maximum)) or 1.0
    low = np.maximum(scores.lower_ends, scores.minimum) / scale
    high = np.minimum(scores.upper_ends, scores.maximum) / scale
    middle: FloatArray = (low + np.maximum(high, low)) / 2
    return middle


@dataclasses.dataclass(frozen=True)
class _Clustering:
    """A `HierarchicalCut` of bins, by a function that returns first bins of clusters."""

    cuts: Callable[[FloatArray, IntArray, int], IntArray]

    def bins(self, leaves: int) -> int:
        """Return the number of bins to count scores in."""
        return BINS_PER_LEAF * leaves

    def cut(self, scores: ScoreBins, leaves: int) -> FloatArray:
        """Return interior edges: see `CutMethod`."""
        return np.sort(self.order(scores, leaves))

    def order(self, scores: ScoreBins, leaves: int) -> FloatArray:
        """Return the edges, coarsest first: see `HierarchicalCut`."""
        even = scores.of_one_width()
        return even.lower_ends[self.cuts(_middles(even), even.counts, leaves)]


AGGLOMERATIVE: HierarchicalCut = _Clustering(agglomerative_cuts)
DIVISIVE: HierarchicalCut = _Clustering(divisive_cuts)
