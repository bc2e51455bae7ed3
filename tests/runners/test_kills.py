"""Killed while it prepares, a job ends; run again, it gives what it would have given at once."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs import Job
from tests.reference import assert_same_evaluation
from tests.runners.portable import Runner, by_prism, serving, workers
from tests.servers import until

pytestmark = [
    pytest.mark.runners,
    pytest.mark.kills,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


@pytest.fixture
def slow(job: Any) -> Job:
    """A job with a scorer that takes as many seconds for each of 40 row groups as NAP says."""
    return job(files=4, group_rows=50, pool={"scorer": "tests.jobs:napping"})


@contextlib.contextmanager
def preparing(one: Job, options: list[str], nap: str = "0.5") -> Iterator[subprocess.Popen[bytes]]:
    """Start `prepare`; give its process when some row groups are scored, others are not."""
    command = [sys.executable, "-m", "evalsampling", "prepare", str(one.spec), *options]
    with (one.directory / "prepare.log").open("wb") as log:
        launcher = subprocess.Popen(command, env={**os.environ, "NAP": nap}, stderr=log)
        try:
            scored = one.workspace / "scored"
            until(lambda: len(list(scored.glob("*.parquet"))) > 2, lambda: launcher.poll() is None)
            yield launcher
        finally:
            launcher.kill()
            launcher.wait()


def assert_same_when_run_again(one: Job, options: list[str]) -> None:
    assert one.sample().status == 1
    assert one.prepare(*options).done
    assert not (one.workspace / ".preparing").exists()
    assert_same_evaluation(one)


def test_worker_killed(slow: Job, runner: Runner, tmp_path: Path) -> None:
    """The job fails and clears up, rather than wait for its worker for ever."""
    directory = tmp_path / "server"
    with (
        serving(runner, directory) as server,
        workers(directory, NAP="0.5") as pool,
        preparing(slow, [*server.options, *pool.options]) as launcher,
    ):
        for pid in pool.pids:
            os.kill(pid, signal.SIGKILL)
        assert launcher.wait(timeout=180) == 1
        assert not slow.workspace.exists()
        assert_same_when_run_again(slow, server.options)


@by_prism
def test_server_killed(slow: Job, runner: Runner, tmp_path: Path) -> None:
    with (
        serving(runner, tmp_path / "server") as server,
        preparing(slow, server.options) as launcher,
    ):
        server.process.kill()
        assert launcher.wait(timeout=180) == 1
    assert not slow.workspace.exists()
    with serving(runner, tmp_path / "server") as server:
        assert_same_when_run_again(slow, server.options)


@by_prism
def test_launcher_killed(slow: Job, runner: Runner, tmp_path: Path) -> None:
    """What it left in the workspace goes when the job is run again, on the same server."""
    with serving(runner, tmp_path / "server") as server:
        with preparing(slow, server.options) as launcher:
            launcher.kill()
            launcher.wait()
        assert (slow.workspace / ".preparing").exists()
        assert_same_when_run_again(slow, server.options)
