"""The cells whose reserve may not last for another round."""

import dataclasses

import numpy as np
import pyarrow as pa

from evalsampling.pool.stored_columns import CELL, HASH, ID, RANK
from evalsampling.preparation.held_rows import HeldRows
from evalsampling.workspace.snapshot import Snapshot


def short_cells(snapshot: Snapshot, wanted: int | None) -> HeldRows:
    """Return where the reserve ends, and of which cells it may not last for another round."""
    prepared = snapshot.pool
    table, cells = prepared.table, prepared.stratification.grid.cells
    held = _ends(prepared.reserve.places(), cells)
    count, drawn = np.zeros((2, cells), dtype=np.int64)
    count[table.code] = table.count
    drawn[table.code] = snapshot.history.drawn_by_cell(len(table))
    wanted = wanted or snapshot.next_round_size
    short = (held.rows < count) & (held.rows - drawn < wanted)
    return dataclasses.replace(held, short=short, count=count)


def _ends(places: pa.Table, cells: int) -> HeldRows:
    """Return where the reserve of each cell ends, no cell being short."""
    cell = places[CELL].to_numpy()
    last = np.flatnonzero(np.diff(cell, append=cells))
    ends = places.take(pa.array(last))
    rows, last_hash = np.zeros(cells, dtype=np.int64), np.zeros(cells, dtype=np.uint64)
    last_id = np.full(cells, None, dtype=object)
    rows[cell[last]] = ends[RANK].to_numpy() + 1
    last_hash[cell[last]] = ends[HASH].to_numpy()
    last_id[cell[last]] = ends[ID].to_pylist()
    none = np.zeros(cells, dtype=np.int64)
    return HeldRows(none.astype(np.bool_), last_hash, last_id, rows, count=none)
