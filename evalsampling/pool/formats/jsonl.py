"""Files of JSON objects, one a line."""

import bisect
import json
import re
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.formats.text import (
    BATCH_ROWS,
    Block,
    Lines,
    first_block,
    index,
    read_blocks,
)
from evalsampling.pool.json_text import as_text
from evalsampling.pool.nested import path_field, path_of, value_in
from evalsampling.pool.splits import Contents, WorkItem

SEEN_BYTES = 1 << 20
"""The types of columns are known from so much of a file."""

_BLANK = b" \t\r\n"

_LINE_FEED, _RETURN, _BRACE, _CLOSING_BRACE = b"\n\r{}"

_TYPES: Mapping[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    list: pa.string(),
    dict: pa.string(),
    type(None): pa.null(),
}


class JsonLines:
    """An object a line: what it lacks is null, and nested values are text, as JSON."""

    columnar = False
    untyped = False
    inferred = True

    def inspect(self, file: StoredFile) -> Contents:
        """Find the splits of a file, and from its first rows the types of its columns."""
        seen = first_block(file.path, _split, SEEN_BYTES)
        every = pa.schema([]) if seen is None else _inferred(seen)
        columns, fields = (
            pa.schema([field for field in every if (len(path_of(field)) > 1) == inner])
            for inner in (False, True)
        )
        return Contents(columns, index(file.path, _split), fields=fields)

    def read(self, item: WorkItem, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """Read columns of a split with the types that are settled for them."""
        schema = item.schema_of(columns)
        heads = {path[:end] for path in map(path_of, schema) for end in range(1, len(path))}
        # Columns of text that are read as a whole where fields of them are read too.
        nested = {field.name for field in schema if path_of(field) in heads}
        for block in read_blocks(item, _split):
            try:
                table = _parse(block, schema, nested)
            except pa.ArrowInvalid as error:
                raise _first_error(block, schema) from error
            yield from table.to_batches(max_chunksize=BATCH_ROWS)


def _split(text: bytes) -> Lines:
    """Find the lines of a text."""
    characters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(characters == _LINE_FEED) + 1
    begins = np.append(0, ends)[:-1]
    filled = characters[begins] == _BRACE
    for line in np.flatnonzero(~filled):
        filled[line] = bool(text[begins[line] : ends[line]].strip(_BLANK))
    return Lines(ends, filled)


def _inferred(block: Block) -> pa.Schema:
    """Return the types of columns, and of fields of objects in them, as far as the first rows tell.

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
    return pa.schema([path_field(path, types[path]) for path in named.values()])


def _values_in(
    record: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield all values of an object with the names that lead to them, objects in it too."""
    for name, value in record.items():
        yield (*path, name), value
        if isinstance(value, dict):
            yield from _values_in(value, (*path, name))


def _explicit(fields: Sequence[pa.Field]) -> pa.Schema:
    """Return the schema that Arrow reads fields by: objects that they are in beside the columns."""
    columns = {(field.name,): field.type for field in fields}
    inner = {path: field.type for field in fields if len(path := path_of(field)) > 1}
    return pa.schema(_tree(columns | inner))


def _tree(kinds: Mapping[tuple[str, ...], pa.DataType]) -> list[pa.Field]:
    """Return the columns that values are in, by the names that lead to them."""
    fields = []
    for head in dict.fromkeys(path[0] for path in kinds):
        below = {path[1:]: kind for path, kind in kinds.items() if path[0] == head}
        kind = below[()] if () in below else pa.struct(_tree(below))
        fields.append(pa.field(head, kind))
    return fields


def _column_of(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    """Return a column that was read, or a field of one where it has no column of its own."""
    head, *rest = path_of(field)
    if not rest:
        return table[field.name]
    return pc.coalesce(table[field.name], pc.struct_field(table[head], rest))


def _parse(block: Block, schema: pa.Schema, nested: set[str]) -> pa.Table:
    """Return the columns of a block."""
    _check_lines(block)
    plain = [field for field in schema if field.name not in nested]
    try:
        table = pyarrow.json.read_json(
            pa.py_buffer(block.text),
            pyarrow.json.ReadOptions(use_threads=False, block_size=2 * len(block.text)),
            pyarrow.json.ParseOptions(
                explicit_schema=_explicit(plain), unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowInvalid:
        whole = _nested_columns(block, plain)
        if not whole:
            raise
        nested |= whole
        return _parse(block, schema, nested)
    if len(table) != len(block.ends):
        raise pa.ArrowInvalid("a line is more than an object")
    columns = {field.name: _column_of(table, field) for field in plain}
    texts = _texts(block, [field for field in schema if field.name in nested])
    columns |= {name: pa.array(values, pa.string()) for name, values in texts.items()}
    return pa.table({name: columns[name] for name in schema.names})


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


def _nested_columns(block: Block, fields: Sequence[pa.Field]) -> set[str]:
    """Return the columns of text that have nested values, in records before any malformed one."""
    text = [field for field in fields if pa.types.is_string(field.type)]
    columns: set[str] = set()
    for number in range(len(block.ends) if text else 0):
        try:
            record = _object(block, number)
        except InputError:
            break
        columns.update(f.name for f in text if isinstance(value_in(record, f), list | dict))
    return columns


def _texts(block: Block, fields: Collection[pa.Field]) -> dict[str, list[str | None]]:
    """Return columns of text that have nested values."""
    texts: dict[str, list[str | None]] = {field.name: [] for field in fields}
    for number in range(len(block.ends) if fields else 0):
        record = _object(block, number)
        for field in fields:
            value = value_in(record, field)
            if isinstance(value, int | float):
                raise pa.ArrowInvalid("a number is no text")
            texts[field.name].append(as_text(value))
    return texts


def _first_error(block: Block, schema: pa.Schema) -> InputError:
    """Return the error of the first record that cannot be read."""
    rows = range(len(block.ends))
    number = bisect.bisect_left(
        rows, True, key=lambda row: _problem(block.part(0, row + 1), schema) is not None
    )
    try:
        record = _object(block, number)
    except InputError as error:
        return error
    alone = block.part(number, number + 1)
    problem = _problem(alone, pa.schema([]))
    if problem is not None:
        return block.error(number, f"is no JSON object: {problem}")
    for field in schema:
        problem = _problem(alone, pa.schema([field]))
        if problem is not None and "twice" not in problem:
            problem = f"must be {field.type}, got {reprlib.repr(value_in(record, field))}"
        if problem is not None:
            return block.error(number, problem, field.name)
    raise AssertionError(f"{block.path}: row {block.first_row + number}")


def _problem(block: Block, schema: pa.Schema) -> str | None:
    """Return the parser's message about some records, None if it takes them."""
    try:
        _parse(block, schema, set())
    except pa.ArrowInvalid as error:
        return re.sub(r"^JSON parse error: | in row \d+$", "", str(error))
    return None


def _object(block: Block, number: int) -> dict[str, Any]:
    """Return a record."""
    record = block.record(number).strip(_BLANK)
    way_out = "; write an object a line, as jq -c '.[]' does" * record.startswith(b"[")
    try:
        value = json.loads(record.decode())
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at character {error.pos}{way_out}"
        raise block.error(number, f"is no JSON object: {problem}") from error
    except RecursionError as error:
        raise block.error(number, "is nested too deeply") from error
    except ValueError as error:  # a whole number of thousands of digits
        raise block.error(number, f"is no JSON object: {error}") from error
    if not isinstance(value, dict):
        shown = reprlib.repr(record.decode())
        raise block.error(number, f"is no JSON object: {shown}{way_out}")
    for name in value:
        # JSON can spell a half of a pair of surrogates.
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise block.error(number, f"has a name that is not Unicode: {name!r}")
    return value
