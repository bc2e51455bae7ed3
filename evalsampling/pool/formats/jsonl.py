"""Files of JSON objects, one a line."""

import bisect
import json
import re
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
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
        """Find the splits of a file, and from its first rows the types of its columns.

        Raises:
            InputError: if the file cannot be read, or its first rows are no objects.
        """
        seen = first_block(file.path, _split, SEEN_BYTES)
        schema = pa.schema([]) if seen is None else _inferred(seen)
        return Contents(schema, index(file.path, _split))

    def read(self, item: WorkItem, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """Read columns of a split with the types that are settled for them."""
        names = item.schema.names if columns is None else columns
        schema = pa.schema([item.schema.field(name) for name in names])
        nested: set[str] = set()
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
    """Return the types of columns as far as the first rows tell.

    A column whose values do not go together has the type of the first of them: reading tells
    where it does not hold.
    """
    types: dict[str, pa.DataType] = {}
    for number in range(len(block.ends)):
        for name, value in _object(block, number).items():
            common, own = types.get(name, pa.null()), _TYPES[type(value)]
            wider = common == pa.int64() and own == pa.float64()
            types[name] = own if wider or common == pa.null() else common
    return pa.schema(list(types.items()))


def _parse(block: Block, schema: pa.Schema, nested: set[str]) -> pa.Table:
    """Return the columns of a block.

    Args:
        block: the records.
        schema: types of the columns.
        nested: columns of text that have nested values, as known so far; more are added.

    Raises:
        pa.ArrowInvalid: if a record is malformed, or has a value of another type.
    """
    _check_lines(block)
    plain = pa.schema([field for field in schema if field.name not in nested])
    try:
        table = pyarrow.json.read_json(
            pa.py_buffer(block.text),
            pyarrow.json.ReadOptions(use_threads=False, block_size=2 * len(block.text)),
            pyarrow.json.ParseOptions(explicit_schema=plain, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowInvalid:
        columns = _nested_columns(block, plain)
        if not columns:
            raise
        nested |= columns
        return _parse(block, schema, nested)
    if len(table) != len(block.ends):
        raise pa.ArrowInvalid("a line is more than an object")
    for name, values in _texts(block, nested).items():
        table = table.append_column(name, pa.array(values, pa.string()))
    return table.select(schema.names)


def _check_lines(block: Block) -> None:
    """Check that each line is one object or more: if rows are as many as lines, it is one.

    Raises:
        pa.ArrowInvalid: if one is not.
    """
    characters = np.frombuffer(block.text, np.uint8)
    begins, last = np.append(0, block.ends)[:-1], block.ends - 2
    last = last - (characters[last] == _RETURN)
    doubtful = (characters[begins] != _BRACE) | (characters[last] != _CLOSING_BRACE)
    for number in np.flatnonzero(doubtful).tolist():
        record = block.record(number).strip(_BLANK)
        if not (record.startswith(b"{") and record.endswith(b"}")):
            raise pa.ArrowInvalid("a line is no object")


def _nested_columns(block: Block, schema: pa.Schema) -> set[str]:
    """Return the columns of text that have nested values, in records before any malformed one."""
    text = [field.name for field in schema if pa.types.is_string(field.type)]
    columns: set[str] = set()
    for number in range(len(block.ends) if text else 0):
        try:
            record = _object(block, number)
        except InputError:
            break
        columns.update(name for name in text if isinstance(record.get(name), list | dict))
    return columns


def _texts(block: Block, names: Collection[str]) -> dict[str, list[str | None]]:
    """Return columns of text that have nested values.

    Raises:
        pa.ArrowInvalid: if a value is a number.
    """
    texts: dict[str, list[str | None]] = {name: [] for name in names}
    for number in range(len(block.ends) if names else 0):
        record = _object(block, number)
        for name, column in texts.items():
            value = record.get(name)
            if isinstance(value, int | float):
                raise pa.ArrowInvalid("a number is no text")
            column.append(as_text(value))
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
            problem = f"must be {field.type}, got {reprlib.repr(record[field.name])}"
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
    """Return a record.

    Raises:
        InputError: if it is malformed.
    """
    record = block.record(number).strip(_BLANK)
    try:
        value = json.loads(record.decode())
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at character {error.pos}"
        raise block.error(number, f"is no JSON object: {problem}") from error
    except RecursionError as error:
        raise block.error(number, "is nested too deeply") from error
    except ValueError as error:  # a whole number of thousands of digits
        raise block.error(number, f"is no JSON object: {error}") from error
    if not isinstance(value, dict):
        raise block.error(number, f"is no JSON object: {_shown(record)}")
    for name in value:
        if not _is_unicode(name):
            raise block.error(number, f"has a name that is not Unicode: {name!r}")
    return value


def _is_unicode(text: str) -> bool:
    """Tell whether text has no half of a pair of surrogates, which JSON can spell."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _shown(record: bytes) -> str:
    return reprlib.repr(record.decode())
