"""Scores made by the user's own function while a pool is read."""

from collections.abc import Callable
from typing import Any

import pytest

from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.bad_pools import assert_clean_failure
from tests.jobs import Job, Pool, make_pool
from tests.reference import (
    assert_same_tables,
    reserve_of,
)


def test_scorer_runs_once_and_gives_the_same_cells(job: Any) -> None:
    pool = make_pool()
    bare = Pool(
        pool.table.rename_columns(["id", "raw", "unused", "name"]),
        pool.truth,
    )
    scorer = {"scorer": "my_scorer:score", "prediction": {"threshold": 1.0}}
    one = job(bare, files=3, group_rows=77, pool=scorer)
    (one.directory / "my_scorer.py").write_text(
        "import pathlib\n"
        "def score(batch):\n"
        "    calls = pathlib.Path(__file__).with_name('calls')\n"
        "    with calls.open('a') as file: file.write(f'{len(batch)}\\n')\n"
        "    return batch.append_column('score', batch.column('raw'))\n"
    )
    assert one.prepare().status == 0
    rows = [int(line) for line in (one.directory / "calls").read_text().split()]
    assert sum(rows) == len(pool.table)
    plain = job(pool, pool={"prediction": {"threshold": 1.0}})
    plain.prepare()
    assert_same_tables(
        PreparedPool.read(Workspace(one.workspace)).table,
        PreparedPool.read(Workspace(plain.workspace)).table,
    )
    assert reserve_of(one.workspace) == reserve_of(plain.workspace)


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
