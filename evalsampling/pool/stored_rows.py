"""Rows of a pool in files below the workspace: those that a scorer scored, or that no file has."""

import contextlib
import glob
import operator
from collections.abc import Callable, Generator, Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.formats.parquet import BATCH_BYTES, BATCH_ROWS
from evalsampling.storage import open_store


def stored_pattern(directory: str) -> str:
    """Return the pattern that names all files of rows in a directory, or below a URL."""
    return f"{glob.escape(directory)}/*.parquet"


def store_batches(
    batches: Iterable[PoolBatch],
    directory: str,
    name: str,
    written: Callable[[PoolBatch], pa.RecordBatch] = operator.attrgetter("rows"),
    empty: pa.Schema | None = None,
) -> Generator[PoolBatch, None, None]:
    """Yield batches as they come, and write their rows to a Parquet file."""
    with contextlib.ExitStack() as open_files:
        writer = None
        for batch in batches:
            rows = written(batch)
            writer = writer or _writer(open_files, directory, name, rows.schema)
            writer.write_batch(rows)
            yield batch
        if writer is None and empty is not None:
            _writer(open_files, directory, name, empty)


def _writer(
    open_files: contextlib.ExitStack, directory: str, name: str, schema: pa.Schema
) -> pq.ParquetWriter:
    """Return what writes a file, which is there when the stack is closed."""
    draft = open_files.enter_context(open_store(directory).new_file(name))
    writer = pq.ParquetWriter(draft, schema, compression="zstd", write_page_checksum=True)
    return open_files.enter_context(writer)


def as_row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[PoolBatch]:
    """Yield the rows of many small batches in few large ones, none of them empty."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if len(batch):
            held.append(batch)
            rows, size = rows + len(batch), size + batch.nbytes
        if rows >= BATCH_ROWS or size >= BATCH_BYTES:
            yield _joined(held)
            held, rows, size = [], 0, 0
    if held:
        yield _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> PoolBatch:
    (rows,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return PoolBatch(rows)
