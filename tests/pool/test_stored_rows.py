"""Rows are in a file when all of them were taken, in row groups of a useful size."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.pool import stored_rows
from evalsampling.pool.files import find_files
from evalsampling.pool.stored_rows import as_row_groups, store_batches, stored_pattern
from evalsampling.storage import open_store
from tests.bad_pools import assert_clean_failure
from tests.jobs import Job

ROWS = pa.table({"id": range(1000), "name": [f"name {n}" for n in range(1000)]})


def small(rows: int) -> list[pa.RecordBatch]:
    """The rows in small batches, and one that is empty."""
    batches = ROWS.to_batches(max_chunksize=rows)
    return [batches[0].slice(0, 0), *batches]


def test_small_batches_become_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_rows, "GROUP_ROWS", 400)
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


def test_scorer_errors(job: Any) -> None:
    one = job(files=2, pool={"scorer": "bad_scorer:fail"})
    assert_clean_failure(one, ["bad_scorer:fail", "No module"])
    (one.directory / "bad_scorer.py").write_text(
        "def fail(batch):\n    raise KeyError('surname')\n"
        "def short(batch):\n    return batch.slice(1)\n"
    )
    assert_clean_failure(one, ["part-", "rows 0 to 999", "bad_scorer:fail", "KeyError"])
    two = job(files=2, pool={"scorer": "bad_scorer:short"})
    assert_clean_failure(two, ["part-", "999 rows for 1000"])


def test_a_scorer_that_changes_a_type_is_named(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job(files=2, group_rows=300, pool={"scorer": "fickle:score", "score": "made"})
    (one.directory / "fickle.py").write_text(
        "import pyarrow as pa\n"
        "calls = []\n"
        "def score(batch):\n"
        "    calls.append(1)\n"
        "    made = batch.column('score').cast(pa.float32() if len(calls) > 1 else pa.float64())\n"
        "    return batch.append_column('made', made)\n"
    )
    monkeypatch.setattr("evalsampling.pool.formats.parquet.BATCH_ROWS", 100)
    result = one.prepare()
    assert result.status == 1
    for words in ("part-", "column 'made', row", "scored as float, but as double before"):
        assert words in result.err
    assert not one.workspace.exists()
