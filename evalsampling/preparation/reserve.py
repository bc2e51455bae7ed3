"""The reserve: the first rows of each cell in the permanent random order of the pool.

The order is that of the keyed 64-bit hash of the id, compared as an integer (ties of two
different ids, which a pool of a billion rows may have, fall back on the id). It answers every
round of up to ``capacity`` rows a cell without the pool.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError
from evalsampling.pool.stored_columns import CELL, FILE, GIVEN, HASH, ID, PAYLOAD_PREFIX, ROW
from evalsampling.spec.id_columns import IdColumns, in_words
from evalsampling.stats.arrays import BoolArray, IntArray, UInt64Array, within_runs

PARTS = 16
"""Parts the reserve of a pool is written in, each by one worker."""

_MIXER = 40503
"""An odd number near 2^16 over the golden ratio: multiples of it spread evenly (Knuth)."""

_SENT = pa.ipc.IpcWriteOptions(compression="lz4")
"""Options of the Arrow stream in which workers send each other rows."""

MOST_PAYLOAD_BYTES = 1 << 29
"""Of payload that a worker keeps of what it has read. In one process it takes four times that."""

COMPACT_ABOVE = 1 << 18
"""Rows gathered before the surplus of each cell is dropped."""


@dataclasses.dataclass(frozen=True)
class Reserve:
    """The rows of each cell with a label, then the `capacity` of least hash: a mergeable state."""

    capacity: int  # most rows without a label that are kept of a cell
    # columns cell, hash, id, file, row, the outputs (`output_columns`), slices and payload, ordered
    # by cell, those that have a label already first, and hash; None for no rows
    rows: pa.Table | None = None

    def __add__(self, other: "Reserve") -> "Reserve":
        """Return the reserve of both pools together."""
        if self.capacity != other.capacity:
            raise ValueError(f"reserves of {self.capacity} and {other.capacity} do not add up")
        if other.rows is None:
            return self
        if self.rows is None:
            return other
        return Reserve.from_rows(self.capacity, [self.rows, other.rows])

    @classmethod
    def from_rows(cls, capacity: int, tables: list[pa.Table]) -> "Reserve":
        """Return the reserve of rows in any order."""
        table = pa.concat_tables(tables).combine_chunks()
        cell, key = table[CELL].to_numpy(), table[HASH].to_numpy()
        order = _sorted(table, cell, key)
        has_label = labelled(table)
        if has_label.any():
            order = order[np.lexsort((~has_label[order], cell[order]))]
        kept = _ranks_without_label(cell[order], has_label[order]) < capacity
        return cls(capacity, table.take(order[kept]))

    def __len__(self) -> int:
        """Return the number of rows kept."""
        return 0 if self.rows is None else len(self.rows)

    @property
    def nbytes(self) -> int:
        """Size in memory, bytes."""
        return 0 if self.rows is None else int(self.rows.nbytes)

    @property
    def payload_bytes(self) -> int:
        """Size in memory of the payload, bytes."""
        if self.rows is None:
            return 0
        names = [name for name in self.rows.column_names if name.startswith(PAYLOAD_PREFIX)]
        return int(self.rows.select(names).nbytes)

    @property
    def ranks(self) -> IntArray:
        """Place of each row in its cell, from 0, shape (rows,)."""
        if self.rows is None:
            return np.zeros(0, dtype=np.int64)
        cell = self.rows[CELL].to_numpy()
        return np.arange(len(cell)) - np.searchsorted(cell, cell, side="left")

    @property
    def ranks_without_label(self) -> IntArray:
        """Place of each row among its cell's rows without a label; below 0 of rows with a label."""
        assert self.rows is not None
        return _ranks_without_label(self.rows[CELL].to_numpy(), labelled(self.rows))

    def to_bytes(self) -> bytes:
        """Return the reserve as bytes, without loss."""
        sink = pa.BufferOutputStream()
        sink.write(self.capacity.to_bytes(8, "little"))
        if self.rows is not None:
            with pa.ipc.new_stream(sink, self.rows.schema, options=_SENT) as stream:
                stream.write_table(self.rows)
        return sink.getvalue().to_pybytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Reserve":
        """Return the reserve that `to_bytes` wrote."""
        capacity = int.from_bytes(data[:8], "little")
        if len(data) == 8:
            return cls(capacity)
        return cls(capacity, pa.ipc.open_stream(data[8:]).read_all().combine_chunks())

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        """Pickle as bytes: a sliced Arrow table would pickle the whole it was cut from."""
        return Reserve.from_bytes, (self.to_bytes(),)


def labelled(rows: pa.Table) -> BoolArray:
    """Return which rows have a label already, shape (rows,)."""
    if GIVEN not in rows.column_names:
        return np.zeros(len(rows), dtype=np.bool_)
    return rows[GIVEN].is_valid().to_numpy()


def _ranks_without_label(cell: IntArray, has_label: BoolArray) -> IntArray:
    """Return the place of each row among its cell's rows without a label; below 0 with one."""
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    rows = np.diff(first, append=len(cell))
    rank = within_runs(rows)
    if not has_label.any():
        return rank
    return rank - np.repeat(np.add.reduceat(has_label.astype(np.int64), first), rows)


def split_reserve(reserve: Reserve) -> Iterator[tuple[int, Reserve]]:
    """Yield the numbered parts of a reserve, each of whole cells."""
    pa.default_memory_pool().release_unused()
    if reserve.rows is None:
        return
    # Neighbouring cells go to different parts, whatever the signatures of the large ones.
    part = (reserve.rows[CELL].to_numpy() * _MIXER >> 16) % PARTS
    for number in np.unique(part).tolist():
        yield number, Reserve(reserve.capacity, reserve.rows.filter(pa.array(part == number)))


def _sorted(table: pa.Table, cell: IntArray, key: UInt64Array) -> IntArray:
    """Return the order of rows by cell, hash and id, shape (rows,)."""
    # Hashes first, then cells, which are so small that numpy sorts them in linear time: a fourth of
    # the time of a `lexsort`.
    order = np.argsort(key)
    narrow = cell.astype(np.min_scalar_type(int(cell.max(initial=0))))
    order = order[np.argsort(narrow[order], kind="stable")]
    same = (cell[order[1:]] == cell[order[:-1]]) & (key[order[1:]] == key[order[:-1]])
    if not same.any():
        return order
    by = [(name, "ascending") for name in (CELL, HASH, ID)]
    return np.asarray(pc.sort_indices(table, sort_keys=by))  # Equal ids stay as they came.


def check_unique(rows: pa.Table, column: IdColumns) -> None:
    """Check that no two rows have the same id."""
    key = rows[HASH].to_numpy()
    order = np.argsort(key, kind="stable")
    for place in np.flatnonzero(key[order[1:]] == key[order[:-1]]):
        pair = rows.select([ID, FILE, ROW]).take(pa.array(order[place : place + 2])).to_pylist()
        first, second = sorted(pair, key=lambda row: (row[FILE], row[ROW]))
        if first[ID] == second[ID]:
            where = "" if first[FILE] == second[FILE] else f" of {first[FILE]}"
            file = f"{second[FILE]}: " if second[FILE] else ""
            raise InputError(
                f"{file}{in_words(column)}, row {second[ROW]}: "
                f"duplicate id {second[ID]!r}, also in row {first[ROW]}{where}"
            )


def repeated_values(values: UInt64Array) -> UInt64Array:
    """Return the values that are there more than once."""
    ordered = np.sort(values)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def check_complete(rows: pa.Table, count: IntArray, capacity: int) -> None:
    """Check that a reserve holds ``capacity`` rows of each cell, or all, beside those labelled."""
    cell = rows[CELL].to_numpy()
    held = np.bincount(cell, minlength=len(count))
    wanted = np.minimum(count, capacity + np.bincount(cell[labelled(rows)], minlength=len(count)))
    if np.any(held != wanted):
        cell = int(np.argmax(held != wanted))
        raise InputError(
            f"cell {cell} has {count[cell]} rows, but {held[cell]} of {wanted[cell]} were found "
            "for the reserve: the pool changed while it was read, or its ids repeat "
            "(prepare --check-ids names them)"
        )


def check_payload(path: str, size: float, rows: int) -> None:
    """Check that a worker may keep the payload of its part of the reserve."""
    if size > MOST_PAYLOAD_BYTES:
        raise InputError(
            f"{path}: the payload of the {rows:,} rows kept of it is about {size / 1e9:,.1f} GB, "
            f"{size / rows:,.0f} bytes a row. A worker keeps at most "
            f"{MOST_PAYLOAD_BYTES / 1e9:,.1f} GB: name shorter columns in pool.payload (a link, "
            "say), or lower budget or strata.leaves"
        )


def sum_reserves(reserves: Iterable[Reserve]) -> Reserve:
    """Return the sum of reserves; rows are sorted when as many have come as are held."""
    held: list[Reserve] = []
    waiting = 0
    for reserve in reserves:
        held.append(reserve)
        waiting += len(reserve)
        if waiting > max(COMPACT_ABOVE, len(held[0])):
            held, waiting = [_sum_at_once(held)], 0
    return _sum_at_once(held)


def _sum_at_once(reserves: Sequence[Reserve]) -> Reserve:
    tables = [reserve.rows for reserve in reserves if reserve.rows is not None]
    return Reserve.from_rows(reserves[0].capacity, tables)
