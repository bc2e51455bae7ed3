"""`prepare --in-process`: pools that have changed since, and options that need Beam."""

from typing import Any

import pytest

from tests.jobs import Jobs, call, files_below, make_pool


@pytest.mark.parametrize("how", [["--in-process"], ["--runner", "DirectRunner"]])
def test_a_pool_that_has_changed_is_not_taken_for_the_one_prepared(job: Any, how: Any) -> None:
    one = job(files=2)
    told = one.prepare("--in-process").json
    assert told["runner"] == "this process"
    assert one.prepare(*how).json == told, "prepared again, it does nothing"
    before = files_below(one.workspace)
    folder = one.directory / "pool"
    content = (folder / "part-1.parquet").read_bytes()
    make_pool(rows=300).write(one.directory / "other")
    other = next((one.directory / "other").iterdir()).read_bytes()
    (folder / "part-2.parquet").write_bytes(other)
    assert "part-2.parquet: was not in the pool when" in one.prepare(*how).refused
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


def test_ids_are_checked_when_a_pool_is_prepared_or_not_at_all(job: Jobs) -> None:
    one = job()
    told = one.prepare().json
    before = files_below(one.workspace)
    result = one.prepare("--check-ids")
    assert (result.status, result.out) == (1, "")
    assert f"{one.workspace}: prepared without --check-ids; choose another workspace" in result.err
    assert files_below(one.workspace) == before
    assert one.prepare().json == told
