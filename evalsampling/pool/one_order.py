"""Pairs whose order says nothing: of those in both orders, one row is of the pool.

It is the row whose left record comes first, by its id. Which rows go is found before the pool is
read, by hashes of pairs in a temporary folder; a bit a row says it then.
"""

import dataclasses
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.arrow import characters, column_of, plain, without_views
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import hash_ids
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.row_ids import joined
from evalsampling.pool.splits import RowSelection, WorkItem
from evalsampling.spec import PoolSpec
from evalsampling.spec.id_columns import sides_of
from evalsampling.stats.arrays import BoolArray, IntArray, UInt64Array
from evalsampling.stats.orders import MOST_KEPT, OrderCounts, order_keys, sampled, turned

Sides = tuple[Sequence[str], Sequence[str]]
"""Columns of the left record, and of the right one."""

_SHARE_BITS = 8


@dataclasses.dataclass(frozen=True)
class OneOrder:
    """Which rows of a work item are of the pool, where one of two orders is left out."""

    where: RowSelection | None  # which rows there are otherwise; None for all
    first_row: int  # of the item, within its file
    left_out: bytes  # a bit for each row of the item, packed: whether it is left out

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        """Types of the columns that decide, by name."""
        return {} if self.where is None else self.where.types

    def kept(self, batch: PoolBatch) -> PoolBatch:
        """Return the rows of a batch that are of the pool, with their places."""
        batch = batch if self.where is None else self.where.kept(batch)
        bits = np.frombuffer(self.left_out, np.uint8)
        place = batch.row_numbers(np.arange(len(batch))) - self.first_row
        stays = (bits[place >> 3] >> (7 - (place & 7)).astype(np.uint8)) & 1 == 0
        return batch if stays.all() else batch.take(np.flatnonzero(stays))


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """Rows of a pool that are left out since their pair is there in the other order."""

    pairs: int = 0  # number of these
    # by file and first row of each work item with any: see `OneOrder.left_out`
    bits: Mapping[tuple[int, int], bytes] = dataclasses.field(default_factory=dict)

    def selection(self, item: WorkItem) -> RowSelection | None:
        """Return which rows of a work item there are."""
        bits = self.bits.get((item.file, item.first_row))
        return item.where if bits is None else OneOrder(item.where, item.first_row, bits)

    @classmethod
    def find(cls, items: Iterable[WorkItem], sides: Sides, seed: int) -> "LeftOut":
        """Return the rows of work items that are left out."""
        listed = list(items)
        starts = np.cumsum([0, *(-(-item.rows // 8) for item in listed)])
        bits = np.zeros(int(starts[-1]), dtype=np.uint8)
        pairs = 0
        with tempfile.TemporaryDirectory() as folder:
            for item, start in zip(listed, starts.tolist(), strict=False):
                for batch in read_batches(item, [*sides[0], *sides[1]]):
                    number = batch.row_numbers(np.arange(len(batch))) - item.first_row
                    _spill(_checked_keys(batch, sides, seed), number + 8 * start, Path(folder))
            for file in sorted(Path(folder).iterdir()):
                key, place = np.fromfile(file, dtype=np.uint64).reshape(-1, 2).T
                gone = place[turned(key)]
                pairs += len(np.unique(key[turned(key)]))
                np.bitwise_or.at(bits, gone >> 3, np.uint8(128) >> (gone & 7).astype(np.uint8))
        held = {
            (item.file, item.first_row): bits[begin:end].tobytes()
            for item, begin, end in zip(listed, starts[:-1], starts[1:], strict=True)
            if bits[begin:end].any()
        }
        return cls(pairs, held)

    @property
    def words(self) -> list[str]:
        """A sentence with their number; none without any."""
        if not self.pairs:
            return []
        return [
            f"{self.pairs:,} pairs were in the pool in both orders: of each the row stays whose "
            "left id comes first (pool.pairs: unordered)"
        ]


def _spill(key: UInt64Array, place: Any, folder: Path) -> None:
    """Append keys and places to files of a folder, one for each share of the keys."""
    share = (key >> np.uint64(64 - _SHARE_BITS)).astype(np.int64)
    rows = np.stack([key, place.astype(np.uint64)], axis=1)
    for number in np.unique(share).tolist():
        with (folder / f"{number:03d}").open("ab") as file:
            rows[share == number].tofile(file)


def without_other_order(batch: PoolBatch, sides: Sides, seed: int) -> PoolBatch:
    """Return the rows of a pool in memory, one of each pair that is in both orders."""
    gone = turned(_checked_keys(batch, sides, seed))
    return batch if not gone.any() else PoolBatch(batch.rows.filter(pa.array(~gone)), batch.path)


def _checked_keys(batch: PoolBatch, sides: Sides, seed: int) -> UInt64Array:
    """Return the keys of pairs, whose ids are checked."""
    batch.ids((*sides[0], *sides[1]))
    left, right = records_of(batch, sides)
    if left.type != right.type:
        types = f"{left.type} and {right.type}"
        raise batch.error(sides[1][0], 0, f"records of unordered pairs have one type, got {types}")
    return _keys(left, right, seed)


def _keys(left: pa.Array, right: pa.Array, seed: int) -> UInt64Array:
    """Return the keys of pairs, given the ids of their records: see `stats.orders.order_keys`."""
    backward: BoolArray = pc.greater(left, right).to_numpy(zero_copy_only=False)
    return order_keys(hash_ids(left, seed), hash_ids(right, seed), backward)


def records_of(batch: PoolBatch, sides: Sides) -> tuple[pa.Array, pa.Array]:
    """Return the ids of both records, of several columns as texts, without checks."""
    left, right = (_record(batch, names) for names in sides)
    return left, right


def _record(batch: PoolBatch, names: Sequence[str]) -> pa.Array:
    columns = [plain(without_views(column_of(batch.rows, name))) for name in names]
    ids = columns[0] if len(columns) == 1 else joined(columns)
    if pa.types.is_integer(ids.type):
        return ids if ids.type == pa.uint64() else ids.cast(pa.int64())
    return ids.cast(pa.large_string())


_BYTES = 8
"""Last bytes of an id by which pairs are sampled, before any is hashed."""


def orders_of(batch: PoolBatch, pool: PoolSpec, seed: int, rows: int) -> OrderCounts:
    """Return which pairs of a batch there are in which order; nothing if rows are no pairs."""
    sides, keys = sides_of(pool.id), np.zeros(0, dtype=np.uint64)
    if sides is not None:
        left, right = records_of(batch, sides)
        if left.type == right.type:
            if rows > MOST_KEPT:
                some = pa.array(np.flatnonzero(sampled(_ends(left), _ends(right), rows)))
                left, right = left.take(some), right.take(some)
            keys = _keys(left, right, seed)
    return OrderCounts.of_keys(len(batch), keys)


def _ends(ids: pa.Array) -> IntArray:
    """Return a number for each id: its last bytes, or itself if it is a number."""
    if pa.types.is_integer(ids.type):
        return ids.to_numpy().view(np.int64)
    bounds, text = characters(ids)
    text = np.append(np.zeros(_BYTES, np.uint8), text)
    windows = np.lib.stride_tricks.as_strided(
        text[:_BYTES].view(np.int64), shape=(len(text) - _BYTES + 1,), strides=(1,)
    )
    missing = np.maximum(_BYTES - np.diff(bounds), 0)
    last = windows[bounds[1:]].view(np.uint64)
    last >>= (8 * np.minimum(missing, _BYTES - 1)).astype(np.uint64)
    last[missing == _BYTES] = 0
    return last.view(np.int64)
