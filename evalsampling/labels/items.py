"""Items of queries: what they are called, and what is known of a query once they are graded."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.lists import list_names
from evalsampling.pool.stored_columns import ID, magnitudes_of
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.gains import NO_ITEM
from evalsampling.stats.outputs import Outputs

_ITEMS = list_names(0)[0]


def item_ids(rows: pa.Table) -> list[str]:
    """Return what items are called, ``QUERY/ITEM``, of one query after the other."""
    ids, items = rows[ID].to_pylist(), rows[_ITEMS].to_pylist()
    return [f"{id}/{item}" for id, listed in zip(ids, items, strict=True) for item in listed]


def graded_outputs(
    rows: pa.Table, label: IntArray, systems: int, moments: int, depth: int
) -> Outputs:
    """Return what is known of queries once items are graded: the grades by rank."""
    length = pc.list_value_length(rows[_ITEMS].combine_chunks()).to_numpy(zero_copy_only=False)
    query = np.repeat(np.arange(len(rows)), length)
    grades = np.full((len(rows), systems, depth), NO_ITEM, dtype=np.int64)
    for system, name in enumerate(list_names(systems)[1:]):
        rank = pc.list_flatten(rows[name].combine_chunks()).to_numpy().astype(np.int64)
        ranked = np.flatnonzero((rank > 0) & (rank <= depth))
        grades[query[ranked], system, rank[ranked] - 1] = label[ranked]
    differs = [rows[f"prediction.{system}"].to_numpy() for system in range(systems)]
    return Outputs(
        np.stack(differs, axis=1),
        np.zeros((len(rows), systems)),
        np.zeros((len(rows), moments, 1)),
        grades,
        magnitudes=magnitudes_of(rows),
    )
