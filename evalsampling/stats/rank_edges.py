"""Strata whose ranks grow geometrically from the highest score down."""

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray


def log_rank_edges(lower_ends: FloatArray, counts: IntArray, leaves: int) -> FloatArray:
    """Return edges of leaves that end, from the highest score down, at ranks K, K g, ..., N.

    K is the number of leaves (N if that is smaller), so g = (N / K)^(1 / (K - 1)). A leaf ends with
    the bin in which its rank is reached; no edge lies within a bin. Edges are as of
    `strata.csf_edges`.

    Args:
        lower_ends: shape (bins,), ascending.
        counts: shape (bins,), rows in each bin.
        leaves: most leaves wanted, at least 1.
    """
    ends, rows = lower_ends[counts > 0], counts[counts > 0]
    rank = np.cumsum(rows[::-1])
    wanted = np.geomspace(min(leaves, rank[-1]), rank[-1], leaves)[:-1]
    reached = np.unique(np.searchsorted(rank, wanted * (1 - 1e-12)))
    edges = ends[::-1][reached]
    return edges[edges > ends[0]][::-1]
