"""Logs for machines and text for people."""

import functools
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evalsampling.pipelines import estimate, prepare, running, sample
from evalsampling.telemetry import logs
from tests.jobs import Job, call

ROOT = Path(__file__).resolve().parents[2]


def records(stderr: str) -> list[dict[str, Any]]:
    """The lines on stderr, each a record."""
    found = [json.loads(line) for line in stderr.splitlines()]
    for record in found:
        assert list(record)[:3] == ["time", "severity", "message"]
        assert datetime.fromisoformat(record["time"]).utcoffset() == timedelta(0)
        assert record["severity"] in ("INFO", "WARNING", "ERROR", "CRITICAL")
    return found


@pytest.fixture
def as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(logs.VARIABLE, "json")


@pytest.mark.slow
@pytest.mark.usefixtures("as_json")
def test_logs_of_the_command_line(job: Callable[..., Job]) -> None:
    one = job()
    prepared = records(call("prepare", one.spec, "--runner=FnApiRunner").err)
    assert [record["message"] for record in prepared] == ["prepare started", "prepare done"]
    last = prepared[-1]
    assert (last["job"], last["runner"], last["rows"]) == ("prepare", "FnApiRunner", 2000)
    assert last["workspace"] == str(one.workspace)
    assert last["seconds"] > 0
    done = one.sample()
    assert done.json["rows"] == records(done.err)[-1]["rows"] == 20

    answers = one.answers(1)
    labels = one.deliver([*answers[:5], ("t_nope", "MARKER"), (answers[6][0], "MARKER")])
    done = one.estimate("--labels", labels)
    found = records(done.err)
    (taken,) = (record for record in found if record["message"] == "delivery taken")
    assert (taken["severity"], taken["taken"], taken["rejected"]) == ("WARNING", 5, 2)
    assert taken["file"] == "labels.csv"
    assert [record for record in found if "have no label" in record["message"]]
    assert (found[-1]["labels"], found[-1]["rejects"]) == (5, 2)
    assert "MARKER" not in done.err

    done = one.estimate("--labels", labels, "--strict")
    failed = records(done.err)[-1]
    assert done.status == 1
    assert failed["severity"] == "ERROR"
    assert f"{labels}: line 7: unknown task" in failed["message"]
    assert failed["seconds"] >= 0


@pytest.mark.slow
@pytest.mark.usefixtures("as_json")
@pytest.mark.parametrize("pipeline", [prepare, sample, estimate], ids=lambda one: one.__name__)
def test_logs_of_pipelines(
    job: Callable[..., Job], capsys: pytest.CaptureFixture[str], pipeline: ModuleType
) -> None:
    one, name = job(), pipeline.__name__.removeprefix("evalsampling.pipelines.")
    if pipeline is not prepare:
        one.prepare()
    given = f"--spec={one.spec}" if pipeline is prepare else f"--workspace={one.workspace}"
    running.run_as_program(functools.partial(pipeline.main, [given]))
    found = records(capsys.readouterr().err)
    assert found[0]["message"] == f"{name} started"
    assert found[-1]["message"] == f"{name} done"
    assert found[-1]["runner"] == "FnApiRunner"
    assert found[-1]["workspace"] == str(one.workspace)
    with pytest.raises(SystemExit) as end:
        running.run_as_program(functools.partial(pipeline.main, [given, "--bogus=MARKER"]))
    assert end.value.code == 1
    told = capsys.readouterr().err
    assert records(told)[-1]["message"] == f"{name} failed: unknown option --bogus"
    assert "MARKER" not in told


@pytest.mark.slow
@pytest.mark.usefixtures("as_json")
def test_logs_of_a_process(job: Callable[..., Job]) -> None:
    """All that is on stderr, whatever libraries have to say."""
    one = job()
    command = [sys.executable, "-m", "evalsampling.pipelines.prepare", f"--spec={one.spec}"]
    done = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT)
    assert json.loads(done.stdout)["rows"] == 2000
    assert [record["message"] for record in records(done.stderr)][-1] == "prepare done"


@pytest.mark.usefixtures("as_json")
def test_a_defect_is_one_record(capsys: pytest.CaptureFixture[str]) -> None:
    before = logging.getLogger().handlers

    def fail() -> None:
        logging.getLogger("somebody").warning("api_key=%s", "MARKER")
        raise RuntimeError("row 'MARKER'\ngot MARKER")

    with pytest.raises(SystemExit), logs.job("sample", workspace="run"):
        fail()
    started, theirs, failed = map(json.loads, capsys.readouterr().err.splitlines())
    assert theirs["message"] == "api_key=..."
    assert (started["severity"], theirs["severity"]) == ("INFO", "WARNING")
    assert (failed["severity"], failed["message"]) == ("CRITICAL", "sample failed")
    assert "RuntimeError: row '...'" in failed["exc_info"]
    assert "MARKER" not in str([theirs, failed])
    assert logging.getLogger().handlers == before


@pytest.mark.usefixtures("as_json")
def test_progress_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    with logs.job("prepare"):
        logs.stream().write("prepare:  50%\n")
    assert json.loads(capsys.readouterr().err.splitlines()[1])["message"] == "prepare:  50%"
    assert logs.stream() is sys.stderr


@pytest.mark.slow
def test_text_stays_text(job: Callable[..., Job], caplog: pytest.LogCaptureFixture) -> None:
    one = job()
    one.prepare()
    one.sample()
    done = one.estimate("--labels", one.deliver([("t_nope", "1")]))
    assert done.err.startswith("warning: ")
    assert [record for record in caplog.records if record.name == "evalsampling"] == []


def test_another_kind_of_log_is_refused(job: Callable[..., Job], monkeypatch: Any) -> None:
    monkeypatch.setenv(logs.VARIABLE, "xml")
    result = job().sample()
    assert (result.status, result.out) == (2, "")
    assert "EVALSAMPLING_LOG must be json or text" in result.err
