"""The order of the two records of a pair: which columns are of which, and pairs in both orders."""

import numpy as np
import pyarrow as pa

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.one_order import keys_of, records_of
from evalsampling.preparation.assignment import CellBatch
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.id_columns import sides_of
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.orders import MOST_KEPT, OrderCounts, sampled

_BYTES = 8
"""Last bytes of an id by which pairs are sampled, before any is hashed."""


def count_orders(batch: PoolBatch, spec: EvaluationSpec, rows: int) -> OrderCounts:
    """Return which pairs of a batch there are in which order; nothing if rows are no pairs."""
    sides = sides_of(spec.pool.id)
    kept = np.zeros(0, dtype=np.uint64)
    if sides is not None:
        left, right = records_of(batch, sides)
        if left.type == right.type:
            some = None
            if rows > MOST_KEPT:
                some = np.flatnonzero(sampled(_ends(left), _ends(right), rows))
            kept = keys_of(batch, sides, spec.seed, some=some)
    return OrderCounts.of_keys(len(batch), kept)


def count_orders_of(cells: CellBatch, spec: EvaluationSpec, rows: int) -> OrderCounts:
    """Return `count_orders` of rows with cells."""
    return count_orders(cells.batch, spec, rows)


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
