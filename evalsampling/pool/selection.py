"""The rows of a pool among those that were read of a file."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.arrow import is_text, plain, plain_type
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.splits import PLACE, WorkItem
from evalsampling.storage.filesystems import readable


def read_beside(item: WorkItem) -> list[str]:
    """Return the columns that tell which rows are of the pool, and that are right."""
    names = [] if item.where is None else list(item.where.types)
    return [*names, PLACE] if item.has_places else names


def rows_of_pool(batch: PoolBatch, columns: Sequence[str] | None) -> PoolBatch:
    """Return the rows of the pool among those of a batch, with some columns of the pool or all."""
    item = batch.item
    assert item is not None
    if item.layout is not None:
        with readable(item.origin):  # A value may have no place in the wider type of the table.
            rows = item.layout.applied(batch.rows, columns)
        batch = dataclasses.replace(batch, rows=rows)
        if item.layout.expected is not None:
            _check_expected(batch, item.layout.expected)
    batch = dataclasses.replace(batch, rows=_of_one_type(batch.rows, item.schema))
    if item.has_places:
        places = batch.rows[PLACE].to_numpy()
        batch = dataclasses.replace(batch, rows=batch.rows.drop_columns([PLACE]), kept=places)
    return batch if item.where is None else item.where.kept(batch)


def _of_one_type(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows whose text has the type that it has in all files of the pool."""
    texts = [field for field in schema if is_text(field.type) and field.name in rows.schema.names]
    for field in texts:
        place = rows.schema.get_field_index(field.name)
        own = rows.schema.field(place).type
        if plain_type(own) not in (field.type, pa.null()) and is_text(plain_type(own)):
            rows = rows.set_column(place, field, plain(rows.column(place)).cast(field.type))
    return rows


def _check_expected(batch: PoolBatch, expected: pa.RecordBatch) -> None:
    """Check the columns that are in the path of the file too."""
    for name in expected.schema.names:
        if name not in batch.rows.schema.names:
            continue
        value, column = expected[name][0], batch.any_column(name)
        wrong = ~np.asarray(_is(column, value).to_numpy(zero_copy_only=False))
        if wrong.any():
            row = int(np.argmax(wrong))
            shown, path = column[row].as_py(), value.as_py()
            raise batch.error(name, row, f"has {shown!r}, but the path of the file {path!r}")


def _is(column: pa.Array, value: pa.Scalar) -> pa.Array:
    """Return which values of a column are that of a path: a whole number, text or null."""
    if not value.is_valid:
        return pc.is_null(column)
    kind = pa.int64() if pa.types.is_integer(value.type) else pa.string()
    try:
        return pc.fill_null(pc.equal(column.cast(kind), value.cast(kind)), False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # A text that is no number, say.
        return pc.is_null(pa.repeat(value, len(column)))
