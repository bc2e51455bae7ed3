"""Parquet files, read by row groups."""

import contextlib
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.io.files import StoredFile, open_file, unreadable
from evalsampling.io.stretches import Contents, Stretch
from evalsampling.pool import WorkItem

BATCH_ROWS = 1 << 20
"""Most rows of a batch."""

BATCH_BYTES = 1 << 25
"""Most bytes of a batch, as they are encoded in the file, where a row has less."""

GIANT_ROWS = 1 << 24
"""Rows of a row group that is too large to be read by one worker in good time."""

_BUFFER_BYTES = 1 << 23
"""Read at a time of each column of a giant row group."""


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
        with _open(file.path) as parquet:
            schema, metadata = parquet.schema_arrow, parquet.metadata
            rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        stretches = tuple(Stretch(group, group + 1, n) for group, n in enumerate(rows) if n)
        largest = max(rows, default=0)
        warning = None
        if largest > GIANT_ROWS:
            warning = (
                f"{file.path}: a row group of {largest:,} rows is read by one worker alone; "
                "write row groups of about a million rows"
            )
        types = [(field.name, _value_type(field.type)) for field in schema]
        return Contents(pa.schema(types), stretches, warning)

    def read(self, item: WorkItem, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """Read a row group; a giant one a buffer of each column at a time."""
        with _open(item.path, item.rows) as parquet:
            for group in range(item.begin, item.end):
                rows = _batch_rows(parquet.metadata.row_group(group), columns)
                # The workers are threads enough.
                yield from parquet.iter_batches(rows, [group], columns, use_threads=False)


@contextlib.contextmanager
def _open(path: str, rows: int = 0) -> Iterator[pq.ParquetFile]:
    """Open a file to read so many rows at a time."""
    giant = rows > GIANT_ROWS
    with open_file(path) as source:
        try:
            # All columns of a row group are asked for at once: stores answer slowly.
            yield pq.ParquetFile(
                source,
                buffer_size=_BUFFER_BYTES if giant else 0,
                pre_buffer=not giant,
            )
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error) from error


def _batch_rows(group: pq.RowGroupMetaData, columns: Sequence[str] | None) -> int:
    """Return how many rows of a row group are read at a time."""
    chunks = [group.column(number) for number in range(group.num_columns)]
    size = sum(
        chunk.total_uncompressed_size
        for chunk in chunks
        if columns is None or chunk.path_in_schema.partition(".")[0] in columns
    )
    return max(1, min(BATCH_ROWS, group.num_rows * BATCH_BYTES // max(size, 1)))


def _value_type(column: pa.DataType) -> pa.DataType:
    """Type of the values, whether or not they are dictionary-encoded."""
    return column.value_type if pa.types.is_dictionary(column) else column
