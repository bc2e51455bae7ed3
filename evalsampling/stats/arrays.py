"""Arrays: their types by what they hold, numbers within groups and runs, and distinct rows."""

from typing import Any

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
UInt64Array = npt.NDArray[np.uint64]


def numbered_within(group: IntArray) -> IntArray:
    """Return the number of each element within its group, from 0, in their order: shape (n,)."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    number = np.empty(len(group), dtype=np.int64)
    number[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered)
    return number


def within_runs(length: IntArray) -> IntArray:
    """Return 0, 1, 2, ... of each of some runs, one after the other: shape (sum of lengths,)."""
    ends = np.cumsum(length)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - length, length)


def summed(values: npt.NDArray[Any], rows: IntArray) -> tuple[npt.NDArray[Any], IntArray]:
    """Return the distinct values, ascending, and the sum of the rows of each, shape (n,) both."""
    distinct, place = np.unique(values, return_inverse=True)
    total = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(total, place.ravel(), rows)
    return distinct, total


def distinct_rows(rows: npt.NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Return indices of the distinct rows, sorted, and which one each row is: a fast `unique`."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.cumsum(begins) - 1
    return order[begins], place
