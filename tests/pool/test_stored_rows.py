"""Rows are in a file when all of them were taken, in row groups of a useful size."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.pool import stored_rows
from evalsampling.pool.files import find_files
from evalsampling.pool.stored_rows import as_row_groups, store_batches, stored_pattern
from evalsampling.storage import open_store

ROWS = pa.table({"id": range(1000), "name": [f"name {n}" for n in range(1000)]})


def small(rows: int) -> list[pa.RecordBatch]:
    """The rows in small batches, and one that is empty."""
    batches = ROWS.to_batches(max_chunksize=rows)
    return [batches[0].slice(0, 0), *batches]


def test_small_batches_become_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_rows, "BATCH_ROWS", 400)
    directory = tmp_path / "a [folder]"
    open_store(directory).make()
    batches = store_batches(as_row_groups(small(150)), str(directory), "one.parquet")
    assert not list(directory.glob("*.parquet"))
    assert [len(batch) for batch in batches] == [450, 450, 100]
    (file,) = find_files(stored_pattern(str(directory)))
    stored = pq.ParquetFile(file.path)
    groups = [stored.metadata.row_group(number).num_rows for number in range(3)]
    assert groups == [450, 450, 100]
    assert stored.read().equals(ROWS)


def test_wide_rows_are_stored_before_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_rows, "BATCH_BYTES", 1000)
    assert [len(batch) for batch in as_row_groups(small(100))] == [100] * 10


def test_what_ends_early_or_has_no_row_leaves_no_file(tmp_path: Path) -> None:
    for batches in ([], small(1000)[:1]):
        assert list(store_batches(as_row_groups(batches), str(tmp_path), "none.parquet")) == []
    some = store_batches(as_row_groups(small(1000)), str(tmp_path), "half.parquet")
    next(some)
    some.close()
    assert open_store(tmp_path).names() == []
