"""The rows of a Parquet file of votes, as dictionaries of Python's values."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.labels.limits import EXACT, MOST_BYTES, MOST_ROWS, inexact, too_large
from evalsampling.pool.arrow import is_bytes, plain
from evalsampling.pool.rendering import rendered

_WHOLE_BELOW = {pa.float16(): 1 << 11, pa.float32(): 1 << 24, pa.float64(): 1 << 53}
"""Bound below which each whole number has a float of its own, by type."""


def open_parquet(content: bytes) -> pq.ParquetFile:
    """Return a Parquet file, whose pages are compared with their checksums where they have some."""
    return pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)


def read_rows(
    path: str, file: pq.ParquetFile, names: Sequence[str], ids: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file as dictionaries of some of its columns.

    Text, numbers and truth values are Python's; dates and times are text.
    """
    chosen = [field for field in file.schema_arrow if field.name in names]
    for field in chosen:
        if pa.types.is_nested(field.type) and not _is_label_set(field):
            raise _no_single_value(path, field.name, field.type)
    columns = [field.name for field in chosen]
    _check_size(path, file.metadata)
    keys = ["id" if [name] == [*ids] else name for name in columns]
    # Each row group by itself: a column that lacks a value does not take one of the next group.
    for number in range(file.num_row_groups):
        rows = file.read_row_group(number, columns, use_threads=False).select(columns)
        if len(rows) != file.metadata.row_group(number).num_rows:
            raise ValueError(f"damaged, row group {number + 1} lacks rows")
        for batch in rows.to_batches():
            values = [_values(path, name, batch.column(name), ids) for name in columns]
            for row in zip(*values, strict=True):
                yield dict(zip(keys, row, strict=True))


def _check_size(path: str, metadata: pq.FileMetaData) -> None:
    if metadata.num_rows > MOST_ROWS:
        raise too_large(path, f"{metadata.num_rows:,} rows", f"{MOST_ROWS:,}")
    size = sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
    if size > MOST_BYTES:
        raise too_large(path, f"{size:,} bytes uncompressed", f"{MOST_BYTES:,}")


def _is_label_set(field: pa.Field) -> bool:
    """Tell whether a column holds sets of labels, as lists of text."""
    return (
        field.name == "label"
        and pa.types.is_list(field.type)
        and pa.types.is_string(field.type.value_type)
    )


def _values(path: str, name: str, column: pa.Array, ids: Sequence[str]) -> list[Any]:
    """Return the values of a column as Python's."""
    column = plain(column)
    kind = column.type
    try:
        column.validate(full=True)
        if pa.types.is_floating(kind) and name in (*EXACT, *ids):
            _check_floats(path, name, column)
        elif is_bytes(kind):
            column = column.cast(pa.large_binary()).cast(pa.large_string())
        elif not pa.types.is_nested(kind) and not _is_plain_number(kind):
            column = rendered(column).cast(pa.large_string())
        return list(column.to_pylist())
    except pa.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise InputError(f"{path}: column {name!r}: text that is not UTF-8") from error
        raise
    except pa.ArrowNotImplementedError as error:
        raise _no_single_value(path, name, kind) from error


def _is_plain_number(kind: pa.DataType) -> bool:
    belongs = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
    return any(is_kind(kind) for is_kind in belongs)


def _no_single_value(path: str, name: str, kind: pa.DataType) -> InputError:
    return InputError(f"{path}: column {name!r}: type {kind} is no text and no number")


def _check_floats(path: str, name: str, column: pa.Array) -> None:
    """Check that no float of a column is so large that it stands for several whole numbers."""
    most = _WHOLE_BELOW[column.type]
    values = column.cast(pa.float64()).drop_null().to_numpy()
    large = np.isfinite(values) & (np.abs(values) >= most)
    if large.any():
        raise inexact(path, name, f"{values[np.argmax(large)]:.0f}", most)
