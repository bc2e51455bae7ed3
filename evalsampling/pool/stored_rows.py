"""Rows of a pool in files below the workspace: those that a scorer scored, or that no file has."""

import contextlib
import glob
from collections.abc import Generator, Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.formats.parquet import BATCH_BYTES, BATCH_ROWS
from evalsampling.storage import open_store

FOLDER = "stored"
"""Of a workspace: the rows of a pool that has no files of its own."""


def stored_pattern(directory: str) -> str:
    """Return the pattern that names all files of rows in a directory, or below a URL."""
    return f"{glob.escape(directory)}/*.parquet"


def store_batches(
    batches: Iterable[PoolBatch], directory: str, name: str
) -> Generator[PoolBatch, None, None]:
    """Yield batches as they come, and write their rows to a Parquet file.

    Args:
        batches: of rows, all with the same columns; each becomes a row group.
        directory: or URL, to write to.
        name: of the file, which is there when the last batch has been taken; without a batch there
            is none.
    """
    with contextlib.ExitStack() as open_files:
        writer = None
        for batch in batches:
            if writer is None:
                draft = open_files.enter_context(open_store(directory).new_file(name))
                writer = pq.ParquetWriter(
                    draft, batch.rows.schema, compression="zstd", write_page_checksum=True
                )
                open_files.enter_context(writer)
            writer.write_batch(batch.rows)
            yield batch


def as_row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[PoolBatch]:
    """Yield the rows of many small batches in few large ones, none of them empty."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if len(batch):
            held.append(batch)
        if sum(map(len, held)) >= BATCH_ROWS or sum(part.nbytes for part in held) >= BATCH_BYTES:
            yield _joined(held)
            held = []
    if held:
        yield _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> PoolBatch:
    (rows,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return PoolBatch(rows)
