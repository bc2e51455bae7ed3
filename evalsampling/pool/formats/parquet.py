"""Parquet files, read by row groups."""

import contextlib
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.pool.files import StoredFile
from evalsampling.pool.splits import Contents, Split, WorkItem
from evalsampling.storage.filesystems import open_file, unreadable

BATCH_ROWS = 1 << 20
"""Most rows of a batch."""

BATCH_BYTES = 1 << 25
"""Most bytes of a batch, as they are encoded in the file, where a row has less."""

GIANT_ROWS, GIANT_BYTES = 1 << 24, 1 << 32
"""Rows and bytes of a row group that is too large to be read by one worker in good time."""

LARGE_BYTES = 1 << 28
"""Bytes of the columns of a row group that are too many to be in memory at once."""

_BUFFER_BYTES = 1 << 23
"""Read at a time of each column of a large row group."""

_REPETITIVE_BYTES, _PLAIN_BYTES = 1 << 22, 8
"""Of a chunk, and of each of its values, below which it is kept encoded: the dictionary it takes is
small then. Text that differs from row to row has more."""


class Parquet:
    """Columns of row groups: what is not asked for is not read."""

    columnar = True
    untyped = False
    inferred = False

    def inspect(self, file: StoredFile) -> Contents:
        """Read the footer of a file.

        Raises:
            InputError: if there is none.
        """
        with open_file(file.path) as source, _readable(file.path):
            metadata = pq.read_metadata(source)
            schema = metadata.schema.to_arrow_schema()
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        splits = (
            Split(number, number + 1, group.num_rows)
            for number, group in enumerate(groups)
            if group.num_rows
        )
        warning = None
        for group in groups:
            if group.num_rows > GIANT_ROWS or group.total_byte_size > GIANT_BYTES:
                warning = (
                    f"{file.path}: a row group of {group.num_rows:,} rows and "
                    f"{group.total_byte_size / 1e6:,.0f} MB is read by one worker alone; "
                    "write row groups of about a million rows"
                )
        types = [(field.name, _value_type(field.type)) for field in schema]
        return Contents(pa.schema(types), tuple(splits), warning)

    def stored_bytes(self, item: WorkItem, columns: Sequence[str]) -> int:
        """Return the bytes of columns of some row groups, before compression.

        Raises:
            InputError: if the file cannot be read.
        """
        with open_file(item.path) as source, _readable(item.path):
            metadata = pq.read_metadata(source)
        groups = range(item.begin, min(item.end, metadata.num_row_groups))
        chunks = [c for number in groups for c in _chunks(metadata.row_group(number), columns)]
        return sum(chunk.total_uncompressed_size for chunk in chunks)

    def read(self, item: WorkItem, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """Read row groups; a large one a buffer of each column at a time."""
        with open_file(item.path) as source, _readable(item.path):
            metadata = pq.read_metadata(source)
            for number in range(item.begin, min(item.end, metadata.num_row_groups)):
                group = metadata.row_group(number)
                chunks = _chunks(group, columns)
                large = sum(chunk.total_compressed_size for chunk in chunks) > LARGE_BYTES
                # All columns of a row group are asked for at once: stores answer slowly.
                parquet = pq.ParquetFile(
                    source,
                    metadata=metadata,
                    read_dictionary=[c.path_in_schema for c in chunks if _is_repetitive(c)],
                    buffer_size=_BUFFER_BYTES if large else 0,
                    pre_buffer=not large,
                )
                rows = _batch_rows(group, chunks)
                # The workers are threads enough.
                yield from parquet.iter_batches(rows, [number], columns, use_threads=False)


@contextlib.contextmanager
def _readable(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error


def _chunks(
    group: pq.RowGroupMetaData, columns: Sequence[str] | None
) -> list[pq.ColumnChunkMetaData]:
    """Return what a row group has of some columns, or of all; a column may have several chunks."""
    chunks = [group.column(number) for number in range(group.num_columns)]
    if columns is None:
        return chunks
    nested = tuple(f"{name}." for name in columns)
    return [c for c in chunks if c.path_in_schema in columns or c.path_in_schema.startswith(nested)]


def _is_repetitive(chunk: pq.ColumnChunkMetaData) -> bool:
    """Tell whether a chunk may be text that takes little room for the same values coming again.

    How much it is when it is decoded a file does not say.
    """
    is_text = chunk.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page
    return is_text and chunk.total_uncompressed_size < max(
        _REPETITIVE_BYTES, _PLAIN_BYTES * chunk.num_values
    )


def _batch_rows(group: pq.RowGroupMetaData, chunks: Sequence[pq.ColumnChunkMetaData]) -> int:
    """Return how many rows of a row group are read at a time."""
    size = sum(chunk.total_uncompressed_size for chunk in chunks)
    return max(1, min(BATCH_ROWS, group.num_rows * BATCH_BYTES // max(size, 1)))


def _value_type(column: pa.DataType) -> pa.DataType:
    """Type of the values, whether or not they are dictionary-encoded."""
    return column.value_type if pa.types.is_dictionary(column) else column
