"""Parquet files, read by row groups."""

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evalsampling.pool.arrow import column_of, nested_fields, plain_type
from evalsampling.pool.files import StoredFile
from evalsampling.pool.splits import Contents, Split, WorkItem
from evalsampling.storage.filesystems import is_url, open_file, readable

BATCH_ROWS = 1 << 17
"""Most rows of a batch: so few that its columns stay in the processor's cache."""

BATCH_BYTES = 1 << 25
"""Most bytes of a batch, as they are encoded in the file, where a row has less."""

GIANT_ROWS, GIANT_BYTES = 1 << 24, 1 << 32
"""Rows and bytes of a row group that is too large to be read by one worker in good time."""

LARGE_BYTES = 1 << 28
"""Bytes of the columns of a row group that are too many to be in memory at once."""

MOST_SPLITS = 64
"""Of a file whose row groups are all wanted: each takes a look at the whole footer."""

_BUFFER_BYTES, _LOCAL_BUFFER_BYTES = 1 << 23, 1 << 18
"""Read at a time of each column of a large row group in a store, and of any on this machine."""

_OLD_TIMES = "us"
"""Unit of times of 96 bits, which Spark writes; nanoseconds would not reach the year 2263."""

_REPETITIVE_BYTES, _PLAIN_BYTES = 1 << 22, 8
"""Of a chunk, and of each of its values, below which it is kept encoded: the dictionary it takes is
small then. Text that differs from row to row has more."""


class Parquet:
    """Parquet: only the columns and row groups asked for are read."""

    untyped = False
    inferred = False

    def inspect(
        self, file: StoredFile, outline: Callable[[pa.Schema, Collection[str]], Any] | None = None
    ) -> Contents:
        """Read the footer of a file.

        ``outline`` gets its columns, and the names of those that Arrow stores with these types. It
        returns an expression that holds of every row that is wanted.
        """
        with open_file(file.path) as source, readable(file.path):
            parquet = pq.ParquetFile(source, coerce_int96_timestamp_unit=_OLD_TIMES)
            schema = parquet.schema_arrow
            # Names that are no text are found now.
            types = pa.schema([field.with_type(plain_type(field.type)) for field in schema])
            fields = nested_fields(types)
            pairs = zip(schema, types, strict=True)
            exact = [own.name for own, plain in pairs if own.type == plain.type]
            groups = list(map(parquet.metadata.row_group, range(parquet.num_row_groups)))
            wanted = None if outline is None else _wanted(source, outline(types, exact))
            splits = _splits([group.num_rows for group in groups], wanted)
        warning = None
        for group in groups:
            if group.num_rows > GIANT_ROWS or group.total_byte_size > GIANT_BYTES:
                warning = (
                    f"{file.path}: a row group of {group.num_rows:,} rows and "
                    f"{group.total_byte_size / 1e6:,.0f} MB is read by one worker alone; "
                    "write row groups of about a million rows"
                )
        return Contents(types, splits, warning, fields)

    def stored_bytes(self, item: WorkItem, columns: Sequence[str]) -> int:
        """Return the bytes of columns of some row groups, before compression."""
        with open_file(item.path) as source, readable(item.path):
            metadata = pq.read_metadata(source)
            groups = map(metadata.row_group, _numbers(metadata, item))
            chunks = [chunk for group in groups for chunk in _chunks(group, columns)]
            return sum(chunk.total_uncompressed_size for chunk in chunks)

    def read(self, item: WorkItem, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """Read row groups; large ones a buffer of each column at a time."""
        with open_file(item.path) as source, readable(item.path):
            metadata = pq.read_metadata(source)
            numbers = _numbers(metadata, item)
            groups = [metadata.row_group(number) for number in numbers]
            chunks = [chunk for group in groups for chunk in _chunks(group, columns)]
            large = sum(chunk.total_compressed_size for chunk in chunks) > LARGE_BYTES
            # All columns of the groups are asked for at once: stores answer slowly. Of a file of
            # this machine that would take fresh memory for nothing.
            buffer = _BUFFER_BYTES * large if is_url(item.path) else _LOCAL_BUFFER_BYTES
            plain = {chunk.path_in_schema for chunk in chunks if not _is_repetitive(chunk)}
            try:
                parquet = pq.ParquetFile(
                    source,
                    metadata=metadata,
                    read_dictionary=[*{chunk.path_in_schema for chunk in chunks} - plain],
                    buffer_size=buffer,
                    pre_buffer=not buffer,
                    page_checksum_verification=True,
                    coerce_int96_timestamp_unit=_OLD_TIMES,
                )
            except KeyError as error:
                raise ValueError(f"a row group has a column {error} of no schema") from error
            size = max(sum(chunk.total_uncompressed_size for chunk in chunks), 1)
            there, read = sum(group.num_rows for group in groups), 0
            rows = max(1, min(BATCH_ROWS, there * BATCH_BYTES // size))
            # The workers are threads enough.
            for stored in parquet.iter_batches(rows, numbers, columns, use_threads=False):
                batch = _flat(stored, columns)
                _check_codes(batch)
                read += len(batch)
                yield batch
            if read != there:
                raise ValueError(f"{read:,} of {there:,} rows of row groups")


def _splits(rows: Sequence[int], wanted: Collection[int] | None) -> tuple[Split, ...]:
    """Return the splits of a file, given the rows of its groups and which of these are wanted."""
    step, splits = -(-len(rows) // MOST_SPLITS), []
    for own, run in itertools.groupby(range(len(rows)), lambda n: wanted is None or n in wanted):
        numbers = list(run)
        for begin in numbers[::step]:
            groups = range(begin, min(begin + step, numbers[-1] + 1))
            splits.append(Split(groups, sum(rows[groups.start : groups.stop]), own))
    return tuple(split for split in splits if split.rows)


def _wanted(source: pa.NativeFile, outline: Any) -> set[int]:
    """Return the row groups that may have a row of which an expression holds."""
    from pyarrow import dataset  # Few pools have a condition.

    fragment = dataset.ParquetFileFormat().make_fragment(source)
    parts = fragment.split_by_row_group(outline, schema=fragment.physical_schema)
    return {group.id for part in parts for group in part.row_groups}


def _flat(batch: pa.RecordBatch, columns: Sequence[str] | None) -> pa.RecordBatch:
    """Return a batch with the fields of structs that were asked for as columns of their own."""
    names = batch.schema.names
    if columns is None or all(name in names for name in columns):
        return batch
    present = {name: column_of(batch, name) for name in columns}
    return pa.record_batch({name: c for name, c in present.items() if c is not None})


def _check_codes(batch: pa.RecordBatch) -> None:
    """Check that codes of a dictionary are of values that it has."""
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and len(column):
            ends = pc.min_max(column.indices)
            low, high = ends["min"].as_py(), ends["max"].as_py()
            if low is not None and not 0 <= low <= high < len(column.dictionary):
                raise pa.ArrowInvalid("a column is damaged: it names values that are not there")


def _numbers(metadata: pq.FileMetaData, item: WorkItem) -> range:
    """Return the numbers of the row groups of an item, none that the file lost meanwhile."""
    every = range(metadata.num_row_groups)
    return every if item.groups is None else every[item.groups.start : item.groups.stop]


def _chunks(
    group: pq.RowGroupMetaData, columns: Sequence[str] | None
) -> list[pq.ColumnChunkMetaData]:
    """Return columns of a row group, by default all; a column may have several chunks."""
    chunks = [group.column(place) for place in range(group.num_columns)]
    if columns is None:
        return chunks
    nested = tuple(f"{name}." for name in columns)
    paths = [chunk.path_in_schema for chunk in chunks]
    return [
        chunk
        for chunk, path in zip(chunks, paths, strict=True)
        if path in columns or path.startswith(nested)
    ]


def _is_repetitive(chunk: pq.ColumnChunkMetaData) -> bool:
    """Tell whether a chunk may be text of few distinct values, which stays encoded as it is read.

    A file does not say how many bytes a chunk has once it is decoded.
    """
    is_text = chunk.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page
    limit = max(_REPETITIVE_BYTES, _PLAIN_BYTES * chunk.num_values)
    return is_text and chunk.total_uncompressed_size < limit
