"""Strata of the score: edges from a histogram, and the leaf of each row.

Edges are computed once, saved, and never recomputed: every later round reads them.
"""

import numpy as np
import numpy.typing as npt

from evalsampling.stats.histogram import dyadic_bins, dyadic_exponent

FloatArray = npt.NDArray[np.float64]

_TABLE_BINS = 1 << 14
"""Most bins of a table of leaves: it stays in the processor's cache."""

_ROWS_AT_A_TIME = 1 << 14
"""Scores looked up at a time: the intermediate arrays stay in the cache too."""

BINS_PER_LEAF = 8
"""Finest histogram the edges are cut from: dyadic bins give 4 to 8 a leaf over the range."""


def csf_edges(lower_ends: FloatArray, counts: npt.NDArray[np.int64], leaves: int) -> FloatArray:
    """Cut equal steps of the cumulated square root of the frequency.

    Walking up the bins, an edge is put at a bin's lower end once the cumulated sqrt(count) has
    reached the next multiple of total / leaves, at most one edge a bin (the rule of the authors
    of [MR]). A dense bin therefore delays edges and the bins above it get one each. Only a bin
    that holds rows can carry an edge, so that no leaf is empty.

    Args:
        lower_ends: shape (bins,), ascending, equally wide bins.
        counts: shape (bins,), rows in each bin.
        leaves: most leaves wanted, at least 1.

    Returns:
        Interior edges, shape (at most leaves - 1,), strictly increasing. Leaf k holds the
        scores in [edge k-1, edge k), the first and the last leaf being open-ended.

    References:
        T. Dalenius and J. L. Hodges, *Minimum variance stratification*, JASA 54, 1959;
        [MR] Marchant and Rubinstein, *Needle in a Haystack*, KDD 2021, section 5.2.
    """
    roots = np.sqrt(counts.astype(np.float64))
    cumulated = np.cumsum(roots)
    step = cumulated[-1] / leaves
    edges: list[float] = []
    placed = 0
    for i in np.flatnonzero(counts):
        if placed < leaves and cumulated[i] >= placed * step:
            edges.append(float(lower_ends[i]))
            placed += 1
    return np.array(edges[1:], dtype=np.float64)


class LeafTable:
    """Finds the leaves of scores through a fine table before any search.

    The range of the edges is divided into dyadic bins (`stats.histogram`). A bin without an edge
    strictly inside lies in one leaf, which the table knows; only scores in the other bins are
    searched for. Edges cut from a histogram lie on ends of bins, so for these nothing is.
    """

    def __init__(self, edges: FloatArray) -> None:
        """Build the table of interior edges, strictly increasing."""
        self._edges = edges
        if not len(edges):
            return
        first, last = float(edges[0]), float(edges[-1])
        self._exponent = dyadic_exponent(first, last, _TABLE_BINS)
        bins = dyadic_bins(edges, self._exponent)
        self._first = int(bins[0]) - 1
        count = int(bins[-1]) - self._first + 2
        numbers = self._first + np.arange(count, dtype=np.float64)
        self._leaf = np.searchsorted(edges, np.ldexp(numbers, self._exponent), side="right")
        on_end = np.ldexp(bins.astype(np.float64), self._exponent) == edges
        self._mixed = np.zeros(count, dtype=bool)
        self._mixed[bins[~on_end] - self._first] = True
        self._any_mixed = bool(self._mixed.any())
        ends = np.array([self._first + 0.5, self._first + count - 0.5])
        self._low, self._high = np.ldexp(ends, self._exponent).tolist()

    def find(self, scores: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
        """Return the leaf of each score, shape (n,): the number of edges at or below it.

        Args:
            scores: shape (n,), finite; float32 scores are placed at their float64 values.
        """
        leaves = np.zeros(len(scores), dtype=np.int64)
        if len(self._edges):
            for begin in range(0, len(scores), _ROWS_AT_A_TIME):
                part = slice(begin, begin + _ROWS_AT_A_TIME)
                leaves[part] = self._find(scores[part].astype(np.float64))
        return leaves

    def _find(self, scores: FloatArray) -> npt.NDArray[np.int64]:
        # Scores beyond the edges are moved to the bins beside them, where quotients are small.
        clipped = np.clip(scores, self._low, self._high)
        bins = dyadic_bins(clipped, self._exponent)
        bins -= self._first
        leaves = self._leaf.take(bins)
        if self._any_mixed:
            rows = np.flatnonzero(self._mixed[bins])
            leaves[rows] = np.searchsorted(self._edges, scores[rows], side="right")
        return leaves
