"""The reserve: the first rows of each cell in the permanent random order of the pool.

The order is that of the keyed 64-bit hash of the id, compared as an integer (ties of two
different ids, which a pool of a billion rows may have, fall back on the id). It answers every
round of up to ``capacity`` rows a cell without the pool.
"""

import dataclasses
import io

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool import CellBatch, hash_ids
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.hashing import UInt64Array

CELL, HASH, ID, FILE, ROW = "cell", "hash", "id", "file", "row"
PAYLOAD_PREFIX = "payload."
"""Payload columns keep their name behind this, so that none can be taken for another."""

_TOTAL_ROWS = 2_000_000
_FEWEST_ROWS = 50
_COMPACT_ABOVE = 1 << 18
"""Rows gathered before the surplus of each cell is dropped."""


def reserve_capacity(spec: EvaluationSpec, cells: int) -> int:
    """Return B, the rows kept of each cell: min(budget, max(50, 2,000,000 / cells))."""
    return min(spec.budget, max(_FEWEST_ROWS, _TOTAL_ROWS // cells))


@dataclasses.dataclass(frozen=True)
class Reserve:
    """The ``capacity`` rows of least hash of each cell: a mergeable state.

    Attributes:
        capacity: most rows kept of a cell.
        rows: columns cell, hash, id, file, row and the payload, ordered by cell and hash;
            None for no rows.
    """

    capacity: int
    rows: pa.Table | None = None

    @classmethod
    def zero(cls, capacity: int) -> "Reserve":
        """Return the reserve of no rows."""
        return cls(capacity)

    def __add__(self, other: "Reserve") -> "Reserve":
        """Return the reserve of both pools together.

        Raises:
            InputError: if an id is in both.
        """
        if self.capacity != other.capacity:
            raise ValueError(f"reserves of {self.capacity} and {other.capacity} do not add up")
        if other.rows is None:
            return self
        if self.rows is None:
            return other
        return Reserve.of(self.capacity, [self.rows, other.rows])

    @classmethod
    def of(cls, capacity: int, tables: list[pa.Table]) -> "Reserve":
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
    def ranks(self) -> npt.NDArray[np.int64]:
        """Place of each row in its cell, from 0, shape (rows,)."""
        if self.rows is None:
            return np.zeros(0, dtype=np.int64)
        cell = self.rows[CELL].to_numpy()
        return np.arange(len(cell)) - np.searchsorted(cell, cell, side="left")

    def to_bytes(self) -> bytes:
        """Serialise without loss."""
        sink = io.BytesIO()
        sink.write(self.capacity.to_bytes(8, "little"))
        if self.rows is not None:
            with pa.ipc.new_stream(sink, self.rows.schema) as stream:
                stream.write_table(self.rows)
        return sink.getvalue()

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


def _sorted(
    table: pa.Table, cell: npt.NDArray[np.int64], key: UInt64Array
) -> npt.NDArray[np.int64]:
    """Order rows by cell, hash, id; two rows with one id are an error."""
    order = np.lexsort((key, cell))
    same = (cell[order[1:]] == cell[order[:-1]]) & (key[order[1:]] == key[order[:-1]])
    for place in np.flatnonzero(same):
        pair = order[place : place + 2]
        here, there = (table[ID][int(i)].as_py() for i in pair)
        if here == there:
            raise duplicate_id(table.take(pair))
        if here > there:
            order[place : place + 2] = pair[::-1]
    return order


def duplicate_id(pair: pa.Table) -> InputError:
    """Return the error of two rows with one id, given as a table of two."""
    first, second = sorted((row[FILE], row[ROW]) for row in pair.select([FILE, ROW]).to_pylist())
    value = pair[ID][0].as_py()
    where = "the same file" if first[0] == second[0] else first[0]
    return InputError(
        f"{second[0]}: column 'id', row {second[1]}: duplicate id {value!r}, "
        f"also row {first[1]} of {where}".removeprefix(": ")
    )


class ReserveBuilder:
    """Gathers the reserve of a stream of batches.

    A running threshold for each cell lets most rows fall before anything of them is copied.
    """

    def __init__(self, spec: EvaluationSpec, cells: int, capacity: int) -> None:
        """Start with no rows.

        Args:
            spec: names the payload and the seed.
            cells: number of cell codes there are.
            capacity: most rows kept of a cell.
        """
        self._spec = spec
        self._threshold = np.full(cells, np.iinfo(np.uint64).max, dtype=np.uint64)
        self._reserve = Reserve.zero(capacity)
        self._pending: list[pa.Table] = []
        self._pending_rows = 0

    def add(self, cells: CellBatch) -> None:
        """Take in a batch."""
        keys = hash_ids(cells.ids, self._spec.seed)
        taken = np.flatnonzero(keys <= self._threshold[cells.cell])
        if not len(taken):
            return
        batch = cells.batch
        columns = {
            CELL: pa.array(cells.cell[taken]),
            HASH: pa.array(keys[taken]),
            ID: cells.ids.take(taken),
            FILE: pa.DictionaryArray.from_arrays(
                np.zeros(len(taken), dtype=np.int32), [batch.path]
            ),
            ROW: pa.array(batch.first_row + taken),
        }
        for name in self._spec.pool.payload:
            column = batch.rows.column(name).take(taken)
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            columns[PAYLOAD_PREFIX + name] = column
        self._pending.append(pa.table(columns))
        self._pending_rows += len(taken)
        if self._pending_rows > max(_COMPACT_ABOVE, len(self._reserve) // 2):
            self._compact()

    def _compact(self) -> None:
        tables = self._pending if self._reserve.rows is None else [
            self._reserve.rows, *self._pending
        ]  # fmt: skip
        capacity = self._reserve.capacity
        self._reserve = Reserve.of(capacity, tables)
        self._pending, self._pending_rows = [], 0
        assert self._reserve.rows is not None
        full = self._reserve.ranks == capacity - 1
        cell = self._reserve.rows[CELL].to_numpy()[full]
        self._threshold[cell] = self._reserve.rows[HASH].to_numpy()[full]

    def build(self) -> Reserve:
        """Return the reserve of all batches so far."""
        if self._pending:
            self._compact()
        return self._reserve
