"""Files read as the package reads them, split by split."""

import bz2
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import zstandard

from evalsampling.pool.files import StoredFile
from evalsampling.pool.splits import WorkItem

COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}


def work_items(kind: Any, path: Path | str, schema: pa.Schema | None = None) -> Iterator[WorkItem]:
    """Give the splits of a file, with other types than it has itself if told so."""
    contents = kind.inspect(StoredFile(str(path), Path(path).stat().st_size))
    first_row = 0
    for split in contents.splits:
        yield WorkItem(
            path=str(path),
            begin=split.begin,
            end=split.end,
            rows=split.rows,
            schema=schema or contents.schema,
            untyped=kind.untyped,
            file=0,
            origin=str(path),
            first_row=first_row,
        )
        first_row += split.rows


def read_rows(
    kind: Any, path: Path | str, columns: list[str] | None = None, schema: pa.Schema | None = None
) -> list[dict[str, Any]]:
    """Read a file as the package does, split by split, and check the counts of rows."""
    rows: list[dict[str, Any]] = []
    for item in work_items(kind, path, schema):
        batches = list(kind.read(item, columns))
        assert sum(map(len, batches)) == item.rows
        rows += pa.Table.from_batches(batches).to_pylist()
    return rows
