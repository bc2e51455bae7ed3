"""Columns of votes in a Parquet file, decoded within limits of memory.

A Parquet file of some kilobytes may expand to gigabytes, since repeated values are stored once. So
a process of its own decodes it, each text once, and the text of all rows is counted before rows
are made of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError
from evalsampling.pool.arrow import plain
from evalsampling.pool.formats.parquet_process import TooLargeError, read_batches
from evalsampling.pool.rendering import rendered

MOST_ROWS = 1 << 21
"""Most rows of a delivery."""

MOST_BYTES = 1 << 28
"""Most bytes of the columns that are read, also if each row had its own text."""

_WHOLE_BELOW = {pa.float16(): 1 << 11, pa.float32(): 1 << 24, pa.float64(): 1 << 53}
"""Bound below which each whole number has a float of its own, by type."""


def read_columns(
    path: str, content: bytes, facts: Mapping[str, Any], names: Sequence[str], ids: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file as dictionaries of some of its columns.

    Text, numbers and truth values are Python's; dates and times are text.

    Args:
        path: of the file, for messages.
        content: of the file.
        facts: what `read_facts` says of it.
        names: names of the columns to read; those that the file lacks are left out.
        ids: the columns of ids; a single one is called ``id`` in the rows.

    Raises:
        InputError: if the file is too large decoded, a column has a type that is no single value
            or holds whole numbers as floats that stand for several, or text is not UTF-8.
        ValueError: if the file is damaged.
    """
    columns_read = _chosen(path, facts, names)
    try:
        batches = read_batches(content, columns_read, MOST_BYTES)
    except TooLargeError as error:
        raise _too_much_text(path) from error
    text = 0
    for batch in batches:
        text += sum(map(_text_bytes, batch.columns))
        if text > MOST_BYTES:
            raise _too_much_text(path)
        values = [_values(path, name, batch.column(name), ids) for name in columns_read]
        keys = ["id" if [name] == [*ids] else name for name in columns_read]
        for row in zip(*values, strict=True):
            yield dict(zip(keys, row, strict=True))


def _chosen(path: str, facts: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return the columns of a file that are among some names, each of single values."""
    if facts["rows"] > MOST_ROWS:
        raise too_large(path, f"{facts['rows']:,} rows", f"{MOST_ROWS:,}")
    chosen = [field for field in facts["schema"] if field.name in names]
    for field in chosen:
        if pa.types.is_nested(field.type) and not _is_label_set(field):
            raise _no_single_value(path, field.name, field.type)
    return [field.name for field in chosen]


def _is_label_set(field: pa.Field) -> bool:
    """Tell whether a column holds sets of labels, as lists of text."""
    return (
        field.name == "label"
        and pa.types.is_list(field.type)
        and pa.types.is_string(field.type.value_type)
    )


def too_large(path: str, excess: str, most: str) -> InputError:
    """Return the error of a delivery that is too large: what it has, and the most it may have."""
    return InputError(f"{path}: has {excess}; a delivery has at most {most}: divide it")


def _too_much_text(path: str) -> InputError:
    return too_large(path, "more text when it is decoded", f"{MOST_BYTES:,} bytes")


def _text_bytes(column: pa.Array) -> int:
    """Return the bytes of the text of all rows of a column."""
    if pa.types.is_list(column.type):
        return _text_bytes(pc.list_flatten(column))
    if not pa.types.is_dictionary(column.type):
        kind = column.type
        is_text = pa.types.is_string(kind) or pa.types.is_binary(kind)
        return (pc.sum(pc.binary_length(column)).as_py() or 0) if is_text else 0
    length = pc.binary_length(column.dictionary).fill_null(0).to_numpy().astype(np.int64)
    codes = column.indices.drop_null().to_numpy()
    return int(length[codes].sum())


def _values(path: str, name: str, column: pa.Array, ids: Sequence[str]) -> list[Any]:
    """Return the values of a column as Python's."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = plain(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        # Only entries of the dictionary that rows refer to: their text has been counted.
        encoded = pc.dictionary_encode(column.indices)
        entries = _values(path, name, column.dictionary.take(encoded.dictionary), ids)
        return [None if code is None else entries[code] for code in encoded.indices.to_pylist()]
    if pa.types.is_floating(kind):
        if name in (*EXACT, *ids):
            _check_floats(path, name, column)
    elif name == "label" and pa.types.is_list(kind):
        return list(column.to_pylist())
    elif not pa.types.is_boolean(kind) and not pa.types.is_integer(kind):
        column = rendered(column)
        try:
            if _is_binary(column.type):
                column = column.cast(pa.large_binary())
            column = column.cast(pa.large_string())
        except pa.ArrowInvalid as error:
            raise InputError(f"{path}: column {name!r}: text that is not UTF-8") from error
        except pa.ArrowNotImplementedError as error:
            raise _no_single_value(path, name, kind) from error
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: column {name!r}: text that is not UTF-8") from error


def _no_single_value(path: str, name: str, kind: pa.DataType) -> InputError:
    return InputError(f"{path}: column {name!r}: type {kind} is no text and no number")


def _is_binary(kind: pa.DataType) -> bool:
    kinds = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(is_kind(kind) for is_kind in kinds)


def _check_floats(path: str, name: str, column: pa.Array) -> None:
    """Check that no float of a column is so large that it stands for several whole numbers."""
    most = _WHOLE_BELOW[column.type]
    values = column.cast(pa.float64()).drop_null().to_numpy()
    large = np.isfinite(values) & (np.abs(values) >= most)
    if large.any():
        raise inexact(path, name, f"{values[np.argmax(large)]:.0f}", most)


EXACT = ("task", "id", "label", "unique_id_l", "unique_id_r")
"""Columns whose values identify a vote, so that they must not be rounded."""


def inexact(path: str, name: str, value: str, most: int) -> InputError:
    """Return the error of a column with whole numbers that may have been rounded."""
    return InputError(
        f"{path}: column {name!r} has whole numbers as floats, and {value} is {most:,} or more, "
        "where a float stands for several of them: write them as whole numbers or as text"
    )
