"""Parquet pools: work items of one row group each, read as Arrow batches."""

import dataclasses
import glob
import os
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.pool import PoolBatch

BATCH_ROWS = 1 << 18
"""Most rows of a batch."""


@dataclasses.dataclass(frozen=True)
class PoolFile:
    """One file of a pool.

    Attributes:
        path: where it is.
        size: bytes.
        rows: rows of the file.
        group_rows: rows of each of its row groups.
    """

    path: str
    size: int
    rows: int
    group_rows: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class WorkItem:
    """One row group of one file: what a worker reads at a time.

    Attributes:
        path: of the file to read.
        group: number of the row group.
        rows: its rows.
        file: number of the file in the pool.
        origin: path of the pool's file the rows come from; `path` unless they were scored.
        first_row: of the row group within the pool's file.
    """

    path: str
    group: int
    rows: int
    file: int
    origin: str
    first_row: int


def list_pool(pattern: str, columns: Sequence[str] | None) -> list[PoolFile]:
    """Find the files of a pool and look into their footers.

    Args:
        pattern: path or glob pattern of local Parquet files.
        columns: columns that each must have, or None to leave that to whoever reads them.

    Returns:
        The files, ordered by path.

    Raises:
        InputError: if there is no file, no row, or a file cannot be read, lacks a column, or
            has a column of another type than the first file.
    """
    paths = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not paths:
        raise InputError(f"{pattern}: no such file")
    files, first = [], None
    for path in paths:
        with _open(path) as parquet:
            schema, metadata = parquet.schema_arrow, parquet.metadata
            for name in columns or ():
                if name not in schema.names:
                    known = ", ".join(schema.names)
                    raise InputError(f"{path}: column {name!r} is missing; there are: {known}")
                if schema.names.count(name) > 1:
                    raise InputError(f"{path}: column {name!r} is there twice")
                first = first or schema
                here, there = (_stored_type(s.field(name).type) for s in (schema, first))
                if here != there:
                    raise InputError(
                        f"{path}: column {name!r} has type {here}, but {there} in {paths[0]}"
                    )
            groups = tuple(
                metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)
            )
        files.append(PoolFile(path, os.path.getsize(path), sum(groups), groups))
    if not sum(file.rows for file in files):
        raise InputError(f"{pattern}: the pool is empty")
    return files


def work_items(files: Sequence[PoolFile]) -> Iterator[WorkItem]:
    """List the row groups of the files of a pool."""
    for number, file in enumerate(files):
        first_row = 0
        for group, rows in enumerate(file.group_rows):
            if rows:
                yield WorkItem(file.path, group, rows, number, file.path, first_row)
            first_row += rows


def read_batches(item: WorkItem, columns: Sequence[str] | None) -> Iterator[PoolBatch]:
    """Read a row group as batches of at most `BATCH_ROWS` rows.

    Args:
        item: what to read.
        columns: columns to read, or None for all.

    Raises:
        InputError: if the file cannot be read.
    """
    first_row = item.first_row
    with _open(item.path) as parquet:
        batches = parquet.iter_batches(BATCH_ROWS, [item.group], columns)
        while (rows := _next(batches, item.path)) is not None:
            yield PoolBatch(rows, item.origin, item.file, first_row)
            first_row += len(rows)


def _next(batches: Iterator[pa.RecordBatch], path: str) -> pa.RecordBatch | None:
    try:
        return next(batches, None)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read: {_one_line(error)}") from error


def _open(path: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as Parquet: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _stored_type(column: pa.DataType) -> pa.DataType:
    """Type of the values, whether or not they are dictionary-encoded."""
    return column.value_type if pa.types.is_dictionary(column) else column
