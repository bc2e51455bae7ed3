"""Raising the budget of a workspace, and the cells whose reserve may not last then."""

import dataclasses
import time
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.stored_columns import CELL, HASH, ID, RANK
from evalsampling.preparation.held_rows import HeldRows
from evalsampling.workspace.manifest import HERE
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import BUDGETS, Workspace


@dataclasses.dataclass(frozen=True)
class Raised:
    """The budget now and before, as a spec says it; cells whose reserve may soon end."""

    budget: Any
    before: Any
    short: int


def raise_budget(workspace: Workspace, amount: float, labels: int | None = None) -> Raised:
    """Raise the budget; the same again changes nothing. Waits for other commands."""
    started = time.time()
    with workspace.in_use():
        pool = PreparedPool.read(workspace)
        before = pool.spec.budget
        wanted = before.raised(amount, labels)
        if not wanted.allows(before):
            raise InputError(
                f"{workspace.path}: the budget is {before.words}, and can only be raised, not set "
                f"to {wanted.words}"
            )
        change = {"budget": wanted.to_mapping(), "before": before.to_mapping()}
        if wanted != before:
            number = workspace.next_number(BUDGETS)
            manifest = HERE.manifest(
                f"budget-{number:04d}",
                pool.spec,
                pool.marker["pool"],
                started=started,
                options={"amount": amount, "labels": labels},
                counts={"budget": round(amount)},
            )
            workspace.add_budget(number, change, manifest)
        snapshot = Snapshot.read(PreparedPool.read(workspace))
        short = int(short_cells(snapshot, None).short.sum())
    return Raised(**change, short=short)


def short_cells(snapshot: Snapshot, wanted: int | None) -> HeldRows:
    """Return where the reserve of each cell ends, and which may not last for another round."""
    prepared = snapshot.pool
    table, cells = prepared.table, prepared.stratification.grid.cells
    places = prepared.reserve.places()
    last = np.flatnonzero(np.diff(places[CELL].to_numpy(), append=cells))
    ends = places.take(pa.array(last))
    cell = ends[CELL].to_numpy()
    rows, count, drawn = np.zeros((3, cells), dtype=np.int64)
    last_hash, last_id = np.zeros(cells, dtype=np.uint64), np.full(cells, None, dtype=object)
    rows[cell] = ends[RANK].to_numpy() + 1
    last_hash[cell] = ends[HASH].to_numpy()
    last_id[cell] = ends[ID].to_pylist()
    count[table.code] = table.count
    drawn[table.code] = snapshot.history.drawn_by_cell(len(table))
    short = (rows < count) & (rows - drawn < (wanted or snapshot.next_round_size))
    return HeldRows(short, last_hash, last_id, rows, count=count)
