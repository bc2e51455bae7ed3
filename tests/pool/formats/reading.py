"""Files read as the package reads them: Parquet by its splits, all others as a whole."""

import bz2
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import zstandard

from evalsampling.pool.files import StoredFile
from evalsampling.pool.layout import Layout
from evalsampling.pool.splits import WorkItem

COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}


def inspected(kind: Any, path: Path) -> Any:
    """Look into a file."""
    return kind.inspect(StoredFile(str(path), path.stat().st_size))


def read_rows(
    kind: Any, path: Path, columns: list[str] | None = None, schema: pa.Schema | None = None
) -> list[dict[str, Any]]:
    """Read a file as the package does, with other types than it has itself if told so."""
    schema = schema or inspected(kind, path).schema
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    file = StoredFile(str(path), path.stat().st_size)
    batches = list(kind.read(file, schema))
    assert all(batch.schema.names == schema.names for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()]


def work_items(kind: Any, path: Path) -> Iterator[WorkItem]:
    """Give the splits of a Parquet file."""
    contents = inspected(kind, path)
    first_row = 0
    for split in contents.splits:
        yield WorkItem(
            path=str(path), groups=split.groups, rows=split.rows, schema=contents.schema,
            untyped=False, file=0, origin=str(path), first_row=first_row, layout=Layout(),
        )  # fmt: skip
        first_row += split.rows


def parquet_rows(kind: Any, path: Path, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """Read a Parquet file split by split, and check the counts of rows."""
    rows: list[dict[str, Any]] = []
    for item in work_items(kind, path):
        batches = list(kind.read(item, columns))
        assert sum(map(len, batches)) == item.rows
        rows += pa.Table.from_batches(batches).to_pylist()
    return rows
