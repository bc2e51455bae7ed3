"""Avro files, read block by block."""

import io
import itertools
import operator
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import fastavro
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.arrow import first_unreadable, path_of, schema_of, value_in
from evalsampling.pool.files import StoredFile, decodable
from evalsampling.pool.rendering import as_text
from evalsampling.pool.splits import Contents, Format
from evalsampling.storage.filesystems import open_file

BATCH_ROWS = 1 << 16
"""Most rows of a batch."""

_BUFFER_BYTES = 1 << 21

_MARKER_BYTES = 16

_TYPES: Mapping[str, pa.DataType] = {
    "null": pa.null(), "boolean": pa.bool_(), "int": pa.int64(), "long": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "bytes": pa.binary(), "fixed": pa.binary(),
    "bytes-decimal": pa.string(), "fixed-decimal": pa.string(), "int-date": pa.date32(),
    "int-time-millis": pa.time32("ms"), "long-time-micros": pa.time64("us"),
    "long-timestamp-millis": pa.timestamp("ms", "UTC"),
    "long-timestamp-micros": pa.timestamp("us", "UTC"),
    "long-local-timestamp-millis": pa.timestamp("ms"),
    "long-local-timestamp-micros": pa.timestamp("us"),
}  # fmt: skip
"""Arrow's types for Avro's; all others become text. Logical types are those fastavro knows."""

_MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""What Arrow raises for a value that is not of a type."""

_NUMBERS = frozenset({pa.int64(), pa.float32(), pa.float64()})


class Avro(Format):
    """Avro records: all columns are decoded whichever are asked for."""

    def inspect(self, file: StoredFile) -> Contents:
        """Return the columns in the header of a file, and fields of records in them."""
        with open_file(file.path) as stream:
            fields = _opened(file.path, stream)[1]
        inner = (part for field in fields for part in _inside((field["name"],), field["type"]))
        schema = pa.schema([(field["name"], _type(field["type"])) for field in fields])
        return Contents(schema, fields=schema_of(inner))

    def read(self, file: StoredFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield columns of all records, in batches that are no longer than a block."""
        row = 0
        with open_file(file.path) as source, decodable(file.path):
            stream = io.BufferedReader(source, _BUFFER_BYTES)
            blocks, _ = _opened(file.path, stream)
            _check_end(stream)
            for block in blocks:
                records = iter(block)
                while some := list(itertools.islice(records, BATCH_ROWS)):
                    arrays = [_array(file.path, field, some, row) for field in schema]
                    yield pa.record_batch(arrays, schema.names)
                    row += len(some)


def _opened(path: str, stream: Any) -> tuple[Any, list[Any]]:
    """Return the blocks of a stream, and the fields that their records have."""
    with decodable(path):
        blocks: Any = fastavro.block_reader(stream)
    written = blocks.writer_schema
    if not isinstance(written, dict) or written["type"] != "record":
        raise InputError(f"{path}: its values are no records")
    for field in written["fields"]:
        if _is_recursive(field["type"], frozenset([written["name"]])):
            problem = "has a recursive type, which is not read; write it as JSON text"
            raise InputError(f"{path}: column {field['name']!r} {problem}")
    return blocks, written["fields"]


def _is_recursive(written: Any, within: frozenset[str]) -> bool:
    """Tell whether a type contains one of the records that enclose it."""
    if isinstance(written, str):
        return written in within
    if isinstance(written, list):
        return any(_is_recursive(kind, within) for kind in written)
    if written["type"] == "record":
        inner = within | {written["name"]}
        return any(_is_recursive(field["type"], inner) for field in written["fields"])
    parts = (written["type"], written.get("items", "null"), written.get("values", "null"))
    return any(_is_recursive(part, within) for part in parts)


def _check_end(stream: io.BufferedReader) -> None:
    """Check that a file ends with the marker that is at the end of its header and of each block."""
    begin = stream.tell()
    stream.seek(begin - _MARKER_BYTES)
    marker = stream.read(_MARKER_BYTES)
    stream.seek(-_MARKER_BYTES, io.SEEK_END)
    if stream.read(_MARKER_BYTES) != marker:
        raise EOFError
    stream.seek(begin)


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
    """Yield the paths and types of the fields of a record, also of a record that may be null."""
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
        place = f"{path}: column {field.name!r}, row {first_row + row}"
        got = reprlib.repr(values[row])
        raise InputError(f"{place}: must be {field.type}, got {got}") from error
