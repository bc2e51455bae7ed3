"""Airflow's tasks as processes that overlap: runs at once, and attempts that outlive their task."""

import fcntl
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.deployment.airflow_double import Dag, load
from tests.jobs import Job, Jobs, make_pool

ROOT = Path(__file__).resolve().parents[2]
ROUND = ["prepare", "undecided", "sample", "wait_for_labels", "estimate"]
COMMAND = f"""#!/bin/sh
echo begun >&2
exec {shlex.quote(sys.executable)} -m evalsampling "$@"
"""
KILLED_AFTER_ITS_WORK = f"""#!/bin/sh
echo begun >&2
{shlex.quote(sys.executable)} -m evalsampling "$@" > /dev/null
kill -9 $$
"""


@pytest.fixture
def scheduled(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job that a DAG is written for; its command says on stderr when it begins."""
    one = job(make_pool(), budget=20, round_size=20, measure="accuracy", sampler="passive")
    (one.directory / "in box").mkdir()
    set_command(one, COMMAND)
    settings = {
        "command": str(one.directory / "evalsampling"),
        "spec": str(one.spec),
        "workspace": str(one.workspace),
        "inbox": str(one.directory / "in box"),
        "half_width": 0.001,
    }
    evaluations = one.directory / "evaluations.yaml"
    evaluations.write_text(json.dumps({"here": settings}))
    monkeypatch.setenv("EVALSAMPLING_EVALUATIONS", str(evaluations))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return one


def set_command(one: Job, content: str) -> None:
    command = one.directory / "evalsampling"
    command.write_text(content)
    command.chmod(0o755)


def the_dag() -> Dag:
    _, made = load()
    return made["evaluate_here"]


class Attempt:
    """A task that runs in a process of its own."""

    def __init__(self, task: str) -> None:
        line = [sys.executable, "-m", "tests.deployment.airflow_double", "evaluate_here", task]
        self._process = subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
        )
        begun = self._process.stderr.readline()
        if begun != b"begun\n":
            raise AssertionError(begun.decode() + self.ended()[1])

    def kill(self) -> None:
        """Kill the task, and not the command it runs."""
        self._process.kill()
        self._process.wait()

    def ended(self) -> tuple[Any, str]:
        """Wait for it and its command; return the result, None if it failed, and stderr."""
        out, err = self._process.communicate()
        return (json.loads(out) if self._process.returncode == 0 else None), err.decode()


def at_once(task: str, times: int = 2) -> list[Any]:
    """Run a task several times at once; those refused are told so and tried again, one by one."""
    attempts: list[Attempt] = []
    try:
        for _ in range(times):
            attempts.append(Attempt(task))
        ended = [attempt.ended() for attempt in attempts]
    finally:
        for attempt in attempts:
            attempt.kill()
    return [again(task, err) if result is None else result for result, err in ended]


def again(task: str, err: str) -> Any:
    """Run a task that was refused once more, and return its result."""
    assert err.startswith("evalsampling "), err
    result, err = Attempt(task).ended()
    assert result is not None, err
    return result


def parts(one: Job, name: str) -> list[str]:
    return sorted(path.name for path in (one.workspace / name).glob("*"))


def test_one_run_at_a_time_and_no_catching_up(scheduled: Job) -> None:
    made = the_dag()
    assert (made.settings["catchup"], made.settings["max_active_runs"]) == (False, 1)
    assert made.settings["default_args"]["retries"] == 3
    assert [*made.tasks] == ROUND
    assert [made.tasks[id].before for id in ROUND] == [*([id] for id in ROUND[1:]), []]
    assert made.tasks["undecided"].kind == "short_circuit"
    assert made.tasks["wait_for_labels"].settings["mode"] == "reschedule"


def test_links_in_the_inbox_are_passed_over(scheduled: Job) -> None:
    inbox = scheduled.directory / "in box"
    kept = [str(scheduled.deliver([("t_a", "1")], f"in box/{name}")) for name in ("a.csv", "c.csv")]
    (inbox / "b.csv").symlink_to(scheduled.deliver([("t_b", "1")], "secret.csv"))
    (inbox / ".hidden.csv").write_text("")
    module, _ = load()
    assert module.deliveries(str(inbox)) == kept


@pytest.mark.slow
def test_two_runs_at_once_are_one(scheduled: Job) -> None:
    """As if `max_active_runs` were not set: each task of both runs at the same time."""
    for result in at_once("prepare"):
        assert result["rows"] == 2000
    assert at_once("undecided") == [True, True]
    drawn = at_once("sample", 3)
    assert [(one["round"], one["batch"]) for one in drawn] == [(1, drawn[0]["batch"])] * 3
    whole = scheduled.deliver(scheduled.answers(1), "in box/a.csv")
    content = whole.read_bytes()
    whole.write_bytes(content[: len(content) // 2])
    assert at_once("wait_for_labels") == [False, False], "half a file is no whole round"
    whole.write_bytes(content)
    assert at_once("wait_for_labels") == [True, True]
    first, second = at_once("estimate")
    assert first == second
    assert (first["labels"], first["open"]) == (20, 0)
    assert at_once("undecided") == [False, False]
    assert [one["round"] for one in at_once("sample")] == [1, 1], "a run that had looked before"
    assert parts(scheduled, "rounds") == ["0001"]
    assert len(list(scheduled.workspace.glob("labels/*.parquet"))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("task", ["sample", "wait_for_labels"])
def test_a_retry_beside_the_command_of_a_killed_attempt_adds_nothing(
    scheduled: Job, task: str
) -> None:
    assert scheduled.prepare().status == 0
    if task == "wait_for_labels":
        assert scheduled.sample().status == 0
        scheduled.deliver(scheduled.answers(1), "in box/a.csv")
    (scheduled.workspace / ".in-use").touch()
    with (scheduled.workspace / ".in-use").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        first = Attempt(task)
        first.kill()
        second = Attempt(task)
    result, err = second.ended()
    assert result is not None, err
    first.ended()
    assert parts(scheduled, "rounds") == ["0001"]
    if task == "sample":
        assert (result["round"], result["rows"]) == (1, 20)
    else:
        assert result is True
        assert len(list(scheduled.workspace.glob("labels/*.parquet"))) == 1
        assert scheduled.estimate().json["labels"] == 20


@pytest.mark.slow
def test_what_a_killed_task_has_done_is_not_done_again(scheduled: Job) -> None:
    scheduled.deliver([("t_early", "1")], "in box/early.csv")
    for task in ROUND:
        set_command(scheduled, KILLED_AFTER_ITS_WORK)
        result, _ = Attempt(task).ended()
        assert result is None
        set_command(scheduled, COMMAND)
        result, err = Attempt(task).ended()
        assert result is not None, err
        if task == "sample":
            assert result["round"] == 1
            scheduled.deliver(scheduled.answers(1), "in box/a.csv")
    assert parts(scheduled, "rounds") == ["0001"]
    assert (result["labels"], result["open"]) == (20, 0)
    assert [len(parts(scheduled, name)) for name in ("taken", "labels")] == [1, 3]
