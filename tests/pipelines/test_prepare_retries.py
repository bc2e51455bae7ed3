"""Bundles that fail once and are tried again: the result is what it would have been."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsampling.commands.prepare import Preparation
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.formats import registry as formats
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.reserve import Reserve
from evalsampling.preparation.reserve_builder import ReserveBuilder
from evalsampling.spec import EvaluationSpec
from evalsampling.workspace.manifest import ExecutionContext
from evalsampling.workspace.workspace import Workspace
from tests.in_pipelines import RETRYING, failing_now_and_then
from tests.jobs import Jobs
from tests.reference import assert_same, reference
from tests.slow import fast


@pytest.mark.slow
def test_reading_breaks_off(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Now and then, after some batches of the item have gone on through the fused stage."""
    monkeypatch.setattr("evalsampling.pool.formats.parquet.BATCH_ROWS", 30)
    one = job(files=2, group_rows=400, budget=30)
    fetch, broken = formats.read_batches, set()

    def breaking(item: Any, columns: Any) -> Iterator[PoolBatch]:
        batches = fetch(item, columns)
        key = (item.groups, *columns)
        if item.groups != range(1, 2) and key not in broken:
            broken.add(key)
            yield from itertools.islice(batches, 5)
            raise OSError("the connection was reset")
        yield from batches

    monkeypatch.setattr("evalsampling.preparation.plan.read_batches", breaking)
    monkeypatch.setattr("evalsampling.preparation.payload.read_batches", breaking)
    assert one.prepare(RETRYING).status == 0
    assert len(broken) == 2 * 3, "two of three groups in the first pass, the second, the payload"
    assert_same(one.workspace, reference(one), budget=30)


STEPS = [
    (CellBatch, "sums"), (Workspace, "commit"), (ReserveBuilder, "build"), (ReserveBuilder, "add"),
    (Preparation, "write_reserve"), (Preparation, "plan"), (Preparation, "commit"),
]  # fmt: skip


@pytest.mark.parametrize(("owner", "name"), fast(1, STEPS))
def test_a_step_fails(
    job: Jobs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, owner: type, name: str
) -> None:
    one = job(files=3, group_rows=300, budget=30)
    expected: MemoryPool = reference(one)
    log = tmp_path / "calls"
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, failing_now_and_then(getattr(owner, name), log))
        assert one.prepare(RETRYING).status == 0
    assert len(log.read_text()) > 1
    assert_same(one.workspace, expected, budget=30)


@pytest.mark.slow
def test_a_part_of_the_reserve_is_written_twice_and_the_first_stays(job: Jobs) -> None:
    """A worker that was taken for dead may still write."""
    one = job(budget=30).prepared()
    before = {path: path.read_bytes() for path in (one.workspace / "reserve").iterdir()}
    pool = reference(one)
    preparation = Preparation.from_spec(EvaluationSpec.load(one.spec), ExecutionContext("test"))
    preparation.write_reserve(0, Reserve(30, pool.reserve.rows))
    assert {path: path.read_bytes() for path in (one.workspace / "reserve").iterdir()} == before
