"""`prepare --in-process` makes the workspace that Beam makes."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.bad_pools import BAD
from tests.cases import CASES
from tests.jobs import Job, call, files_below, make_pool, make_rich_pool
from tests.reference import by_beam, contents


@pytest.mark.parametrize("case", ["edges", "kd beside a score", "pooled signatures"])
def test_the_same_workspace(job: Any, case: str) -> None:
    shape, keys = CASES[case]
    keys = {**keys, "pool": {**keys["pool"], "slices": ["city", "year"]}}
    one = job(make_rich_pool(**shape), files=3, group_rows=150, budget=300, **keys)
    expected = by_beam(one)
    told = one.prepare("--in-process").json
    assert contents(one.workspace) == expected
    assert told["runner"] == "this process"
    assert one.prepare("--in-process").json == told, "prepared again, it does nothing"
    assert one.prepare().json == told, "and neither does Beam"
    assert one.sample().status == 0


@pytest.mark.parametrize("how", [["--in-process"], ["--runner", "DirectRunner"]])
def test_a_pool_that_has_changed_is_not_taken_for_the_one_prepared(job: Any, how: Any) -> None:
    one = job(files=2)
    one.prepare("--in-process")
    before = files_below(one.workspace)
    folder = one.directory / "pool"
    content = (folder / "part-1.parquet").read_bytes()
    make_pool(rows=300).write(one.directory / "other")
    other = next((one.directory / "other").iterdir()).read_bytes()
    (folder / "part-2.parquet").write_bytes(other)
    came = one.prepare(*how)
    assert came.status == 1
    assert "part-2.parquet: was not in the pool when" in came.err
    (folder / "part-2.parquet").unlink()
    (folder / "part-1.parquet").write_bytes(other)
    changed = one.prepare(*how)
    assert changed.status == 1
    assert "part-1.parquet: the pool's file has" in changed.err
    assert "choose another workspace or remove this one" in changed.err
    assert "part-1.parquet: the pool's file has" in call("prepare", "--check", one.spec).out
    assert call("status", "--verify", one.workspace).status == 1
    (folder / "part-1.parquet").write_bytes(content)
    assert one.prepare(*how).status == 0
    (folder / "part-1.parquet").unlink()
    assert one.prepare(*how).status == 0, "the pool is not needed any more"
    assert files_below(one.workspace) == before


@pytest.mark.slow
def test_text_with_a_scorer(job: Any) -> None:
    pool = make_pool().with_text_ids()
    one = job(pool, budget=30, pool={"scorer": "halving:score", "score": "halved"})
    (one.directory / "halving.py").write_text(
        "import pyarrow as pa, pyarrow.compute as pc\n"
        "def score(batch):\n"
        "    score = batch['score'].cast(pa.float64())\n"
        "    return batch.append_column('halved', pc.multiply(score, 0.5))\n"
    )
    pool.write_as("csv", one.directory / "text", files=3)
    one.spec.write_text(one.spec.read_text().replace("pool/*.parquet", "text/*.csv"))
    expected = by_beam(one)
    assert any(name.startswith("scored/") for name in expected)
    assert one.prepare("--in-process").status == 0
    assert contents(one.workspace) == expected


@pytest.mark.parametrize("name", ["missing column", "nan score", "duplicate id", "empty pool"])
def test_bad_pool_is_told_in_one_line(job: Any, name: str) -> None:
    make, words = BAD[name]
    one = job(make(), files=2)
    told = one.prepare("--in-process")
    assert (told.status, told.err.count("\n")) == (1, 1)
    for word in words:
        assert word in told.err
    assert not one.workspace.exists()


@pytest.mark.parametrize("option", ["--check-ids", "--top-up", "--runner=FnApiRunner"])
def test_what_needs_beam_is_refused(job: Any, option: str) -> None:
    one = job()
    told = one.prepare("--in-process", option)
    assert told.status == 2
    assert "--in-process takes no --check-ids, --top-up or options of Beam" in told.err
    assert not one.workspace.exists()


def test_ids_are_checked_when_a_pool_is_prepared_or_not_at_all(job: Callable[..., Job]) -> None:
    one = job()
    told = one.prepare().json
    before = files_below(one.workspace)
    result = one.prepare("--check-ids")
    assert (result.status, result.out) == (1, "")
    assert f"{one.workspace}: prepared without --check-ids; choose another workspace" in result.err
    assert files_below(one.workspace) == before
    assert one.prepare().json == told
