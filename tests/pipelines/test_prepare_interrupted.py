"""`prepare` killed, late, twice at once, or where it must not write."""

import importlib
import os
import signal
import subprocess
import sys
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.workspace.workspace import Workspace
from tests.bad_pools import replaced
from tests.jobs import Job, files_below
from tests.servers import until


def start_slow_prepare(one: Job) -> subprocess.Popen[bytes]:
    """Start `prepare` with a scorer that takes 0.2 s for each of the 40 row groups."""
    command = [sys.executable, "-m", "evalsampling", "prepare", str(one.spec)]
    return subprocess.Popen(command, env={**os.environ, "NAP": "0.2"}, stderr=subprocess.PIPE)


@pytest.mark.usefixtures("one_key")
@pytest.mark.slow
def test_killed_prepare_starts_over(job: Any) -> None:
    """Killed when scored rows were already written; the next run finishes as if alone."""
    one = job(files=4, group_rows=50, pool={"scorer": "tests.jobs:napping"})
    process = start_slow_prepare(one)
    scored = one.workspace / "scored"
    until(lambda: len(list(scored.glob("*.parquet"))) > 2, lambda: process.poll() is None)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (one.workspace / "evaluation.json").exists()
    assert "not a prepared workspace" in one.sample().refused
    assert one.prepare().status == 0
    other = job(files=1).prepared()
    cells = [pq.read_table(each.workspace / "cells.parquet") for each in (one, other)]
    assert cells[0] == cells[1]
    assert one.sample().status == other.sample().status == 0
    assert one.batch(1) == other.batch(1)


@pytest.mark.parametrize("name", ["rounds/0001", "scored/mine", "notes.txt"])
def test_a_directory_of_somebody_else_is_not_touched(job: Any, name: str) -> None:
    one = job()
    theirs = one.workspace / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text("precious")
    assert "not empty and not a workspace" in one.prepare().refused
    assert theirs.read_text() == "precious"


def test_a_failed_prepare_leaves_an_empty_directory_of_mine(job: Any) -> None:
    one = job(replaced("score", 3, None))
    one.workspace.mkdir()
    assert one.prepare().status == 1
    assert not one.workspace.exists() or not list(one.workspace.iterdir())


@pytest.mark.slow
def test_two_prepares_at_once(job: Any) -> None:
    """One finishes, the other is told; nothing of the first is lost."""
    importlib.import_module("evalsampling.pipelines.prepare")  # so that the second starts at once
    one = job(files=4, group_rows=50, pool={"scorer": "tests.jobs:napping"})
    process = start_slow_prepare(one)
    until((one.workspace / "scored").exists, lambda: process.poll() is None)
    assert "another prepare is at work" in one.prepare().refused
    assert process.wait() == 0
    process.communicate()
    one.drawn()


def test_workspace_that_cannot_be_made(job: Any) -> None:
    one = job()
    one.workspace.write_text("a file")
    result = one.prepare()
    assert result.status == 1
    assert len(result.err.splitlines()) == 1
    assert one.workspace.read_text() == "a file"


@pytest.mark.slow
def test_a_prepare_that_comes_late_clears_nothing(job: Any) -> None:
    """It looked before another one had finished, and got the lock after that."""
    one = job().prepared()
    before = files_below(one.workspace)
    (one.workspace / ".preparing").touch()
    with (
        pytest.raises(InputError, match="has finished there meanwhile"),
        Workspace(one.workspace).preparing(),
    ):
        pytest.fail("a prepared workspace was given out to be prepared")
    assert files_below(one.workspace) == before


@pytest.mark.slow
def test_interrupted_after_the_marker_is_prepared(job: Any) -> None:
    one = job().prepared()
    written = files_below(one.workspace)
    for name in ("evaluation.json", "cells.parquet"):
        (one.workspace / name).unlink()
    (one.workspace / ".preparing").touch()

    def write_and_stop() -> None:
        with Workspace(one.workspace).preparing():
            for name, content in written.items():
                (one.workspace / name).parent.mkdir(exist_ok=True)
                (one.workspace / name).write_bytes(content)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_stop()
    assert files_below(one.workspace) == written
    assert one.sample().status == 0
