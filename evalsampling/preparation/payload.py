"""Payload columns of the reserve, read only from the splits that hold its rows."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.splits import WorkItem
from evalsampling.pool.stored_columns import FILE, PAYLOAD_PREFIX, ROW
from evalsampling.preparation.reserve import Reserve


def with_payload(reserve: Reserve, items: Iterable[WorkItem], payload: Sequence[str]) -> Reserve:
    """Return a reserve with all payload columns, reading those that it lacks.

    Args:
        reserve: rows of the items.
        items: all that the rows were read from. Those that hold none of the rows are not read.
        payload: names of the pool's columns.

    Raises:
        InputError: if a file cannot be read.
    """
    rows = reserve.rows
    if rows is None:
        return reserve
    missing = [name for name in payload if PAYLOAD_PREFIX + name not in rows.column_names]
    if not missing:
        return reserve
    ordered = sorted(items, key=lambda item: (item.origin, item.first_row))
    place = _item_of_row(rows, ordered)
    within = rows[ROW].to_numpy() - np.array([item.first_row for item in ordered])[place]
    order = np.lexsort((within, place))
    bounds = np.searchsorted(place[order], np.arange(len(ordered) + 1))
    parts = []
    for number, item in enumerate(ordered):
        wanted = within[order[bounds[number] : bounds[number + 1]]]
        if len(wanted):
            parts.append(_take(item, missing, wanted))
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    found = pa.concat_tables(parts).take(back)
    for name in missing:
        rows = rows.append_column(PAYLOAD_PREFIX + name, found[name])
    return Reserve(reserve.capacity, rows.combine_chunks())


def _item_of_row(rows: pa.Table, ordered: Sequence[WorkItem]) -> npt.NDArray[np.int64]:
    """Return the place of the item that holds each row, shape (rows,)."""
    paths = sorted({item.origin for item in ordered})
    number = {path: place for place, path in enumerate(paths)}
    file = pc.index_in(rows[FILE].cast(pa.string()), value_set=pa.array(paths)).to_numpy()
    # Rows of a file and the file's number in one key: whatever is behind a start is in its item.
    stride = 1 + max(item.first_row + item.rows for item in ordered)
    starts = np.array([number[item.origin] * stride + item.first_row for item in ordered])
    key = file.astype(np.int64) * stride + rows[ROW].to_numpy()
    return np.searchsorted(starts, key, side="right") - 1


def _take(item: WorkItem, columns: Sequence[str], wanted: npt.NDArray[np.int64]) -> pa.Table:
    """Read some columns of some rows of an item, given by their places in it, ascending."""
    parts, done = [], 0
    for batch in read_batches(item, columns):
        here = wanted[np.searchsorted(wanted, done) :] - done
        done += len(batch.rows)
        here = here[here < len(batch.rows)]
        if len(here):
            parts.append(pa.table({name: batch.payload(name, here) for name in columns}))
        if done > wanted[-1]:
            break
    return pa.concat_tables(parts)
