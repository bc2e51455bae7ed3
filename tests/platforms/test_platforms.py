"""The gate in a real Dagster asset, a run on a server of MLflow, and tests of dbt."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.jobs import Job, call
from tests.receivers.dbt import dbt_tests
from tests.servers import answer, free_port, until

ROOT = Path(__file__).resolve().parents[2]

ENVIRONMENT = Path(os.environ.get("PLATFORMS_ENVIRONMENT", ROOT / ".venv" / "platforms"))
"""Where `make test-platforms` installs Dagster and MLflow; the variable names another place."""

DBT = ENVIRONMENT.with_name("dbt")
"""Where it installs dbt."""

pytestmark = pytest.mark.platforms

ASSET = """
import importlib.util, json, sys
import dagster

spec = importlib.util.spec_from_file_location("definitions", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


@dagster.asset(deps=["products"])
def published() -> None:
    pass


[asset] = module.defs.assets
with dagster.DagsterInstance.get() as instance:
    result = dagster.materialize(
        [asset, published],
        resources={"pipes": dagster.PipesSubprocessClient()},
        instance=instance,
        raise_on_error=False,
    )
    made = [m.step_materialization_data.materialization
            for m in result.get_asset_materialization_events()]
    print(json.dumps({
        "success": result.success,
        "assets": {m.asset_key.to_user_string(): {
            key: getattr(value, "value", None) for key, value in m.metadata.items()} for m in made},
        "version": [m.tags.get("dagster/data_version") for m in made
                    if m.asset_key.to_user_string() == "products"],
        "checks": {c.check_name: [c.passed, c.severity.value, c.metadata["statement"].value]
                   for c in result.get_asset_check_evaluations()},
    }))
"""


QUIET = {"DAGSTER_DISABLE_TELEMETRY": "1", "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1"}


def program(name: str) -> str:
    """The path of a program there; the test is skipped where it is not."""
    path = (DBT if name == "dbt" else ENVIRONMENT) / "bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not there: make test-platforms installs it")
    return str(path)


@contextlib.contextmanager
def mlflow_server(directory: Path) -> Iterator[str]:
    """A server of MLflow with its own database; yields its URL."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    line = [
        program("mlflow"), "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
        "--backend-store-uri", f"sqlite:///{directory}/mlflow.db",
        "--artifacts-destination", str(directory / "artifacts"),
    ]  # fmt: skip
    path = f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}"
    with (directory / "server.log").open("w") as out:
        process = subprocess.Popen(
            line, cwd=directory, env={**os.environ, **QUIET, "PATH": path}, stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
    try:
        until(lambda: answer(f"{url}/health") is not None, lambda: process.poll() is None)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


@pytest.fixture
def labelled(job: Callable[..., Job]) -> Job:
    """A workspace with a round, whose labels are in the folder `inbox` and not yet taken."""
    one = job(measure=["f1", "recall", "precision"], round_size=100)
    assert one.prepare().status == 0
    one.sample()
    (one.directory / "inbox").mkdir()
    one.deliver(one.answers(1)).rename(one.directory / "inbox" / "labels.csv")
    return one


def command(folder: Path) -> Path:
    """A program that calls the package beside these tests."""
    path = folder / "evalsampling"
    path.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m evalsampling "$@"\n'
    )
    path.chmod(0o755)
    return path


def materialized(one: Job, **settings: Any) -> Any:
    """What Dagster says after it has made the asset, and one that is downstream of it."""
    entry = {
        "command": str(command(one.directory)),
        "workspace": str(one.workspace),
        "inbox": str(one.directory / "inbox"),
        **settings,
    }
    (one.directory / "evaluations.yaml").write_text(yaml.safe_dump({"products": entry}))
    (one.directory / "home").mkdir(exist_ok=True)
    script = one.directory / "materialize.py"
    script.write_text(ASSET)
    variables = {
        **os.environ,
        **QUIET,
        "EVALSAMPLING_EVALUATIONS": str(one.directory / "evaluations.yaml"),
        "DAGSTER_HOME": str(one.directory / "home"),
    }
    variables.pop("PYTHONPATH", None)
    line = [program("python"), script, ROOT / "deployment" / "dagster" / "definitions.py"]
    done = subprocess.run(line, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_gate_that_is_reached_lets_what_is_downstream_go_on(labelled: Job) -> None:
    program("dagster")
    said = materialized(labelled, at_least={"recall": 0.2})
    assert said["success"]
    [passed, _, statement] = said["checks"]["recall_at_least"]
    assert passed
    assert statement.startswith("Recall at least 0.2: reached. The interval is ")
    estimated = call("estimate", labelled.workspace, "--json").json
    recall = next(each for each in estimated["measures"] if each["measure"] == "recall")
    metadata = said["assets"]["products"]
    assert (metadata["recall"], metadata["recall, low"]) == (recall["value"], recall["low"])
    assert metadata["labels"] == 100
    assert said["version"] == [metadata["run_id"]]
    assert "published" in said["assets"]


def test_a_gate_that_is_not_reached_holds_it_back(labelled: Job) -> None:
    program("dagster")
    said = materialized(labelled, at_most={"precision": 0.2}, at_least={"recall": 0.2})
    assert not said["success"]
    assert said["checks"]["recall_at_least"][0]
    assert said["checks"]["precision_at_most"][:2] == [False, "ERROR"]
    assert "products" in said["assets"]
    assert "published" not in said["assets"]


def test_a_gate_that_cannot_be_said_warns(labelled: Job) -> None:
    program("dagster")
    said = materialized(labelled, at_least={"f1": 0.97})
    assert said["checks"]["f1_at_least"][:2] == [False, "WARN"]
    assert "cannot be said" in said["checks"]["f1_at_least"][2]
    assert said["success"], "a warning does not block"


def test_a_run_on_a_server_of_mlflow(labelled: Job, tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    with mlflow_server(folder) as url:
        line = [
            command(tmp_path), "estimate", labelled.workspace, "--labels",
            labelled.directory / "inbox", "--at-least", "recall=0.2", "--report-to",
            "mlflow:pairs", "--json",
        ]  # fmt: skip
        variables = {**os.environ, **QUIET, "MLFLOW_TRACKING_URI": url}
        answers = [
            subprocess.run(line, env=variables, capture_output=True, text=True, check=True)
            for _ in range(2)
        ]
        said = json.loads(answers[0].stdout)
        [experiment] = asked(
            f"{url}/api/2.0/mlflow/experiments/search",
            {"max_results": 9, "filter": "name = 'pairs'"},
        )["experiments"]
        [run] = asked(
            f"{url}/api/2.0/mlflow/runs/search", {"experiment_ids": [experiment["experiment_id"]]}
        )["runs"]
        identity = run["info"]["run_id"]
        with urllib.request.urlopen(
            f"{url}/get-artifact?run_id={identity}&path=report.html"
        ) as page:
            assert b"<html" in page.read()
    metrics = {each["key"]: each["value"] for each in run["data"]["metrics"]}
    for number in said["measures"]:
        for key, name in (("value", ""), ("low", ".low"), ("high", ".high")):
            assert metrics[number["measure"] + name] == pytest.approx(number[key])
    tags = {each["key"]: each["value"] for each in run["data"]["tags"]}
    assert tags["evalsampling.gates"] == "reached"
    assert tags["evalsampling.workspace"] == str(labelled.workspace)


def asked(url: str, body: Any) -> Any:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


@pytest.mark.parametrize(("target", "passes"), [(0.2, True), (0.999, False)])
def test_dbt_runs_the_tests_of_the_page(labelled: Job, target: float, passes: bool) -> None:
    dbt = program("dbt")
    folder = labelled.directory / "estimates"
    inbox = labelled.directory / "inbox"
    call("estimate", labelled.workspace, "--labels", inbox, "--at-least", f"precision={target}",
         "--report-to", f"table:{folder}")  # fmt: skip
    project = labelled.directory / "project"
    (project / "models").mkdir(parents=True)
    sources = yaml.safe_dump(dbt_tests()).replace("/data/estimates", str(folder))
    (project / "models" / "sources.yml").write_text(sources)
    (project / "dbt_project.yml").write_text(
        "name: quality\nversion: '1.0'\nprofile: quality\nmodel-paths: [models]\n"
    )
    (project / "profiles.yml").write_text(
        "quality: {target: here, outputs: {here: {type: duckdb, path: ':memory:'}}}\n"
    )
    line = [dbt, "--no-send-anonymous-usage-stats", "test", "--profiles-dir", "."]
    done = subprocess.run(
        line, cwd=project, capture_output=True, text=True, env={**os.environ, **QUIET}
    )
    assert (done.returncode == 0) is passes, done.stdout[-3000:]
    assert ("PASS=3" if passes else "FAIL 1") in done.stdout
