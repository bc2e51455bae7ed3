"""The order of the two records of a pair: which columns are of which, and pairs in both orders."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.arrow import plain, without_views
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import hash_ids
from evalsampling.pool.nested import column_of
from evalsampling.pool.row_ids import joined
from evalsampling.preparation.assignment import CellBatch
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.id_columns import sides_of
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.orders import MOST_KEPT, OrderCounts, order_keys, sampled

_BYTES = 8
"""Last bytes of an id by which pairs are sampled, before any is hashed."""


def count_orders(batch: PoolBatch, spec: EvaluationSpec, rows: int) -> OrderCounts:
    """Return which pairs of a batch there are in which order; nothing if rows are no pairs.

    Args:
        batch: the rows.
        spec: names the columns of ids.
        rows: of the pool, or more: a large one is sampled.
    """
    sides = sides_of(spec.pool.id)
    kept = np.zeros(0, dtype=np.uint64)
    if sides is not None:
        left, right = (_ids(batch, names) for names in sides)
        if left.type == right.type:
            if rows > MOST_KEPT:
                some = pa.array(np.flatnonzero(sampled(_ends(left), _ends(right), rows)))
                left, right = left.take(some), right.take(some)
            backward = pc.greater(left, right).to_numpy(zero_copy_only=False)
            kept = order_keys(hash_ids(left, spec.seed), hash_ids(right, spec.seed), backward)
    return OrderCounts.of_keys(len(batch), kept)


def count_orders_of(cells: CellBatch, spec: EvaluationSpec, rows: int) -> OrderCounts:
    """Return `count_orders` of rows with cells."""
    return count_orders(cells.batch, spec, rows)


def _ids(batch: PoolBatch, names: Sequence[str]) -> pa.Array:
    """Return the records of one side, whose columns were checked: of several columns as texts."""
    columns = [plain(without_views(column_of(batch.rows, name))) for name in names]
    ids = columns[0] if len(columns) == 1 else joined(columns)
    if pa.types.is_integer(ids.type):
        return ids if ids.type == pa.uint64() else ids.cast(pa.int64())
    return ids.cast(pa.large_string())


def _ends(ids: pa.Array) -> IntArray:
    """Return a number for each id: its last bytes, or itself if it is a number."""
    if pa.types.is_integer(ids.type):
        return ids.to_numpy().view(np.int64)
    _, offsets, data = ids.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1]
    text = np.frombuffer(bytes(_BYTES) + bytes(data or b""), dtype=np.uint8)
    windows = np.lib.stride_tricks.as_strided(
        text[:_BYTES].view(np.int64), shape=(len(text) - _BYTES + 1,), strides=(1,)
    )
    missing = np.maximum(_BYTES - np.diff(bounds), 0)
    last = windows[bounds[1:]].view(np.uint64)
    last >>= (8 * np.minimum(missing, _BYTES - 1)).astype(np.uint64)
    last[missing == _BYTES] = 0
    return last.view(np.int64)
