"""The reserve: the first rows of each cell in the permanent random order of the pool.

The order is that of the keyed 64-bit hash of the id, compared as an integer (ties of two
different ids, which a pool of a billion rows may have, fall back on the id). It answers every
round of up to ``capacity`` rows a cell without the pool.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.columns import hash_ids
from evalsampling.pool.splits import WorkItem
from evalsampling.pool.stored_columns import (
    CELL,
    FILE,
    HASH,
    ID,
    PAYLOAD_PREFIX,
    ROW,
    SLICE_PREFIX,
)
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.hashing import UInt64Array

PARTS = 16
"""Parts the reserve of a pool is written in, each by one worker."""

_MIXER = 40503
"""An odd number near 2^16 over the golden ratio: multiples of it spread evenly (Knuth)."""

_TOTAL_ROWS = 2_000_000
_FEWEST_ROWS = 50
_SENT = pa.ipc.IpcWriteOptions(compression="lz4")
"""Options of the Arrow stream in which workers send each other rows."""

MOST_PAYLOAD_BYTES = 1 << 29
"""Of payload that a worker keeps of what it has read. In one process it takes four times that."""

_COMPACT_ABOVE = 1 << 18
"""Rows gathered before the surplus of each cell is dropped."""

_COMPACT_BYTES_ABOVE = 1 << 26
"""Likewise bytes, of rows whose payload comes along."""


def reserve_capacity(spec: EvaluationSpec, cells: int) -> int:
    """Return B, the rows kept of each cell: min(budget, max(50, 2,000,000 / cells)).

    The size of a Poisson sample varies about the budget, with at most its root as its standard
    deviation: in place of the budget stand six of them more.
    """
    most = spec.budget
    if spec.sampler.name == "poisson" and not spec.sampler.parameters.get("cap", False):
        most += math.ceil(6 * math.sqrt(spec.budget))
    return min(most, max(_FEWEST_ROWS, _TOTAL_ROWS // cells))


def hash_limits(min_rows: npt.NDArray[np.int64], capacity: int) -> UInt64Array:
    """Return hashes above which no row of a cell can be among the first ``capacity``.

    Hashes are uniform. Of the n rows of a cell a share p = (B + 10 sqrt(B) + 100) / n is let
    pass, so fewer than B = ``capacity`` pass with a probability below exp(-50), by Chernoff's
    bound; `check_complete` would find it out.

    Args:
        min_rows: shape (cells,): rows that a cell has at least.
        capacity: most rows kept of a cell.

    Returns:
        Shape (cells,), uint64.
    """
    passing = capacity + 10 * math.sqrt(capacity) + 100
    share = passing / np.maximum(min_rows, 1)
    limits = np.full(len(share), np.iinfo(np.uint64).max, dtype=np.uint64)
    limits[share < 1] = (share[share < 1] * 2.0**64).astype(np.uint64)
    return limits


@dataclasses.dataclass(frozen=True)
class Reserve:
    """The ``capacity`` rows of least hash of each cell: a mergeable state.

    Attributes:
        capacity: most rows kept of a cell.
        rows: columns cell, hash, id, file, row, the outputs (`output_columns`), slices and
            payload, ordered by cell and hash;
            None for no rows.
    """

    capacity: int
    rows: pa.Table | None = None

    @classmethod
    def zero(cls, capacity: int) -> "Reserve":
        """Return the reserve of no rows."""
        return cls(capacity)

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
        ordered = cell[order]
        first = np.flatnonzero(np.diff(ordered, prepend=-1))
        rank = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
        return cls(capacity, table.take(order[rank < capacity]))

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
    def ranks(self) -> npt.NDArray[np.int64]:
        """Place of each row in its cell, from 0, shape (rows,)."""
        if self.rows is None:
            return np.zeros(0, dtype=np.int64)
        cell = self.rows[CELL].to_numpy()
        return np.arange(len(cell)) - np.searchsorted(cell, cell, side="left")

    def to_bytes(self) -> bytes:
        """Serialise without loss."""
        sink = pa.BufferOutputStream()
        sink.write(self.capacity.to_bytes(8, "little"))
        if self.rows is not None:
            with pa.ipc.new_stream(sink, self.rows.schema, options=_SENT) as stream:
                stream.write_table(self.rows)
        return sink.getvalue().to_pybytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Reserve":
        """Restore what `to_bytes` wrote."""
        capacity = int.from_bytes(data[:8], "little")
        if len(data) == 8:
            return cls(capacity)
        return cls(capacity, pa.ipc.open_stream(data[8:]).read_all().combine_chunks())

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        """Pickle as bytes: a sliced Arrow table would pickle the whole it was cut from."""
        return Reserve.from_bytes, (self.to_bytes(),)


def split_reserve(reserve: Reserve) -> Iterator[tuple[int, Reserve]]:
    """Yield the numbered parts of a reserve, each of whole cells."""
    if reserve.rows is None:
        return
    # Neighbouring cells go to different parts, whatever the signatures of the large ones.
    part = (reserve.rows[CELL].to_numpy() * _MIXER >> 16) % PARTS
    for number in np.unique(part).tolist():
        yield number, Reserve(reserve.capacity, reserve.rows.filter(pa.array(part == number)))


def _sorted(
    table: pa.Table, cell: npt.NDArray[np.int64], key: UInt64Array
) -> npt.NDArray[np.int64]:
    """Order rows by cell, hash, id."""
    order = np.lexsort((key, cell))
    same = (cell[order[1:]] == cell[order[:-1]]) & (key[order[1:]] == key[order[:-1]])
    for place in np.flatnonzero(same):
        pair = order[place : place + 2]
        if table[ID][int(pair[0])].as_py() > table[ID][int(pair[1])].as_py():
            order[place : place + 2] = pair[::-1]
    return order


def check_unique(rows: pa.Table, column: str) -> None:
    """Check that no two rows have the same id.

    Args:
        rows: columns hash, id, file, row.
        column: what the pool calls its id.

    Raises:
        InputError: naming both places of an id that is there twice.
    """
    key = rows[HASH].to_numpy()
    order = np.argsort(key, kind="stable")
    for place in np.flatnonzero(key[order[1:]] == key[order[:-1]]):
        pair = rows.select([ID, FILE, ROW]).take(pa.array(order[place : place + 2])).to_pylist()
        first, second = sorted(pair, key=lambda row: (row[FILE], row[ROW]))
        if first[ID] == second[ID]:
            where = "" if first[FILE] == second[FILE] else f" of {first[FILE]}"
            file = f"{second[FILE]}: " if second[FILE] else ""
            raise InputError(
                f"{file}column {column!r}, row {second[ROW]}: "
                f"duplicate id {second[ID]!r}, also in row {first[ROW]}{where}"
            )


def repeated_values(values: UInt64Array) -> UInt64Array:
    """Return the values that are there more than once."""
    ordered = np.sort(values)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def check_complete(rows: pa.Table, count: npt.NDArray[np.int64], capacity: int) -> None:
    """Check that a reserve holds ``capacity`` rows of each cell, or all of them.

    Args:
        rows: column cell.
        count: shape (cells,): rows of each cell of the pool.
        capacity: most rows kept of a cell.

    Raises:
        InputError: if rows of a cell are missing.
    """
    held = np.bincount(rows[CELL].to_numpy(), minlength=len(count))
    wanted = np.minimum(count, capacity)
    if np.any(held != wanted):
        cell = int(np.argmax(held != wanted))
        raise InputError(
            f"cell {cell} has {count[cell]} rows, but {held[cell]} of {wanted[cell]} were found "
            "for the reserve: the pool changed while it was read, or its ids repeat "
            "(prepare --check-ids names them)"
        )


def check_payload(path: str, size: float, rows: int) -> None:
    """Check that a worker may keep the payload of its part of the reserve.

    Args:
        path: of the pool's file, for the message.
        size: of the payload, bytes, as far as is known.
        rows: that have it.

    Raises:
        InputError: if it is too large.
    """
    if size > MOST_PAYLOAD_BYTES:
        raise InputError(
            f"{path}: the payload of the {rows:,} rows kept of it is about {size / 1e9:,.1f} GB, "
            f"{size / rows:,.0f} bytes a row, and a worker keeps at most "
            f"{MOST_PAYLOAD_BYTES / 1e9:,.1f} GB: name shorter columns in pool.payload (a link, "
            "say), or lower budget or strata.leaves"
        )


def located_ids(
    cells: CellBatch, keys: UInt64Array, taken: npt.NDArray[np.int64]
) -> dict[str, pa.Array]:
    """Return hash, id, file and row of some rows of a batch, as columns of a table."""
    batch = cells.batch
    return {
        HASH: pa.array(keys[taken]),
        ID: cells.ids.take(pa.array(taken)),
        FILE: pa.DictionaryArray.from_arrays(np.zeros(len(taken), dtype=np.int32), [batch.path]),
        ROW: pa.array(batch.first_row + taken),
    }


@dataclasses.dataclass(frozen=True)
class HeldRows:
    """Last row that the reserve holds of each cell, for adding later ones.

    Attributes:
        short: shape (cells,), bool: whether more rows of the cell are wanted.
        last_hash: shape (cells,): hash of the last row held.
        last_id: shape (cells,): its id, which decides between equal hashes.
        rows: shape (cells,): number of rows held.
        count: shape (cells,): number of rows that the pool had when it was prepared.
    """

    short: npt.NDArray[np.bool_]
    last_hash: UInt64Array
    last_id: npt.NDArray[np.object_]
    rows: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]

    def later(
        self, cell: npt.NDArray[np.int64], keys: UInt64Array, ids: pa.Array
    ) -> npt.NDArray[np.bool_]:
        """Return which rows are of a short cell and behind the last row held of it."""
        return self.short[cell] & self._behind(cell, keys, ids)

    def _behind(
        self, cell: npt.NDArray[np.int64], keys: UInt64Array, ids: pa.Array
    ) -> npt.NDArray[np.bool_]:
        """Return which rows are behind the last row held of their cell."""
        behind = keys > self.last_hash[cell]
        for row in np.flatnonzero((self.rows[cell] > 0) & (keys == self.last_hash[cell])):
            behind[row] = ids[int(row)].as_py() > self.last_id[cell[row]]
        return behind

    def recount(self, cells: CellBatch, seed: int) -> npt.NDArray[np.int64]:
        """Count the rows of a batch by cell; counts of batches add up.

        Args:
            cells: the batch.
            seed: of the spec.

        Returns:
            Shape (2, cells): all rows, and those up to the last row held.
        """
        within = (self.rows[cells.cell] > 0) & ~self._behind(
            cells.cell, hash_ids(cells.ids, seed), cells.ids
        )
        most = len(self.rows)
        held = np.bincount(cells.cell[within], minlength=most)
        return np.stack([np.bincount(cells.cell, minlength=most), held])

    def check_recount(self, found: npt.NDArray[np.int64], path: str) -> None:
        """Check that the pool is the one that the rows held are of.

        Args:
            found: sum of `recount` over the pool.
            path: of the pool, for the message.

        Raises:
            InputError: if a cell has other rows than it had.
        """
        known = np.stack([self.count, self.rows])
        differs = np.flatnonzero((found != known).any(axis=0))
        if len(differs):
            cell = int(differs[0])
            why = (
                f"cell {cell} has {found[0, cell]:,} rows and had {known[0, cell]:,}"
                if found[0, cell] != known[0, cell]
                else f"cell {cell} has other ids than it had"
            )
            raise InputError(f"{path}: the pool has changed since it was prepared: {why}")


class ReserveBuilder:
    """Builds the reserve of batches that come one after another.

    A threshold for each cell lets most rows fall before anything of them is copied: what the first
    pass tells (`hash_limits`), then what has been seen.
    """

    def __init__(
        self,
        spec: EvaluationSpec,
        stratification: Stratification,
        capacity: int | None = None,
        held: "HeldRows | None" = None,
    ) -> None:
        """Start with no rows.

        Args:
            spec: names the payload and the seed.
            stratification: whose cells the rows are in.
            capacity: most rows kept of a cell; by default as many as the spec's budget needs.
            held: rows that an earlier reserve holds; only later ones are gathered then.
        """
        self._spec = spec
        self._held = held
        cells = stratification.grid.cells
        capacity = reserve_capacity(spec, cells) if capacity is None else capacity
        least = (
            np.zeros(cells, dtype=np.int64)
            if stratification.min_rows is None
            else stratification.min_rows
        )
        self._threshold = hash_limits(least, capacity)
        self._items: dict[tuple[str, int], WorkItem] = {}
        self._reserve = Reserve.zero(capacity)
        self._pending: list[pa.Table] = []
        self._pending_rows = 0
        self._pending_bytes = 0

    def add(self, cells: CellBatch) -> int:
        """Add a batch and return how many of its rows are kept so far."""
        keys = hash_ids(cells.ids, self._spec.seed)
        wanted = keys <= self._threshold[cells.cell]
        if self._held is not None:
            wanted &= self._held.later(cells.cell, keys, cells.ids)
        taken = np.flatnonzero(wanted)
        if not len(taken):
            return 0
        columns = {CELL: pa.array(cells.cell[taken]), **located_ids(cells, keys, taken)}
        columns |= cells.stored(taken)
        for name, values in cells.slices.items():
            columns[SLICE_PREFIX + name] = values.take(pa.array(taken))
        for name in self._spec.pool.payload:
            if name in cells.batch.rows.schema.names:
                columns[PAYLOAD_PREFIX + name] = cells.batch.payload(name, taken)
        self._pending.append(pa.table(columns))
        self._pending_rows += len(taken)
        self._pending_bytes += self._pending[-1].nbytes
        item = cells.batch.item
        if item is not None:
            self._items[item.origin, item.first_row] = item
        many = self._pending_rows > max(_COMPACT_ABOVE, len(self._reserve) // 2)
        if many or self._pending_bytes > max(_COMPACT_BYTES_ABOVE, self._reserve.nbytes // 2):
            self._compact()
            check_payload(cells.batch.path, self._reserve.payload_bytes, len(self._reserve))
        return len(taken)

    @property
    def items(self) -> tuple[WorkItem, ...]:
        """Work items that the kept rows were read from, and perhaps others."""
        return tuple(self._items.values())

    def _compact(self) -> None:
        tables = self._pending if self._reserve.rows is None else [
            self._reserve.rows, *self._pending
        ]  # fmt: skip
        capacity = self._reserve.capacity
        self._reserve = Reserve.from_rows(capacity, tables)
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0
        assert self._reserve.rows is not None
        full = self._reserve.ranks == capacity - 1
        cell = self._reserve.rows[CELL].to_numpy()[full]
        self._threshold[cell] = self._reserve.rows[HASH].to_numpy()[full]

    def build(self) -> Reserve:
        """Return the reserve of all batches so far."""
        if self._pending:
            self._compact()
        return self._reserve


def sum_reserves(reserves: Iterable[Reserve]) -> Reserve:
    """Add up reserves; rows are sorted when as many have come as are held."""
    held: list[Reserve] = []
    waiting = 0
    for reserve in reserves:
        held.append(reserve)
        waiting += len(reserve)
        if waiting > max(_COMPACT_ABOVE, len(held[0])):
            held, waiting = [_sum_at_once(held)], 0
    return _sum_at_once(held)


def _sum_at_once(reserves: Sequence[Reserve]) -> Reserve:
    tables = [reserve.rows for reserve in reserves if reserve.rows is not None]
    return Reserve.from_rows(reserves[0].capacity, tables)
