"""Columns of votes in a Parquet file, decoded within limits of memory.

A Parquet file of some kilobytes may expand to gigabytes, since repeated values are stored once. So
its rows are counted before anything is decoded, each text is decoded once, and the text of all rows
is counted before rows are made of it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.labels.parquet_pages import look
from evalsampling.pool.rendering import rendered
from evalsampling.storage.filesystems import one_line

MOST_ROWS = 1 << 21
"""Most rows of a delivery."""

MOST_BYTES = 1 << 28
"""Most bytes of the columns that are read: of their pages, uncompressed, and of all rows' text."""

_BATCH_ROWS = 1 << 16
_LIST_ROWS = 1 << 10
"""Rows decoded at a time of a file with lists, whose text is not kept encoded."""

_BATCH_BYTES = 1 << 24
"""Most text of a batch if each of its values is as long as all stored bytes together."""

_WHOLE_BELOW = {pa.float16(): 1 << 11, pa.float32(): 1 << 24, pa.float64(): 1 << 53}
"""Bound below which each whole number has a float of its own, by type."""


def read_columns(
    path: str, content: bytes, names: Sequence[str], id_column: str = "id"
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file as dictionaries of some of its columns.

    Text, numbers and truth values are Python's; dates and times are text.

    Args:
        path: path of the file, for messages.
        content: content of the file.
        names: names of the columns to read; those that the file lacks are left out.
        id_column: the column of ids, which is called ``id`` in the rows.

    Raises:
        InputError: if the file is too large decoded, a column has a type that is no single value
            or holds whole numbers as floats that stand for several, or text is not UTF-8.
        ValueError: if the file is damaged.
        OSError: if the file is damaged and Arrow finds it.
    """
    source = pa.BufferReader(content)
    metadata = pq.read_metadata(source)
    if metadata.num_rows > MOST_ROWS:
        raise too_large(path, f"{metadata.num_rows:,} rows", f"{MOST_ROWS:,}")
    schema = metadata.schema.to_arrow_schema()
    columns_read = [name for name in schema.names if name in names]
    for name in columns_read:
        if pa.types.is_nested(schema.field(name).type) and not _is_label_set(schema.field(name)):
            raise _no_single_value(path, name, schema.field(name).type)
    lists = [name for name in columns_read if pa.types.is_nested(schema.field(name).type)]
    pages = look(content, columns_read)
    if pages.bytes > MOST_BYTES:
        raise too_large(path, f"{pages.bytes:,} bytes uncompressed", f"{MOST_BYTES:,}")
    # Values stored as what they add to the ones before may each be as long as the whole.
    rows = max(1, _BATCH_BYTES // max(pages.bytes, 1)) if pages.expanding else _BATCH_ROWS
    rows = min(rows, _LIST_ROWS) if lists else rows
    encoded = [name for name in columns_read if name not in pages.expanding and name not in lists]
    file = pq.ParquetFile(
        source, metadata=metadata, read_dictionary=encoded, page_checksum_verification=True
    )
    text, rows_read = 0, 0
    for batch in file.iter_batches(rows, columns=columns_read, use_threads=False):
        columns = {}
        for name in columns_read:
            column = batch.column(name)
            _check_whole(path, name, column, len(batch))
            text += _text_bytes(column)
            if text > MOST_BYTES:
                raise too_large(path, "more text when it is decoded", f"{MOST_BYTES:,} bytes")
            columns["id" if name == id_column else name] = _values(path, name, column, id_column)
        for place in range(len(batch)):
            yield {name: values[place] for name, values in columns.items()}
        rows_read += len(batch)
    if rows_read != metadata.num_rows:
        raise InputError(f"{path}: damaged, {rows_read} of {metadata.num_rows} rows can be read")


def _is_label_set(field: pa.Field) -> bool:
    """Tell whether a column holds sets of labels, as lists of text."""
    return (
        field.name == "label"
        and pa.types.is_list(field.type)
        and pa.types.is_string(field.type.value_type)
    )


def _check_whole(path: str, name: str, column: pa.Array, rows: int) -> None:
    """Check a decoded column: in a damaged file codes may be out of range, and rows be missing."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        is_text = "UTF8" in str(error)
        problem = "text that is not UTF-8" if is_text else f"damaged, {one_line(error)}"
        raise InputError(f"{path}: column {name!r}: {problem}") from error
    if len(column) != rows:
        raise InputError(f"{path}: column {name!r}: damaged, it has {len(column)} of {rows} rows")


def too_large(path: str, excess: str, most: str) -> InputError:
    """Return the error of a delivery that is too large: what it has, and the most it may have."""
    return InputError(f"{path}: has {excess}; a delivery has at most {most}: divide it")


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


def _values(path: str, name: str, column: pa.Array, id_column: str) -> list[Any]:
    """Return the values of a column as Python's."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        # Only entries of the dictionary that rows refer to: their text has been counted.
        encoded = pc.dictionary_encode(column.indices)
        entries = _values(path, name, column.dictionary.take(encoded.dictionary), id_column)
        return [None if code is None else entries[code] for code in encoded.indices.to_pylist()]
    if pa.types.is_floating(kind):
        if name in (*EXACT, id_column):
            _check_floats(path, name, column)
    elif name == "label" and pa.types.is_list(kind):
        return list(column.to_pylist())
    elif not pa.types.is_boolean(kind) and not pa.types.is_integer(kind):
        column = rendered(column)
        try:
            column = column.cast(
                pa.large_binary() if _is_binary(column.type) else pa.large_string()
            )
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
    return (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


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
