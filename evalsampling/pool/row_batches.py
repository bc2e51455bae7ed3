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
    """Return a row as a mapping from names of columns to values.

    Args:
        row: a mapping, a named tuple, or a row of Beam.

    Raises:
        InputError: for anything else.
    """
    if isinstance(row, Mapping):
        return row
    named = getattr(row, "as_dict", None) or getattr(row, "_asdict", None)
    if named is None:
        raise InputError(f"a row is a mapping or a named tuple, got {type(row).__name__}")
    return dict(named())


def batches_of(rows: Sequence[Any], columns: Sequence[str], source: str) -> Iterator[PoolBatch]:
    """Yield batches of the given rows, in order.

    Args:
        rows: each a mapping, a named tuple, a row of Beam, or a batch of columns, which stays one.
        columns: those that are needed; others are dropped of single rows.
        source: what the rows are called in messages.

    Raises:
        InputError: naming column and row if a value is missing, or fits no column.
    """
    single: list[Mapping[str, Any]] = []
    for row in rows:
        if isinstance(row, BATCHES):
            yield from _whole(row, source)
        else:
            single.append(mapping_of(row))
    if single:
        yield PoolBatch(_record_batch(single, columns, source), source)


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
    arrays = {}
    for name in columns:
        for place, row in enumerate(rows):
            if not _has(row, name):
                raise InputError(
                    f"{source}: column {name!r} is missing in row {place}; there are: "
                    f"{', '.join(map(str, row)) or 'none'}"
                )
        arrays[name] = _column([_value(row, name) for row in rows], f"{source}: column {name!r}")
    return pa.record_batch(arrays)


def _has(row: Mapping[str, Any], name: str) -> bool:
    """Tell whether a row has a value of a name, or an object of which that may be a field."""
    return name in row or ("." in name and name.partition(".")[0] in row)


def _value(row: Mapping[str, Any], name: str) -> Any:
    """Return a value of a row, or of an object in it by a name with dots; null if it has none."""
    if name in row or "." not in name:
        return row[name]
    return value_in(row, path_field(name.split("."), pa.null()))


def _column(values: Sequence[Any], name: str) -> pa.Array:
    errors = pa.ArrowException, OverflowError
    try:
        return pa.array(values)
    except errors as error:
        row = first_unreadable(lambda end: pa.array(values[:end]), len(values), errors)
        raise InputError(f"{name}, row {row}: {one_line(error)}") from error
