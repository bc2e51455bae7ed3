"""The DAG of Airflow: its settings, and a round by its tasks."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.deployment.airflow_double import Task, load
from tests.jobs import Job, Jobs, make_pool

ROOT = Path(__file__).resolve().parents[2]
ROUND = ["prepare", "undecided", "sample", "wait_for_labels", "estimate"]


@pytest.fixture
def scheduled(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job that a DAG is written for."""
    one = job(make_pool(), budget=20, round_size=20, measure="accuracy", sampler="passive")
    (one.directory / "in box").mkdir()
    command = one.directory / "evalsampling"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m evalsampling "$@"\n')
    command.chmod(0o755)
    settings = {
        "command": str(command),
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


@pytest.mark.usefixtures("scheduled")
def test_one_run_at_a_time_and_no_catching_up() -> None:
    made = load()[1]["evaluate_here"]
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
def test_tasks_of_two_runs_are_one_round(scheduled: Job) -> None:
    """As if `max_active_runs` were not set. At once: tests/commands/test_sample.py."""
    tasks: dict[str, Task] = load()[1]["evaluate_here"].tasks

    def twice(task: str) -> Any:
        first, second = (tasks[task].run() for _ in range(2))
        assert first == (second | {"again": False} if task == "sample" else second)
        return second

    assert twice("prepare")["rows"] == 2000
    assert twice("undecided") is True
    assert (twice("sample")["round"], scheduled.sample().json["rows"]) == (1, 20)
    whole = scheduled.deliver(scheduled.answers(1), "in box/a.csv")
    content = whole.read_bytes()
    whole.write_bytes(content[: len(content) // 2])
    assert twice("wait_for_labels") is False, "half a file is no whole round"
    whole.write_bytes(content)
    assert twice("wait_for_labels") is True
    told = twice("estimate")
    assert (told["labels"], told["open"]) == (20, 0)
    assert twice("undecided") is False
    assert tasks["sample"].run()["round"] == 1, "a run that had looked before"
    assert [path.name for path in (scheduled.workspace / "rounds").iterdir()] == ["0001"]
    assert len(list(scheduled.workspace.glob("labels/*.parquet"))) == 2
