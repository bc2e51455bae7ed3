"""Avro files, read by runs of their blocks."""

import contextlib
import dataclasses
import functools
import io
import itertools
import operator
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import fastavro
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.arrow import first_unreadable
from evalsampling.pool.files import StoredFile
from evalsampling.pool.json_text import as_text
from evalsampling.pool.nested import path_of, schema_of, value_in
from evalsampling.pool.splits import Contents, Split, WorkItem
from evalsampling.storage.filesystems import open_file, unreadable

BATCH_ROWS = 1 << 16
"""Most rows of a batch."""

SPLIT_ROWS = 1 << 17
"""Rows of a split, unless its bytes are too many."""

SPLIT_BYTES = 1 << 25
"""Bytes of a split, give or take a block."""

BATCH_BYTES = 1 << 22
"""Bytes of a batch as they are in the file."""

_BUFFER_BYTES = 1 << 21

_MARKER_BYTES = 16

_TYPES: Mapping[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
    "bytes-decimal": pa.string(),
    "fixed-decimal": pa.string(),
    "int-date": pa.date32(),
    "int-time-millis": pa.time32("ms"),
    "long-time-micros": pa.time64("us"),
    "long-timestamp-millis": pa.timestamp("ms", "UTC"),
    "long-timestamp-micros": pa.timestamp("us", "UTC"),
    "long-local-timestamp-millis": pa.timestamp("ms"),
    "long-local-timestamp-micros": pa.timestamp("us"),
}
"""Arrow's types for Avro's; all others become text. Logical types are those fastavro knows."""

_MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""What Arrow raises for a value that is not of a type."""

_NUMBERS = frozenset({pa.int64(), pa.float32(), pa.float64()})


class Avro:
    """Avro records: all columns are decoded whichever are asked for."""

    columnar = False
    untyped = False
    inferred = False

    def inspect(self, file: StoredFile) -> Contents:
        """Read the header of a file and the counts of its blocks."""
        with _open(file.path) as source:
            return Contents(source.schema, tuple(_splits(source)), fields=source.fields)

    def read(self, item: WorkItem, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """Read columns of a split."""
        schema = item.schema_of(columns)
        # Long records come in small batches.
        most = item.rows * BATCH_BYTES // (item.end - item.begin)
        row, end = item.first_row, item.first_row + item.rows
        with _open(item.path) as source:
            source.stream.seek(item.begin)
            while row < end:
                records = source.take(min(max(1, most), BATCH_ROWS, end - row))
                arrays = [_array(item.path, field, records, row) for field in schema]
                yield pa.record_batch(arrays, schema)
                row += len(records)


@dataclasses.dataclass(frozen=True)
class _Source:
    """An open file.

    Attributes:
        path: of the file.
        stream: its bytes.
        reader: decodes records from where the stream stands, at the beginning of a block.
        begin: where the blocks begin, after the marker that ends each of them.
    """

    path: str
    stream: io.BufferedReader
    reader: Any
    begin: int

    @functools.cached_property
    def schema(self) -> pa.Schema:
        """Columns and their types; a file without records has none, which is an error."""
        written = self.reader.writer_schema
        if not isinstance(written, dict) or written["type"] != "record":
            raise InputError(f"{self.path}: its values are no records")
        return pa.schema([(field["name"], _type(field["type"])) for field in written["fields"]])

    @functools.cached_property
    def fields(self) -> pa.Schema:
        """Fields of columns that are records."""
        written = self.reader.writer_schema["fields"]
        return schema_of(
            inner for field in written for inner in _inside((field["name"],), field["type"])
        )

    def take(self, rows: int) -> list[dict[str, Any]]:
        """Decode the next records; if there are fewer, or they are broken, that is an error."""
        with _readable(self.path):
            records = list(itertools.islice(self.reader, rows))
            if len(records) < rows:
                raise EOFError
        return records


@contextlib.contextmanager
def _open(path: str) -> Iterator[_Source]:
    """Open a file and read its header."""
    with open_file(path) as file:
        stream = io.BufferedReader(file, _BUFFER_BYTES)
        with _readable(path):
            reader = fastavro.reader(stream)
        yield _Source(path, stream, reader, stream.tell())


@contextlib.contextmanager
def _readable(path: str) -> Iterator[None]:
    """Turn a decoder's exception about broken bytes into an `InputError`."""
    try:
        yield
    except EOFError as error:
        raise InputError(f"{path}: is cut short") from error
    except Exception as error:
        raise unreadable(path, error) from error


def _splits(source: _Source) -> Iterator[Split]:
    """Return splits made of whole blocks, found by the blocks' counts of rows."""
    stream, begin = source.stream, source.begin
    with _readable(source.path):
        stream.seek(begin - _MARKER_BYTES)
        marker = stream.read(_MARKER_BYTES)
        # The first record is decoded, so that an unknown codec is noticed.
        next(source.reader, None)
        stream.seek(begin)
    end, rows = begin, 0
    while True:
        with _readable(source.path):
            if not stream.peek(1):
                break
            count, size = _read_long(stream), _read_long(stream)
            stream.seek(max(size, 0), io.SEEK_CUR)
            mark = stream.read(_MARKER_BYTES)
            if len(mark) < _MARKER_BYTES:
                raise EOFError
            if mark != marker or count < 0:
                raise ValueError(f"no whole block at byte {end}")
        end = stream.tell()
        rows += count
        if rows >= SPLIT_ROWS or end - begin >= SPLIT_BYTES:
            yield Split(begin, end, rows)
            begin, rows = end, 0
    if rows:
        yield Split(begin, end, rows)


def _read_long(stream: io.BufferedReader) -> int:
    number = fastavro.schemaless_reader(stream, "long", None)
    assert isinstance(number, int)
    return number


def _type(written: Any) -> pa.DataType:
    """Return the Arrow type for an Avro one."""
    if isinstance(written, list):
        types = {_type(kind) for kind in written} - {pa.null()}
        if len(types) == 1:
            return types.pop()
        return pa.null() if not types else pa.float64() if types <= _NUMBERS else pa.string()
    if isinstance(written, dict):
        kind = written["type"]
        return _TYPES.get(f"{kind}-{written.get('logicalType')}") or _type(kind)
    return _TYPES.get(written, pa.string())


def _inside(path: tuple[str, ...], written: Any) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    """Yield the paths and types of the fields of a record, also one that may be null."""
    kinds = written if isinstance(written, list) else [written]
    records = [kind for kind in kinds if isinstance(kind, dict) and kind["type"] == "record"]
    for field in records[0]["fields"] if len(records) == 1 else ():
        inner = (*path, field["name"])
        yield inner, _type(field["type"])
        yield from _inside(inner, field["type"])


def _array(
    path: str, field: pa.Field, records: Sequence[Mapping[str, Any]], first_row: int
) -> pa.Array:
    """Return a column of records."""
    if len(path_of(field)) > 1:
        values = [value_in(record, field) for record in records]
    else:
        values = list(map(operator.itemgetter(field.name), records))
    try:
        return pa.array(values, field.type)
    except _MISFITS as error:
        if pa.types.is_string(field.type):
            return pa.array(map(as_text, values), field.type)
        row = first_unreadable(
            lambda end: pa.array(values[:end], field.type), len(values), _MISFITS
        )
        raise InputError(
            f"{path}: column {field.name!r}, row {first_row + row}: must be {field.type}, "
            f"got {reprlib.repr(values[row])}"
        ) from error
