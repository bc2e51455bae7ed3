"""`prepare --check-ids` of a workspace that is prepared."""

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.pipelines import prepare as pipeline
from tests.jobs import Job, Pool, files_below, make_pool

FEW = {"budget": 1, "strata": {"leaves": 1}, "round_size": 1}
"""So small a reserve that equal ids do not meet in it."""


@pytest.fixture
def doubled() -> Pool:
    """A pool with two rows of one id."""
    pool = make_pool(rows=2000)
    ids = pool.table["id"].to_pylist()
    first, second = np.argsort(pool.table["score"].to_numpy())[:2]
    ids[second] = ids[first]
    return Pool(pool.table.set_column(0, "id", pa.array(ids)), pool.truth)


@pytest.mark.slow
def test_equal_ids_are_found_later(job: Callable[..., Job], doubled: Pool) -> None:
    one = job(doubled, files=3, **FEW)
    assert one.prepare().status == 0
    before = files_below(one.workspace)
    for _ in range(2):
        result = one.prepare("--check-ids")
        assert result.status == 1
        assert "column 'id'" in result.err
        assert "duplicate id" in result.err
        assert files_below(one.workspace) == before
    assert one.prepare().status == 0


@pytest.mark.slow
@pytest.mark.parametrize("at_first", [True, False])
def test_ids_are_checked_once(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, at_first: bool
) -> None:
    one = job(files=3)
    told = one.prepare(*["--check-ids"] * at_first).json
    assert one.prepare("--check-ids").json == told
    manifest = one.workspace / "jobs" / "check-ids.json"
    assert manifest.exists() is not at_first
    if not at_first:
        assert json.loads(manifest.read_text())["counts"] == {"rows": 2000}
        assert (one.workspace / "steps" / "check-ids.json").exists()
    written = files_below(one.workspace)
    monkeypatch.setattr(pipeline, "plan_id_check", lambda *_: pytest.fail("checked again"))
    assert one.prepare("--check-ids").json == told
    assert files_below(one.workspace) == written


def test_ids_of_a_scorer(job: Callable[..., Job]) -> None:
    one = job(pool={"scorer": "tests.jobs:same"})
    told = one.prepare().json
    assert one.prepare("--check-ids").json == told
    assert (one.workspace / "jobs" / "check-ids.json").exists()


def test_a_pool_that_has_changed_is_not_checked(job: Callable[..., Job]) -> None:
    one = job(files=2)
    one.prepare()
    (one.directory / "pool" / "part-1.parquet").unlink()
    result = one.prepare("--check-ids")
    assert result.status == 1
    assert "part-1.parquet: the pool has changed since it was prepared" in result.err
