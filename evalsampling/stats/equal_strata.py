"""Strata of about equal numbers of rows, cut from cells in the order of a key."""

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray


def equal_strata(key: FloatArray, rows: IntArray, strata: int) -> IntArray:
    """Return the stratum of each cell, shape (cells,), numbered from 0 without gaps.

    Cells in the order of the key are divided where the rows so far pass a multiple of M / strata; a
    cell goes where its middle is. Cells of equal keys keep their order.
    """
    order = np.argsort(key, kind="stable")
    middle = np.cumsum(rows[order]) - rows[order] / 2
    place = np.minimum(np.floor(strata * middle / rows.sum()), strata - 1).astype(np.int64)
    stratum = np.empty(len(key), dtype=np.int64)
    stratum[order] = np.unique(place, return_inverse=True)[1]
    return stratum


def with_labels(labels: IntArray) -> IntArray:
    """Return groups of adjacent strata with labels in each group, shape (strata,), from 0.

    Walking up the strata, a group ends with the first that has labels; those left join the last.
    """
    has_labels = labels > 0
    group: IntArray = np.cumsum(has_labels) - has_labels
    return np.minimum(group, max(int(has_labels.sum()) - 1, 0))
