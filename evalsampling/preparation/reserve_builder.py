"""Building a reserve of batches that come one after another."""

import math

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.splits import WorkItem
from evalsampling.pool.stored_columns import CELL, FILE, HASH, ID, PAYLOAD_PREFIX, ROW, SLICE_PREFIX
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.held_rows import HeldRows
from evalsampling.preparation.reserve import COMPACT_ABOVE, Reserve, check_payload
from evalsampling.preparation.stratification import Stratification
from evalsampling.stats.arrays import BoolArray, IntArray, UInt64Array

_ROWS_AT_A_TIME = 1 << 15
"""Rows compared at a time with the thresholds of their cells: these stay in the cache."""

_TOTAL_ROWS = 2_000_000
_FEWEST_ROWS = 50

_COMPACT_BYTES_ABOVE = 1 << 26
"""Bytes of rows with payload gathered before the surplus of each cell is dropped."""


MOST_LABELS = 1 << 20
"""Most rows with a label that a worker meets: all of them are kept."""


def reserve_capacity(most_drawn: int, cells: int) -> int:
    """Return B, the rows kept of each cell: min(most drawn, max(50, 2,000,000 / cells))."""
    return min(most_drawn, max(_FEWEST_ROWS, _TOTAL_ROWS // cells))


def hash_limits(min_rows: IntArray, capacity: int) -> UInt64Array:
    """Return hashes above which no row of a cell can be among its first ``capacity``: (cells,).

    Hashes are uniform. Of the n rows of a cell a share p = (B + 10 sqrt(B) + 100) / n is let
    pass, so fewer than B = ``capacity`` pass with a probability below exp(-50), by Chernoff's
    bound; `check_complete` would find it out.
    """
    passing = capacity + 10 * math.sqrt(capacity) + 100
    share = passing / np.maximum(min_rows, 1)
    limits = np.full(len(share), np.iinfo(np.uint64).max, dtype=np.uint64)
    limits[share < 1] = (share[share < 1] * 2.0**64).astype(np.uint64)
    return limits


class ReserveBuilder:
    """Builds the reserve of batches that come one after another.

    A threshold for each cell lets most rows fall before anything of them is copied: what the first
    pass tells (`hash_limits`), then what has been seen.
    """

    def __init__(
        self,
        stratification: Stratification,
        capacity: int | None = None,
        held: HeldRows | None = None,
    ) -> None:
        """Start with no rows."""
        self._held = held
        plan, cells = stratification.plan, stratification.grid.cells
        self._payload = plan.pool.payload
        capacity = reserve_capacity(plan.most_drawn, cells) if capacity is None else capacity
        # Keys of rows that follow each other by clusters are not uniform, so none falls beforehand.
        least = None if plan.by_cluster else stratification.min_rows
        self._threshold = hash_limits(np.zeros(cells, int) if least is None else least, capacity)
        self._items: dict[tuple[str, int], WorkItem] = {}
        self._reserve = Reserve(capacity)
        self._pending: list[pa.Table] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self._labelled = 0

    def add(self, cells: CellBatch) -> int:
        """Add a batch and return how many of its rows are kept so far."""
        keys, has_label = cells.keys, cells.has_label
        wanted = self._may_be_first(cells.cell, keys)
        if has_label is not None:
            wanted |= has_label
            self._labelled += int(has_label.sum())
            if self._labelled > MOST_LABELS:
                raise InputError(
                    f"labels.column: more than {MOST_LABELS:,} rows have a label; blank the labels "
                    "of others, drawn at random"
                )
        if self._held is not None:
            wanted &= self._held.later(cells, keys)
        taken = np.flatnonzero(wanted)
        if not len(taken):
            return 0
        batch, places = cells.batch, pa.array(taken)
        columns = {
            CELL: pa.array(cells.cell[taken]),
            HASH: pa.array(keys[taken]),
            ID: cells.ids.take(places),
            FILE: pa.DictionaryArray.from_arrays(np.zeros(len(taken), np.int32), [batch.path]),
            ROW: pa.array(batch.row_numbers(taken)),
            **cells.stored(taken),
        }
        for name, values in cells.slices.items():
            columns[SLICE_PREFIX + name] = values.take(places)
        for name in self._payload:
            if batch.has(name):
                columns[PAYLOAD_PREFIX + name] = batch.payload(name, taken)
        self._pending.append(pa.table(columns))
        self._pending_rows += len(taken)
        self._pending_bytes += self._pending[-1].nbytes
        if batch.item is not None:
            self._items[batch.item.origin, batch.item.first_row] = batch.item
        many = self._pending_rows > max(COMPACT_ABOVE, len(self._reserve) // 2)
        if many or self._pending_bytes > max(_COMPACT_BYTES_ABOVE, self._reserve.nbytes // 2):
            self._compact()
            check_payload(batch.path, self._reserve.payload_bytes, len(self._reserve))
        return len(taken)

    def _may_be_first(self, cell: IntArray, keys: UInt64Array) -> BoolArray:
        """Tell which rows are at or below the threshold of their cell, shape (n,)."""
        wanted = np.empty(len(keys), dtype=bool)
        for begin in range(0, len(keys), _ROWS_AT_A_TIME):
            part = slice(begin, begin + _ROWS_AT_A_TIME)
            np.less_equal(keys[part], self._threshold.take(cell[part]), out=wanted[part])
        return wanted

    def _compact(self) -> None:
        tables = self._pending if self._reserve.rows is None else [
            self._reserve.rows, *self._pending
        ]  # fmt: skip
        capacity = self._reserve.capacity
        self._reserve = Reserve.from_rows(capacity, tables)
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0
        assert self._reserve.rows is not None
        full = self._reserve.ranks_without_label == capacity - 1
        cell = self._reserve.rows[CELL].to_numpy()[full]
        self._threshold[cell] = self._reserve.rows[HASH].to_numpy()[full]

    def build(self) -> Reserve:
        """Return the reserve of all batches so far."""
        if self._pending:
            self._compact()
        return self._reserve

    def finish(self) -> tuple[Reserve, tuple[WorkItem, ...]]:
        """Return the reserve, and work items that its rows were read from, perhaps with others."""
        reserve = self.build()
        pa.default_memory_pool().release_unused()
        return reserve, tuple(self._items.values())
