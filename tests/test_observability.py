"""What is kept and told of jobs: manifests, steps, logs; and jobs that nobody waits for."""

import base64
import bz2
import functools
import hashlib
import json
import logging
import subprocess
import sys
import zlib
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import apache_beam as beam
import pytest
import yaml
from apache_beam.portability import common_urns
from apache_beam.portability.api import beam_runner_api_pb2

from evalsampling.commands.ledger import Ledger
from evalsampling.commands.prepare import Preparation
from evalsampling.spec import EvaluationSpec
from evalsampling.telemetry import logs
from evalsampling.workspace.manifest import HERE
from evalsampling.workspace.workspace import Workspace
from pipelines import estimate, prepare, running, sample
from tests.jobs import Job, call, files_below
from tests.test_equivalence import assert_same, reference
from tests.test_retries import RETRYING, failing_now_and_then

ROOT = Path(__file__).resolve().parents[1]
KEYS = [
    "version", "job", "runner", "beam", "options", "seed", "spec", "input", "counts", "started",
    "seconds", "versions",
]  # fmt: skip


def manifests(one: Job) -> dict[str, dict[str, Any]]:
    store = Workspace(one.workspace).store
    return {
        name.removesuffix(".json"): store.read_json(f"jobs/{name}") for name in store.names("jobs")
    }


# --- manifests


def test_every_job_has_a_manifest(job: Callable[..., Job]) -> None:
    one = job(files=2, seed=7)
    one.prepare("--check-ids", "--direct_num_workers=3")
    one.sample("--size", 5)
    labels = one.deliver([*one.answers(1), ("nobody's", "1")])
    estimated = one.estimate("--labels", labels, "--measure", "f1", "--close").json
    taken, prepared, sampled = manifests(one).values()
    marker = json.loads((one.workspace / "evaluation.json").read_text())
    spec = json.dumps(marker["spec"], sort_keys=True)
    pool = {
        "files": 2,
        "bytes": sum(path.stat().st_size for path in (one.directory / "pool").iterdir()),
        "sha256": hashlib.sha256(json.dumps(marker["pool"], sort_keys=True).encode()).hexdigest(),
    }
    for name, manifest in manifests(one).items():
        assert list(manifest) == KEYS
        assert (manifest["job"], manifest["seed"]) == (name, 7)
        assert manifest["spec"] == hashlib.sha256(spec.encode()).hexdigest()
        assert manifest["input"]["pool"] == pool
        assert manifest["versions"] == marker["versions"]
        assert datetime.fromisoformat(manifest["started"]).utcoffset() == timedelta(0)
        assert 0 <= manifest["seconds"] < 60
    assert (prepared["runner"], sampled["runner"], taken["runner"]) == ("FnApiRunner", None, None)
    assert prepared["beam"]["direct_num_workers"] == 3
    assert prepared["options"] == {"check_ids": True}
    assert prepared["counts"] == {
        key: marker[key] for key in ("rows", "leaves", "cells", "reserve_rows")
    }
    assert sampled["options"] == {"size": 5, "next": False}
    assert sampled["counts"]["new_rows"] == 5
    assert taken["options"] == {"measures": ["f1"], "close": True, "strict": False}
    assert taken["counts"] == {
        key: estimated[key] for key in ("round", "labels", "open", "rejects")
    }
    assert taken["input"]["deliveries"] == [
        {
            "file": "labels.csv",
            "replace": False,
            "bytes": labels.stat().st_size,
            "sha256": hashlib.sha256(labels.read_bytes()).hexdigest(),
        }
    ]
    (estimate,) = (one.workspace / "estimates").iterdir()
    assert taken["job"] == f"estimate-{estimate.stem}"


def test_what_does_nothing_new_adds_nothing(job: Callable[..., Job]) -> None:
    one = job()
    one.prepare()
    one.sample()
    labels = one.deliver(one.answers(1)[:3])
    one.estimate("--labels", labels)
    before = files_below(one.workspace)
    one.prepare()
    one.sample()
    one.estimate("--labels", labels)
    call("status", one.workspace, "--jobs")
    assert files_below(one.workspace) == before
    one.estimate("--measure", "recall")
    assert len(manifests(one)) == 4


def test_jobs_of_beam_tell_runner_and_options(job: Callable[..., Job]) -> None:
    one = job()
    one.prepare()
    runner = ("--runner=BundleBasedDirectRunner", "--label=team=quality")
    one.sample(*runner, "--next")
    one.estimate(*runner, "--strict")
    estimated, _, sampled = manifests(one).values()
    for manifest in (estimated, sampled):
        assert manifest["runner"] == "BundleBasedDirectRunner"
        assert manifest["beam"] == {"labels": ["team=quality"]}
    assert sampled["options"] == {"size": None, "next": True}
    assert estimated["options"]["strict"] is True


def test_a_top_up_has_a_manifest(job: Callable[..., Job]) -> None:
    one = job(budget=30)
    one.prepare()
    held = one.prepare("--top-up", 60).json["reserve_rows"]
    made = manifests(one)["top-up-0001"]
    assert made["options"] == {"top_up": 60}
    assert made["counts"] == {"rows": 2000, "reserve_rows": held}
    assert made["input"] == manifests(one)["prepare"]["input"]
    one.prepare("--top-up", 1)
    assert len(manifests(one)) == 2, "nothing to do"


def test_status_tells_jobs_in_their_order(job: Callable[..., Job]) -> None:
    one = job()
    one.prepare()
    for _ in range(2):
        one.sample("--next")
        one.estimate()
    told = call("status", one.workspace, "--json").json["jobs"]
    names = [name.partition("-")[0] for name in told]
    assert names == ["prepare", "sample", "estimate", "sample", "estimate"]
    assert {name: {**one, "steps": {}} for name, one in manifests(one).items()} == {
        name: {**one, "steps": {}} for name, one in told.items()
    }
    assert told["sample-0001"]["steps"] == {}
    text = call("status", one.workspace, "--jobs").out
    (line,) = (line for line in text.splitlines() if line.startswith("sample-0002"))
    assert "new_rows 20" in line


def test_a_round_that_is_lost_has_no_manifest(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job()
    one.prepare()
    before = files_below(one.workspace)

    def die(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("evalsampling.commands.ledger.write_tasks", die)
    assert one.sample().status == 1
    assert files_below(one.workspace) == before


def test_a_damaged_manifest_is_named(job: Callable[..., Job]) -> None:
    one = job()
    one.prepare()
    (one.workspace / "jobs" / "prepare.json").write_text("{}")
    result = call("status", one.workspace)
    assert result.status == 1
    assert "jobs/prepare.json: damaged, 'started' is missing" in result.err


# --- jobs that nobody waits for


def test_prepare_detached(job: Callable[..., Job], capsys: pytest.CaptureFixture[str]) -> None:
    """What one that died has left is not mixed with the next one's, and goes in the end."""
    one = job(files=2, budget=30, pool={"scorer": "tests.jobs:same"})
    expected = reference(one)
    died = Preparation.of(EvaluationSpec.load(one.spec), HERE, detached=True)
    died.workspace.store.make()
    died.write_reserve(0, expected.reserve)
    prepare.main([f"--spec={one.spec}", "--no-wait"])
    assert capsys.readouterr().out == ""
    assert_same(one.workspace, expected, budget=30)
    attempt = Workspace(one.workspace).marker["attempt"]
    assert len(attempt) == 32
    assert attempt != died.attempt
    assert all(attempt in path.name for path in (one.workspace / "reserve").iterdir())
    assert all(attempt in str(path) for path in (one.workspace / "scored").rglob("*.parquet"))
    told = call("status", one.workspace, "--json").json["jobs"]["prepare"]
    assert (told["counts"]["rows"], told["steps"]) == (2000, {})
    assert one.sample().json["rows"] == 20
    assert one.prepare("--top-up", 60).status == 0


def test_prepare_detached_refuses_what_is_not_a_workspace(job: Callable[..., Job]) -> None:
    one = job()
    one.workspace.mkdir()
    (one.workspace / "thesis.tex").write_text("important")
    with pytest.raises(ValueError, match="not a workspace, it holds thesis"):
        prepare.main([f"--spec={one.spec}", "--no-wait"])
    assert list(files_below(one.workspace)) == ["thesis.tex"]


def test_template_of_what_is_prepared_has_a_job(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launcher of a Flex Template fails without one."""
    one = job()
    one.prepare()
    before, launched = files_below(one.workspace), []
    monkeypatch.setattr(prepare, "run", lambda pipeline, wait: launched.append((pipeline, wait)))
    prepare.main([f"--spec={one.spec}"])
    assert launched == []
    prepare.main([f"--spec={one.spec}", "--template_location=gs://bucket/template"])
    ((pipeline, wait),) = launched
    assert not wait
    pipeline.run().wait_until_finish()
    assert files_below(one.workspace) == before


# --- requests that are tried again


def test_a_round_is_drawn_once_however_often_it_is_tried(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = job()
    one.prepare()
    log = tmp_path / "calls"
    failing = failing_now_and_then(Ledger.sample, log)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "sample", failing)
        assert one.sample("--next", RETRYING).json["round"] == 1
        assert one.sample("--next", RETRYING).json["round"] == 2
    assert len(log.read_text()) == 4, "the third call did its work and failed"
    assert len(Workspace(one.workspace).rounds) == 2
    assert call("status", one.workspace, "--json").json["open"] == 20
    assert one.sample("--next").json["round"] == 3


def test_a_request_that_broke_off_is_finished(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its round was drawn, before the one before was closed; others draw meanwhile."""
    one = job()
    one.prepare()
    one.sample()
    ledger = Ledger(Workspace(one.workspace))

    def die(*_: object) -> None:
        raise OSError("a worker was lost")

    with monkeypatch.context() as patch:
        patch.setattr(Workspace, "close_round", die)
        with pytest.raises(OSError, match="worker"):
            ledger.sample(7, True, "request")
    assert call("status", one.workspace, "--json").json["open"] == 27
    again = ledger.sample(7, True, "request")
    assert (again["round"], again["rows"], again["reason"]) == (2, 7, None)
    assert call("status", one.workspace, "--json").json["open"] == 7
    assert one.sample("--next").json["round"] == 3
    assert ledger.sample(7, True, "request") == again
    assert call("status", one.workspace, "--json").json["open"] == 20


def test_every_launch_is_a_request_of_its_own(job: Callable[..., Job]) -> None:
    one = job()
    one.prepare()
    for _ in range(2):
        sample.main([f"--workspace={one.workspace}", "--next"])
    one.sample("--next")
    requests = [files.design["request"] for files in Workspace(one.workspace).rounds]
    assert len({*requests}) == 3
    assert requests[2] is None


# --- graphs


def test_functions_are_pickled_by_name(job: Callable[..., Job]) -> None:
    """A function that is pickled by value tells where its file was, and has to fit there."""
    preparation = Preparation.of(EvaluationSpec.load(job().spec), HERE, check_ids=True)
    root = beam.Pipeline(options=running.parse_options([]))
    prepare.build(root, preparation)
    steps = root.to_runner_api().components.transforms.values()
    functions = [
        beam_runner_api_pb2.ParDoPayload.FromString(step.spec.payload).do_fn.payload
        for step in steps
        if step.spec.urn == common_urns.primitives.PAR_DO.urn
    ]
    assert len(functions) > 20
    for function in functions:
        packed = base64.b64decode(function)
        content = zlib.decompress(packed) if packed[:1] == b"\x78" else bz2.decompress(packed)
        for folder in ("evalsampling", "pipelines"):
            assert str(ROOT / folder).encode() not in content


# --- logs


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


@pytest.mark.usefixtures("as_json")
def test_logs_of_the_command_line(job: Callable[..., Job]) -> None:
    one = job()
    prepared = records(call("prepare", one.spec).err)
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


@pytest.mark.usefixtures("as_json")
@pytest.mark.parametrize("pipeline", [prepare, sample, estimate], ids=lambda one: one.__name__)
def test_logs_of_pipelines(
    job: Callable[..., Job], capsys: pytest.CaptureFixture[str], pipeline: ModuleType
) -> None:
    one, name = job(), pipeline.__name__.removeprefix("pipelines.")
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


@pytest.mark.usefixtures("as_json")
def test_logs_of_a_process(job: Callable[..., Job]) -> None:
    """All that is on stderr, whatever libraries have to say."""
    one = job()
    command = [sys.executable, "-m", "pipelines.prepare", f"--spec={one.spec}"]
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


def test_spec_hash_is_of_the_spec_alone(job: Callable[..., Job]) -> None:
    one = job()
    one.prepare()
    content = yaml.safe_load(one.spec.read_text())
    one.spec.write_text(yaml.safe_dump(content, sort_keys=True))
    assert one.prepare().status == 0
    assert len(manifests(one)) == 1
