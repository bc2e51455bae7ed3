"""Rows from anywhere, one by one, as batches of columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.arrow import first_unreadable
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.nested import path_field, value_in
from evalsampling.storage.filesystems import one_line

BATCHES = (PoolBatch, pa.RecordBatch, pa.Table)
"""Types of rows that are batches already."""


def mapping_of(row: Any) -> Mapping[str, Any]:
    """Return a row as a mapping from names of columns to values."""
    if isinstance(row, Mapping):
        return row
    named = getattr(row, "as_dict", None) or getattr(row, "_asdict", None)
    if named is None:
        raise InputError(f"a row is a mapping or a named tuple, got {type(row).__name__}")
    return dict(named())


def batches_of(rows: Sequence[Any], columns: Sequence[str], source: str) -> Iterator[PoolBatch]:
    """Yield batches of the given rows, in order."""
    single: list[Mapping[str, Any]] = []
    for row in rows:
        if isinstance(row, BATCHES):
            yield from _whole(row, source)
        else:
            single.append(mapping_of(row))
    if single:
        yield PoolBatch(_record_batch(single, columns, source), source)


def halves(rows: Sequence[Any]) -> list[Sequence[Any]]:
    """Return rows, given one by one or in batches, in two parts; none if there is only one row."""
    if len(rows) > 1:
        return [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    row, middle = rows[0], len(rows[0]) // 2 if isinstance(rows[0], BATCHES) else 0
    if not middle:
        return []
    if isinstance(row, PoolBatch):
        row = row.rows
    return [[row.slice(0, middle)], [row.slice(middle)]]


def _whole(batch: Any, source: str) -> Iterator[PoolBatch]:
    if isinstance(batch, PoolBatch):
        yield batch
    elif isinstance(batch, pa.RecordBatch):
        yield PoolBatch(batch, source)
    else:
        for part in batch.combine_chunks().to_batches():
            yield PoolBatch(part, source)


def _record_batch(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], source: str
) -> pa.RecordBatch:
    arrays, of = {}, f"{source}: " if source else ""
    for name in columns:
        field, head = path_field(name.split("."), pa.null()), name.partition(".")[0]
        for place, row in enumerate(rows):
            if name not in row and head not in row:
                raise InputError(
                    f"{of}column {name!r} is missing in row {place}; there are: "
                    f"{', '.join(map(str, row)) or 'none'}"
                )
        arrays[name] = _column([value_in(row, field) for row in rows], f"{of}column {name!r}")
    return pa.record_batch(arrays)


def _column(values: Sequence[Any], name: str) -> pa.Array:
    errors = pa.ArrowException, OverflowError
    try:
        return pa.array(values)
    except errors as error:
        row = first_unreadable(lambda end: pa.array(values[:end]), len(values), errors)
        raise InputError(f"{name}, row {row}: {one_line(error)}") from error
