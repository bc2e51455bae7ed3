"""MLflow, with its runs in a folder of this machine."""

import dataclasses
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.receivers import mlflow as receiver
from evalsampling.receivers.mlflow import _LIMITS, ID, metrics
from evalsampling.receivers.registry import Address
from tests.receivers.runs import evaluation, run
from tests.receivers.servers import serving


@pytest.fixture
def tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """MLflow, with its runs in an empty folder. It takes a second to load, so it is loaded here."""
    import mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    yield mlflow
    mlflow.set_tracking_uri(before)


def runs_of(tracked: Any) -> list[Any]:
    client = tracked.MlflowClient()
    return list(client.search_runs([each.experiment_id for each in client.search_experiments()]))


def test_a_run_has_numbers_files_and_what_identifies_them(tracked: Any) -> None:
    receipt = Address.read("mlflow:evaluations").send(run())
    [logged] = runs_of(tracked)
    assert receipt.where == f"MLflow run {logged.info.run_id}"
    assert tracked.MlflowClient().get_experiment(logged.info.experiment_id).name == "evaluations"
    assert (logged.info.run_name, logged.info.status) == ("pairs", "FINISHED")
    f1 = next(number for number in run().numbers if number.system == "new")
    said = logged.data.metrics
    assert [said[f"f1 of new{end}"] for end in ("", ".low", ".high")] == [f1.value, f1.low, f1.high]
    assert said["labels"] == 150
    assert said["f1 of new where city_Bern"] is not None
    assert not [name for name in said if "pr_curve" in name]
    tags = logged.data.tags
    assert (tags[ID], tags["evalsampling.pool"]) == (run().id, "/data/pool/*.parquet")
    assert tags["evalsampling.gates"] == "not reached"
    assert "not reached. The interval is" in tags["mlflow.note.content"]
    assert logged.data.params["evalsampling.seed"] == "5"
    files = {file.path for file in tracked.MlflowClient().list_artifacts(logged.info.run_id)}
    assert files == {"spec.yaml", "estimates.parquet", "report.html"}
    path = tracked.MlflowClient().download_artifacts(logged.info.run_id, "estimates.parquet")
    assert pq.read_table(path) == run().table


def test_the_same_run_again_is_logged_to_the_same(tracked: Any) -> None:
    assert receiver.send(run(), "a") == receiver.send(run(), "a")
    receiver.send(dataclasses.replace(run(), labels=151), "a")
    assert len(runs_of(tracked)) == 2


@pytest.mark.slow
def test_a_run_that_is_active_is_used_and_goes_on(tracked: Any) -> None:
    with tracked.start_run(run_name="training") as active:
        evaluation().report_to("mlflow", at_least={"f1 of new": 0.2})
        tracked.log_metric("afterwards", 1.0)
    [logged] = runs_of(tracked)
    assert logged.info.run_id == active.info.run_id
    assert {"f1 of new", "afterwards"} <= set(logged.data.metrics)
    assert logged.data.tags["evalsampling.gates"] == "reached"


SLICES = ("a=b", "a:b", "site=http://a.org", "site=../..//x", "site=/", f"site={'x' * 999}",
          f"site={'x' * 999}y", "site=Zürich\n")  # fmt: skip


def test_every_slice_has_metrics_of_its_own(tracked: Any) -> None:
    numbers = [dataclasses.replace(run().numbers[0], slice=text) for text in SLICES]
    of_slices = dataclasses.replace(run(), numbers=tuple(numbers))
    assert Address.read("mlflow").send(of_slices).problem is None
    [logged] = runs_of(tracked)
    assert logged.data.metrics == metrics(of_slices)
    assert len([name for name in logged.data.metrics if name.endswith(".low")]) == len(SLICES)


def test_a_silent_server_is_given_up(tracked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes connections and says nothing."""
    for name in _LIMITS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(_LIMITS, "MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        tracked.set_tracking_uri(f"http://127.0.0.1:{silent.getsockname()[1]}")
        problem = Address.read("mlflow").send(run()).problem
    assert "timed out" in problem.lower()


def test_a_run_is_sent_nowhere_else(tracked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def redirect(handler: Any) -> None:
        asked.append(handler.path)
        handler.send_response(307)
        handler.send_header("Location", "/elsewhere")
        handler.end_headers()

    for name in _LIMITS:
        monkeypatch.delenv(name, raising=False)
    with serving(redirect) as url:
        tracked.set_tracking_uri(url)
        problem = Address.read("mlflow").send(run()).problem
    assert "307" in str(problem)
    assert asked
    assert "/elsewhere" not in asked


@pytest.mark.parametrize("uri", ["sqlite:///{0}/runs.db", "postgresql://me:secret@{0}/runs"])
def test_a_database_is_no_place_for_skinny_mlflow(
    tracked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str
) -> None:
    monkeypatch.setitem(sys.modules, "alembic", None)
    tracked.set_tracking_uri(uri.format(tmp_path))
    with pytest.raises(InputError) as caught:
        Address.read("mlflow")
    message = str(caught.value)
    assert message.startswith(f"--report-to mlflow: {uri.format(tmp_path)[:8]}")
    assert "set MLFLOW_TRACKING_URI to a server, or pip install mlflow" in message
    assert "secret" not in message
    assert "\n" not in message


def test_a_place_that_mlflow_refuses_is_refused_before_anything_is_sent(
    tracked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE")
    tracked.set_tracking_uri(f"file://{tmp_path}/others")
    with pytest.raises(InputError, match=r"^--report-to mlflow: file://.*maintenance mode"):
        Address.read("mlflow")
    tracked.set_tracking_uri("http://127.0.0.1:9")
    Address.read("mlflow")  # A server is not asked.
