"""Cron and Airflow: whole evaluations, stop rules, what is killed half-way."""

import ast
import csv
import fcntl
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.faults.operations import Killed
from tests.jobs import Job, Jobs, call, loaded, make_pool
from tests.servers import until

DEPLOYMENT = Path(__file__).resolve().parents[2] / "deployment"
SCRIPT = DEPLOYMENT / "cron/evaluate.py"
NAMES = ["-x.csv", "--labels 'a'.csv", 'b "$(id)" `id`.csv', "c\n;&|*?.csv", "é ü.jsonl.csv"]


@pytest.fixture
def scheduled(job: Jobs) -> Job:
    # Half of the predictions are wrong, so that the first round has an interval.
    wrong = {"prediction": {"threshold": -2.0}}
    keys = {"measure": ["accuracy", "specificity"], "sampler": "passive", "pool": wrong}
    made = job(make_pool(4000), budget=60, round_size=20, **keys)
    (made.directory / "in box").mkdir()
    return made


def answer(job: Job, inbox: Path, number: int, name: str) -> None:
    """Deliver the labels of a round in two files."""
    rows = job.answers(number)
    for place, part in ((inbox / f"{number}{name}", rows[::2]), (inbox / name, rows[1::2])):
        with place.open("w", newline="") as file:
            csv.writer(file).writerows([("task", "label"), *part])


# --- cron


@pytest.fixture
def cron(
    scheduled: Job, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    """Run a pass in this process: `cron()`; `cron("--half-width", 0.1, kill=2)`."""
    evaluate = loaded(SCRIPT)

    def run(*options: Any, status: int = 0, kill: int = 0) -> dict[str, Any]:
        left = iter(range(kill - 1, -1, -1))

        def command(_: Any, *arguments: str) -> Any:
            result = call(*arguments, "--json")
            if next(left, 1) == 0:
                raise Killed
            if result.status:
                raise subprocess.CalledProcessError(result.status, arguments)
            return result.json

        monkeypatch.setattr(evaluate.Command, "__call__", command)
        inbox = scheduled.directory / "in box"
        given = [scheduled.spec, "--inbox", inbox, *options]
        assert evaluate.main([str(one) for one in given]) == status
        out = capsys.readouterr().out
        return json.loads(out) if out else {}

    return run


@pytest.mark.slow
def test_cron_goes_on_to_the_budget_whatever_the_names_of_files(
    scheduled: Job, cron: Callable[..., dict[str, Any]]
) -> None:
    inbox = scheduled.directory / "in box"
    assert cron()["open"] == 20
    for number, name in zip((1, 2, 3), NAMES, strict=False):
        for _ in range(2):
            told = cron()
            assert (told["state"], told["round"]) == ("labelling", number)
            assert Path(told["batch"]).parent == scheduled.round_directory(number)
        answer(scheduled, inbox, number, name)
    told = cron()
    assert (told["state"], told["labels"], told["refused"]) == ("done", 60, [])
    assert cron() | {"time": None} == told | {"time": None}
    assert len(list(scheduled.workspace.glob("labels/*.parquet"))) == 6


@pytest.mark.slow
def test_cron_killed_after_any_command_goes_on(
    scheduled: Job, cron: Callable[..., dict[str, Any]]
) -> None:
    inbox = scheduled.directory / "in box"
    kills = 0
    for number in (1, 2):
        for kill in (1, 2, 3, 4):
            try:
                cron(kill=kill)
            except Killed:
                kills += 1
        assert cron()["round"] == number
        answer(scheduled, inbox, number, NAMES[number])
    for kill in (1, 2, 3, 4):
        with pytest.raises(Killed):
            cron(kill=kill)
    told = cron()
    assert (told["round"], told["labels"], told["open"]) == (3, 40, 20)
    assert kills == 7


def test_cron_stops_when_intervals_are_narrow(
    scheduled: Job, cron: Callable[..., dict[str, Any]]
) -> None:
    cron()
    answer(scheduled, scheduled.directory / "in box", 1, "a.csv")
    assert cron("--half-width", 1, "--measure", "accuracy")["state"] == "narrow"
    assert cron("--half-width", 1e-9)["round"] == 2
    assert cron("--measure", "nonsense", status=1) == {}


def test_cron_without_an_inbox_says_what_to_do(
    scheduled: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        loaded(SCRIPT).main([str(scheduled.spec), "--inbox", str(scheduled.directory / "none")])
    assert "none: there is no such folder; make it first" in capsys.readouterr().err
    assert not scheduled.workspace.exists()


def test_cron_takes_what_can_be_read_and_names_what_cannot(
    scheduled: Job, cron: Callable[..., dict[str, Any]]
) -> None:
    inbox = scheduled.directory / "in box"
    cron()
    answer(scheduled, inbox, 1, "M.CSV")  # As Windows may write it.
    for name in ("a.csv", "z.jsonl", ".hidden.csv", "notes.txt"):
        (inbox / name).write_text("no labels")
    (inbox / "folder.csv").mkdir()
    os.mkfifo(inbox / "pipe.csv")
    told = cron(status=1)
    assert told["refused"] == [str(inbox / "a.csv"), str(inbox / "z.jsonl")]
    assert (told["labels"], told["round"]) == (20, 2)


def test_cron_takes_every_kind_of_delivery(
    scheduled: Job, cron: Callable[..., dict[str, Any]]
) -> None:
    """A file that is passed over is labels lost, and nobody is told."""
    inbox = scheduled.directory / "in box"
    cron()
    tabs = "\n".join(["task\tlabel", *map("\t".join, scheduled.answers(1)[:7]), ""])
    (inbox / "kim.tsv").write_text(tabs)
    (inbox / "sam.csv.gz").write_bytes(gzip.compress(tabs.replace("\t", ",").encode()))
    rest = [{"task": task, "label": label} for task, label in scheduled.answers(1)[7:]]
    (inbox / "lee.json").write_text(json.dumps(rest))
    (inbox / "~$lee.xlsx").write_text("the lock of an open workbook")
    (inbox / "logs.gz").write_bytes(b"no delivery")
    told = cron()
    assert (told["labels"], told["round"], told["refused"]) == (20, 2, [])


def test_cron_follows_no_link_in_the_inbox(
    scheduled: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever may write into it could make the job read any file that it may read."""
    inbox = scheduled.directory / "in box"
    kept = scheduled.deliver([("t_a", "1")], "in box/a.csv")
    (inbox / "b.csv").symlink_to(scheduled.deliver([("t_b", "1")], "secret.csv"))
    assert loaded(SCRIPT).deliveries(inbox) == [str(kept)]
    assert f"{inbox}/b.csv: a symbolic link, passed over" in capsys.readouterr().err


def test_cron_twice_at_once_is_busy_though_the_spec_was_saved_anew(scheduled: Job) -> None:
    """By an editor that writes another file and gives it the name: no pass may lock that one."""
    evaluate = loaded(SCRIPT)
    line = [sys.executable, SCRIPT, scheduled.spec, "--inbox", scheduled.directory / "in box"]
    with evaluate.alone(scheduled.directory / "in box") as lock:
        assert lock is not None
        saved = scheduled.spec.with_suffix(".new")
        saved.write_text(scheduled.spec.read_text())
        saved.rename(scheduled.spec)
        done = subprocess.run(line, stdout=subprocess.PIPE, check=True, timeout=60)
    assert json.loads(done.stdout)["state"] == "busy"
    assert not scheduled.workspace.exists()


def check_parameters(pipeline: str, given: Any) -> None:
    """Check parameters as Dataflow does."""
    metadata = json.loads((DEPLOYMENT / f"dataflow/metadata/{pipeline}.json").read_text())
    known = {one["name"]: one for one in metadata["parameters"]}
    assert set(given) <= set(known)
    assert {name for name, one in known.items() if not one.get("isOptional")} <= set(given)
    for name, value in given.items():
        assert all(re.search(pattern, value) for pattern in known[name].get("regexes", ()))


# --- Airflow


def test_dag_without_airflow() -> None:
    tree = ast.parse((DEPLOYMENT / "airflow/evaluation_dag.py").read_text("utf-8"))
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= {*sys.stdlib_module_names, "airflow", "yaml"}
    keywords = {one.arg for one in ast.walk(tree) if isinstance(one, ast.keyword)}
    assert "shell" not in keywords
    [evaluation] = [node for node in tree.body if getattr(node, "name", "") == "evaluation"]
    known = {one.arg for one in evaluation.args.args}
    listed = yaml.safe_load((DEPLOYMENT / "airflow/evaluations.yaml").read_text("utf-8"))
    assert all(set(settings) <= known for settings in listed.values())
    assert '"parameters": {"spec": spec},' in ast.unparse(tree).replace("'", '"')
    check_parameters("prepare", {"spec": "gs://bucket/evaluation.yaml"})


def locked(path: Path) -> bool:
    folder = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(folder)
    return False


@pytest.mark.slow
def test_cron_as_a_process_killed_and_run_again(scheduled: Job) -> None:
    inbox = scheduled.directory / "in box"
    for name in NAMES:
        (inbox / name).write_text("task,label\nt_unknown,1\n")
    line = [sys.executable, SCRIPT, scheduled.spec, "--inbox", inbox]
    first = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    until(lambda: (scheduled.workspace / ".preparing").exists())
    first.send_signal(signal.SIGKILL)
    first.wait()
    # The command it had begun holds the lock until it ends.
    until(lambda: not locked(scheduled.directory / "in box"))
    assert (scheduled.workspace / "evaluation.json").exists()
    done = subprocess.run(line, capture_output=True, timeout=100)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["open"], told["refused"]) == (20, [])
    assert done.stderr.count(b"0 taken, 1 rejected") == 1
    assert done.stderr.count(b"taken before, nothing changed") == len(NAMES) - 1
