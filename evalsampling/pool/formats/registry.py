"""The formats a pool may have, known by the ends of file names."""

import dataclasses
import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError
from evalsampling.pool.arrow import is_text, nested_fields, plain, plain_type
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.conditions import outline
from evalsampling.pool.files import TEXT, error_of_reading
from evalsampling.pool.formats.avro import Avro
from evalsampling.pool.formats.csv import Csv
from evalsampling.pool.formats.jsonl import JsonLines
from evalsampling.pool.formats.logs import LinesOrLog, Logs
from evalsampling.pool.formats.parquet import Parquet
from evalsampling.pool.formats.text import COMPRESSIONS
from evalsampling.pool.layout import Layout, PlannedFile
from evalsampling.pool.splits import PLACE, Contents, Format, WorkItem
from evalsampling.spec.where import Condition
from evalsampling.storage.filesystems import readable

PARQUET = Parquet()
"""Format of files whose names end in no known suffix."""

_JSON_LINES, _LOGS = JsonLines(), Logs()

_BY_SUFFIX: Mapping[str, Format | Parquet] = {
    ".csv": Csv(","), ".tsv": Csv("\t"), ".jsonl": _JSON_LINES, ".ndjson": _JSON_LINES,
    ".avro": Avro(), ".json": LinesOrLog(), ".eval": _LOGS,
}  # fmt: skip

_WORKBOOKS = (".xlsx", ".xls", ".ods")


def format_of(path: str) -> Format | Parquet:
    """Return the format of a file by the end of its name; text may be compressed."""
    name = path.lower()
    for compression in COMPRESSIONS:
        bare = name.removesuffix(compression)
        if bare != name and bare.endswith(TEXT):
            name = bare
    if name.endswith(_WORKBOOKS):
        raise InputError(f"{path}: a workbook is no pool: save the sheet as CSV, in UTF-8")
    return next((own for suffix, own in _BY_SUFFIX.items() if name.endswith(suffix)), PARQUET)


def kind_of(file: PlannedFile) -> Format | Parquet:
    """Return the format of a file of a pool."""
    return file.kind or format_of(file.stored.path)


def inspect(file: PlannedFile) -> tuple[Contents, Layout]:
    """Return the columns of the pool that a file has, of Parquet with splits, and its layout."""
    kind = kind_of(file)
    if isinstance(kind, Parquet):
        look = None if file.where is None else functools.partial(_outline, file, file.where)
        try:
            contents = kind.inspect(file.stored, look)
        except InputError as error:
            if "magic bytes" not in str(error) or file.stored.path.endswith(".parquet"):
                raise
            ends = ", ".join(_BY_SUFFIX)
            raise InputError(f"{error} Files of other formats end in {ends}") from error
    else:
        contents = kind.inspect(file.stored)
    layout = Layout.of(file, contents.schema)
    schema = layout.schema(contents.schema)
    fields = contents.fields if file.columns is None else nested_fields(schema)
    return dataclasses.replace(contents, schema=schema, fields=fields), layout


def _outline(file: PlannedFile, where: Condition, schema: pa.Schema, exact: Collection[str]) -> Any:
    """Return an expression that holds of every row of a file that satisfies a condition."""
    known = pa.schema([field for field in schema if field.name in exact])
    return outline(where, Layout.of(file, schema).expressions(known))


def stored_bytes(item: WorkItem, columns: Sequence[str]) -> int:
    """Return how many bytes columns of a split have; in memory equal values may be more."""
    return PARQUET.stored_bytes(item, item.layout.stored(columns) or ())


def read_batches(item: WorkItem, columns: Sequence[str] | None) -> Iterator[PoolBatch]:
    """Yield the rows of a work item in batches; without rows, one empty batch."""
    # The columns of the condition, and places, are read beside those that are wanted.
    beside = [*(() if item.where is None else item.where.types), *[PLACE] * item.has_places]
    wanted = columns if columns is None else list(dict.fromkeys([*columns, *beside]))
    first_row, batches = item.first_row, PARQUET.read(item, item.layout.stored(wanted))
    last_row, some = item.first_row + item.rows, False
    while True:
        try:
            rows = next(batches, None)
        except InputError as error:
            raise error_of_reading(item.stored, error) from error
        if rows is None:
            break
        batch = rows_of_pool(PoolBatch(rows, item.origin, first_row, item), wanted)
        first_row += len(rows)
        if len(batch) or (first_row == last_row and not some):
            yield batch
        some = some or bool(len(batch))


def rows_of_pool(batch: PoolBatch, columns: Sequence[str] | None) -> PoolBatch:
    """Return the rows of a batch that satisfy the condition, with the columns of the pool."""
    item = batch.item
    assert item is not None
    with readable(item.origin):  # A value may have no place in the wider type of the table.
        rows = item.layout.applied(batch.rows, columns)
    batch = dataclasses.replace(batch, rows=_of_one_type(rows, item.schema))
    _check_expected(batch, item.layout.expected)
    if item.has_places:
        places = batch.rows[PLACE].to_numpy()
        batch = dataclasses.replace(batch, rows=batch.rows.drop_columns([PLACE]), kept=places)
    return batch if item.where is None else item.where.kept(batch)


def _of_one_type(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows whose text has the type that it has in all files of the pool."""
    for field in schema:
        place = rows.schema.get_field_index(field.name)
        own = pa.null() if place < 0 else plain_type(rows.schema.field(place).type)
        if own != field.type and is_text(own) and is_text(field.type):
            rows = rows.set_column(place, field, plain(rows.column(place)).cast(field.type))
    return rows


def _check_expected(batch: PoolBatch, expected: Mapping[str, pa.Scalar]) -> None:
    """Check the columns that are in the path of the file, or in its table, too."""
    for name, value in expected.items():
        if name not in batch.rows.schema.names:
            continue
        column = batch.any_column(name)
        wrong = ~np.asarray(_is(column, value).to_numpy(zero_copy_only=False))
        if wrong.any():
            row = int(np.argmax(wrong))
            shown, wanted = column[row].as_py(), value.as_py()
            source = "the path of the file" if "=" in batch.path else "the table of the file"
            raise batch.error(name, row, f"has {shown!r}, but {source} {wanted!r}")


def _is(column: pa.Array, value: pa.Scalar) -> pa.Array:
    """Return whether each value equals the path's: a whole number, text or null."""
    if not value.is_valid:
        return pc.is_null(column)
    kind = pa.int64() if pa.types.is_integer(value.type) else pa.string()
    try:
        return pc.fill_null(pc.equal(column.cast(kind), value.cast(kind)), False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # A text that is no number, say.
        return pc.is_null(pa.repeat(value, len(column)))
