"""Rows of a pool in files below the workspace: those that a scorer scored, or that no file has."""

import contextlib
import dataclasses
import functools
import glob
import operator
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.parts.references import load_object
from evalsampling.pool.arrow import column_of
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.formats.parquet import BATCH_BYTES
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.layout import Layout
from evalsampling.pool.splits import PLACE, WorkItem
from evalsampling.storage import open_store

GROUP_ROWS = 1 << 20
"""Most rows of a row group of imported files."""


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
    """Return the writer of a Parquet file, which gets its name when the stack is closed."""
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
        if rows >= GROUP_ROWS or size >= BATCH_BYTES:
            yield _joined(held)
            held, rows, size = [], 0, 0
    if held:
        yield _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> PoolBatch:
    (rows,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return PoolBatch(rows)


@dataclasses.dataclass(frozen=True)
class Scorer:
    """The user's function that adds columns to Arrow record batches."""

    reference: str  # ``module:function``
    directory: str | None  # looked in first for the module, so that it may stand beside the spec

    @functools.cached_property
    def function(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        """The function itself."""
        function = load_object("pool.scorer", self.reference, self.directory)
        if not callable(function):
            raise InputError(f"pool.scorer: {self.reference} is not a function")
        return function

    def score(self, batch: PoolBatch) -> PoolBatch:
        """Return a batch with the columns that the function adds, checked to have its rows."""
        first, last = batch.row_number(0), batch.row_number(len(batch) - 1)
        where = f"{batch.path}: rows {first} to {last}: scorer {self.reference}"
        try:
            rows: Any = self.function(batch.rows)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{where} failed: {type(error).__name__}: {error}") from error
        if not isinstance(rows, pa.RecordBatch):
            raise InputError(f"{where} returned {type(rows).__name__}, not a RecordBatch")
        if len(rows) != len(batch.rows):
            raise InputError(f"{where} returned {len(rows)} rows for {len(batch.rows)}")
        return dataclasses.replace(batch, rows=rows)


def score_item(
    item: WorkItem, scorer: Scorer, columns: Sequence[str], directory: str
) -> Iterator[PoolBatch]:
    """Yield a work item's scored rows; their columns are stored once the last batch is taken."""

    def written(batch: PoolBatch) -> pa.RecordBatch:
        if item.where is None:
            return batch.rows
        places = batch.row_numbers(np.arange(len(batch)))  # Some rows are left out.
        return batch.rows.append_column(PLACE, pa.array(places))

    scored = _scored(item, scorer, columns)
    return store_batches(scored, directory, _scored_name(item), written, pa.schema([]))


def _scored(item: WorkItem, scorer: Scorer, columns: Sequence[str]) -> Iterator[PoolBatch]:
    first = None
    for batch in read_batches(item, columns=None):
        if not len(batch):
            continue
        result = scorer.score(batch)
        for name in columns:
            if not result.has(name):
                names = ", ".join(result.rows.schema.names)
                raise InputError(
                    f"{batch.path}: column {name!r} is missing after scoring; there are: {names}"
                )
        rows = pa.record_batch([column_of(result.rows, name) for name in columns], columns)
        first = rows.schema if first is None else first
        for field, kept in zip(rows.schema, first, strict=True):
            if field.type != kept.type:
                problem = f"scored as {field.type}, but as {kept.type} before"
                raise batch.error(field.name, 0, problem)
        yield dataclasses.replace(result, rows=rows)


def scored_item(item: WorkItem, directory: str) -> WorkItem:
    """Return the work item that reads the scored rows of another."""
    path = open_store(directory).url(_scored_name(item))
    return dataclasses.replace(
        item, path=path, groups=None, layout=Layout(), where=None,
        has_places=item.where is not None,
    )  # fmt: skip


def _scored_name(item: WorkItem) -> str:
    return f"{item.file:05d}-{item.first_row:012d}.parquet"
