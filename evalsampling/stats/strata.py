"""Strata of the score: edges from a histogram, and the leaf of each row.

Edges are computed once, saved, and never recomputed: every later round reads them.
"""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

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


def assign_leaves(edges: FloatArray, scores: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    """Return the leaf of each score, shape (n,): the number of edges at or below it."""
    return np.searchsorted(edges, scores.astype(np.float64, copy=False), side="right")
