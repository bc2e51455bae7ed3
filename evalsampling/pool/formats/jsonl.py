"""Files of JSON objects, one a line."""

import contextlib
import json
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from evalsampling.pool.arrow import path_field, path_of, value_in
from evalsampling.pool.files import StoredFile
from evalsampling.pool.formats import text
from evalsampling.pool.formats.text import Block, Lines, read_blocks
from evalsampling.pool.rendering import as_text
from evalsampling.pool.splits import Contents, Format

SEEN_BYTES = 1 << 20
"""The types of columns are known from so much of a file."""

_BLANK = b" \t\r\n"

_LINE_FEED, _RETURN, _BRACE, _CLOSING_BRACE = b"\n\r{}"

_TYPES: Mapping[type, pa.DataType] = {
    bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string(), list: pa.string(),
    dict: pa.string(), type(None): pa.null(),
}  # fmt: skip


class JsonLines(Format):
    """An object a line: what it lacks is null, and nested values are text, as JSON."""

    inferred = True

    def inspect(self, file: StoredFile) -> Contents:
        """Return the columns of a file, with types by its first rows, and fields of objects."""
        with contextlib.closing(read_blocks(file.path, _split, SEEN_BYTES)) as blocks:
            seen = next(blocks, None)
        every = [] if seen is None else _inferred(seen)
        columns, fields = (
            pa.schema([field for field in every if (len(path_of(field)) > 1) == inner])
            for inner in (False, True)
        )
        return Contents(columns, fields=fields)

    def read(self, file: StoredFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield columns of all rows with the types that are settled for them."""
        for block in read_blocks(file.path, _split, text.BLOCK_BYTES):
            try:
                columns = _parsed(block, schema)
            except pa.ArrowException:
                columns = _decoded(block, schema)
            yield pa.record_batch(columns, schema.names)


def _split(text: bytes) -> Lines:
    """Find the lines of a text."""
    characters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(characters == _LINE_FEED) + 1
    begins = np.append(0, ends)[:-1]
    filled = characters[begins] == _BRACE
    for line in np.flatnonzero(~filled):
        filled[line] = bool(text[begins[line] : ends[line]].strip(_BLANK))
    return Lines(ends, filled)


def _inferred(block: Block) -> list[pa.Field]:
    """Return columns, and fields of objects in them, with types as far as the first rows tell.

    A column whose values do not go together has the type of the first of them: reading tells
    where it does not hold.
    """
    types: dict[tuple[str, ...], pa.DataType] = {}
    for number in range(len(block.ends)):
        for path, value in _values_in(_object(block, number), ()):
            common, own = types.get(path, pa.null()), _TYPES[type(value)]
            wider = common == pa.int64() and own == pa.float64()
            types[path] = own if wider or common == pa.null() else common
    named = {(".".join(path), len(path) > 1): path for path in types}
    return [path_field(path, types[path]) for path in named.values()]


def _values_in(
    record: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield all values of an object with the names that lead to them, objects in it too."""
    for name, value in record.items():
        yield (*path, name), value
        if isinstance(value, dict):
            yield from _values_in(value, (*path, name))


def _explicit(kinds: Mapping[tuple[str, ...], pa.DataType]) -> list[pa.Field]:
    """Return the columns that values are in, by the names that lead to them."""
    fields = []
    for head in dict.fromkeys(path[0] for path in kinds):
        below = {path[1:]: kind for path, kind in kinds.items() if path[0] == head}
        kind = below[()] if () in below else pa.struct(_explicit(below))
        fields.append(pa.field(head, kind))
    return fields


def _parsed(block: Block, schema: pa.Schema) -> list[Any]:
    """Return the columns of a block by Arrow's parser, which takes no nested values for text."""
    _check_lines(block)
    paths = {path_of(field): field.type for field in schema}
    named = {(field.name,): field.type for field in schema}
    table = pyarrow.json.read_json(
        pa.py_buffer(block.text),
        pyarrow.json.ReadOptions(use_threads=False, block_size=2 * len(block.text)),
        pyarrow.json.ParseOptions(
            explicit_schema=pa.schema(_explicit(named | paths)), unexpected_field_behavior="ignore"
        ),
    )
    if len(table) != len(block.ends):
        raise pa.ArrowInvalid("a line is more than an object")
    columns = []
    for field in schema:
        head, *rest = path_of(field)
        column = table[field.name].combine_chunks()
        if rest:  # of a field that has no column of its own in a record
            column = pc.coalesce(column, pc.struct_field(table[head].combine_chunks(), rest))
        columns.append(column)
    return columns


def _check_lines(block: Block) -> None:
    """Check that each line is one object or more: if rows are as many as lines, it is one."""
    characters = np.frombuffer(block.text, np.uint8)
    begins, last = np.append(0, block.ends)[:-1], block.ends - 2
    last = last - (characters[last] == _RETURN)
    doubtful = (characters[begins] != _BRACE) | (characters[last] != _CLOSING_BRACE)
    for number in np.flatnonzero(doubtful).tolist():
        record = block.record(number).strip(_BLANK)
        if not (record.startswith(b"{") and record.endswith(b"}")):
            raise pa.ArrowInvalid("a line is no object")


def _decoded(block: Block, schema: pa.Schema) -> list[pa.Array]:
    """Return columns of a block, nested values as text; the error is of the first bad record."""
    values: list[list[Any]] = [[] for _ in schema]
    for number in range(len(block.ends)):
        record = _object(block, number, _unique)
        for field, column in zip(schema, values, strict=True):
            try:
                column.append(_fitted(_value(record, field), field.type))
            except (TypeError, OverflowError, UnicodeEncodeError) as error:
                got = reprlib.repr(value_in(record, field))
                problem = (
                    f"must be {field.type}, got {got}; the first rows of the file give the type, "
                    "so write all rows alike"
                )
                raise block.error(number, problem, field.name) from error
    return [pa.array(column, field.type) for column, field in zip(values, schema, strict=True)]


def _value(record: Any, field: pa.Field) -> Any:
    """Return the value of a field in a record, None if there is none."""
    if field.name in record:
        return record[field.name]
    for name in path_of(field):
        if record is not None and not isinstance(record, dict):
            raise TypeError("no object, where one is expected")
        record = None if record is None else record.get(name)
    return record


def _fitted(value: Any, kind: pa.DataType) -> Any:
    """Return a value as a column of a type has it; whole numbers are floats too."""
    own = _TYPES[type(value)]
    if value is None or own == pa.bool_() == kind or own == pa.int64() == kind:
        return pa.scalar(value, kind).as_py()
    if own == pa.string() == kind:
        text = str(as_text(value))
        text.encode()  # JSON can spell a half of a pair of surrogates.
        return text
    if own in (pa.int64(), pa.float64()) and kind == pa.float64():
        return float(value)
    raise TypeError(own)


def _object(block: Block, number: int, of_pairs: Any = dict) -> dict[str, Any]:
    """Return a record; a function makes objects of pairs of names and values."""
    record = block.record(number).strip(_BLANK)
    way_out = "; write an object a line, as jq -c '.[]' does" * record.startswith(b"[")
    try:
        value = json.loads(record.decode(), object_pairs_hook=of_pairs)
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at character {error.pos}{way_out}"
        raise block.error(number, f"is no JSON object: {problem}") from error
    except RecursionError as error:
        raise block.error(number, "is nested too deeply") from error
    except ValueError as error:  # a whole number of thousands of digits, say
        raise block.error(number, f"is no JSON object: {error}") from error
    if not isinstance(value, dict):
        shown = reprlib.repr(record.decode())
        raise block.error(number, f"is no JSON object: {shown}{way_out}")
    for name in value:
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise block.error(number, f"has a name that is not Unicode: {name!r}")
    return value


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose names all differ."""
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is there twice")
    return record
