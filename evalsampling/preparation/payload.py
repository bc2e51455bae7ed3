"""Payload columns of the reserve, read only from the splits that hold its rows."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.formats.registry import read_batches, stored_bytes
from evalsampling.pool.splits import WorkItem
from evalsampling.pool.stored_columns import FILE, PAYLOAD_PREFIX, ROW
from evalsampling.preparation.reserve import Reserve, check_payload
from evalsampling.stats.arrays import IntArray

CHUNK_BYTES = 1 << 26
"""Of payload that is held while more is read."""


def with_payload(
    reserve: Reserve, items: Iterable[WorkItem], payload: Sequence[str]
) -> Iterator[Reserve]:
    """Yield the rows of a reserve, in parts of bounded size, with the payload that they lack."""
    rows = reserve.rows
    names = [] if rows is None else rows.column_names
    missing = [name for name in payload if PAYLOAD_PREFIX + name not in names]
    if rows is None or not missing:
        yield reserve
        return
    ordered = sorted(items, key=lambda item: (item.origin, item.first_row))
    place = _item_of_row(rows, ordered)
    number = rows[ROW].to_numpy()
    order = np.argsort(place * (1 + number.max()) + number)
    bounds = np.searchsorted(place[order], np.arange(len(ordered) + 1))
    first = ordered[place[order[0]]]
    stored = stored_bytes(first, missing) / first.rows
    check_payload(first.origin, stored * len(order), len(order))
    parts: list[pa.Table] = []
    begin, end, held, total = 0, 0, 0, 0
    for item, own in zip(ordered, itertools.pairwise(bounds), strict=True):
        wanted = number[order[slice(*own)]]
        for part in _take(item, missing, wanted) if len(wanted) else ():
            parts.append(part)
            end += len(part)
            held += part.nbytes
            total += part.nbytes
            if held >= CHUNK_BYTES:
                check_payload(item.origin, total / end * len(order), len(order))
                yield _joined(reserve, order[begin:end], parts)
                begin, held, parts = end, 0, []
    if parts:
        yield _joined(reserve, order[begin:end], parts)


def _joined(reserve: Reserve, places: IntArray, parts: list[pa.Table]) -> Reserve:
    """Return some rows of a reserve, in its order, with their payload."""
    assert reserve.rows is not None
    order = np.argsort(places)
    rows = reserve.rows.take(pa.array(places[order]))
    payload = pa.concat_tables(parts).take(pa.array(order))
    for name in payload.column_names:
        rows = rows.append_column(PAYLOAD_PREFIX + name, payload[name])
    return Reserve(reserve.capacity, rows.combine_chunks())


def _item_of_row(rows: pa.Table, ordered: Sequence[WorkItem]) -> IntArray:
    """Return the place of the item that holds each row, shape (rows,)."""
    paths = sorted({item.origin for item in ordered})
    number = {path: place for place, path in enumerate(paths)}
    file = pc.index_in(rows[FILE].cast(pa.string()), value_set=pa.array(paths)).to_numpy()
    # Rows of a file and the file's number in one key: whatever is behind a start is in its item.
    stride = 1 + max(item.first_row + item.rows for item in ordered)
    starts = np.array([number[item.origin] * stride + item.first_row for item in ordered])
    key = file.astype(np.int64) * stride + rows[ROW].to_numpy()
    return np.searchsorted(starts, key, side="right") - 1


def _take(item: WorkItem, columns: Sequence[str], wanted: IntArray) -> Iterator[pa.Table]:
    """Read some columns of some rows of an item, given by their numbers in the file, ascending."""
    for batch in read_batches(dataclasses.replace(item, where=None), columns):
        first, last = batch.row_numbers(np.array([0, len(batch) - 1]))
        begin, end = np.searchsorted(wanted, [first, last + 1])
        if begin < end:
            rows = batch.rows_numbered(wanted[begin:end])
            yield pa.table({name: batch.payload(name, rows) for name in columns})
        if end == len(wanted):
            break
