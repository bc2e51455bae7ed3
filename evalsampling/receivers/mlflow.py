"""MLflow: values and ends of intervals as metrics, the report and the table as artifacts."""

import collections
import hashlib
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from evalsampling.errors import InputError, from_extra
from evalsampling.receivers.registry import within
from evalsampling.receivers.run import Run, title_of
from evalsampling.receivers.table import content
from evalsampling.telemetry.logs import one_line
from evalsampling.telemetry.redaction import without_credentials, without_passwords

SECONDS = 60.0
"""That a server has for everything of a run."""

ID = "evalsampling.run_id"
"""Tag by which a run is met again, of those that `_tags` gives it."""

_LONGEST_TAG, _LONGEST_NAME = 5000, 200
_BATCH = 500
"""Metrics of a request: MLflow takes a thousand."""

_LIMITS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "25",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_ALLOW_HTTP_REDIRECTS": "false",
}
"""Seconds of a request, repeats and redirects, where the environment says nothing else: a server
that is silent is given up within a minute, not after the client's own twenty."""


def check(where: str | None) -> None:
    """Check that the package is here, and what it needs for the place where it keeps runs.

    A client opens a database, and makes a new one; it asks no server anything.
    """
    mlflow = _package()
    uri = without_passwords(mlflow.get_tracking_uri())
    try:
        mlflow.MlflowClient()
    except ImportError as error:
        raise InputError(
            f"--report-to mlflow: {uri} is no server, and mlflow-skinny keeps no runs itself: "
            f"set MLFLOW_TRACKING_URI to a server, or pip install mlflow ({one_line(error)})"
        ) from error
    except Exception as error:
        raise InputError(f"--report-to mlflow: {uri}: {one_line(error)}") from error


def send(run: Run, where: str | None) -> str:
    """Log to the run of MLflow that is active, else to one of its own in an experiment.

    A run that was sent before, or in part, is logged to the same run again. Where the server is,
    MLflow's own environment says: MLFLOW_TRACKING_URI and others.
    """
    mlflow = _package()
    for name, value in _LIMITS.items():
        os.environ.setdefault(name, value)
    active = mlflow.active_run()  # MLflow keeps it by thread.
    given = None if active is None else active.info.run_id
    return f"MLflow run {within(SECONDS, lambda: _log(mlflow, run, where, given))}"


def _package() -> Any:
    with from_extra("mlflow", "mlflow-skinny or mlflow", "--report-to mlflow"):
        import mlflow
    return mlflow


def _log(mlflow: Any, run: Run, name: str | None, given: str | None) -> str:
    """Log a run to one that is given, or that has it already, or a new one; return its id."""
    client, experiment, earlier = mlflow.MlflowClient(), None, []
    if given is not None:
        _log_to(client, run, given)
        return given
    if name is not None:
        known = client.get_experiment_by_name(name)
        experiment = client.create_experiment(name) if known is None else known.experiment_id
    if not os.environ.get("MLFLOW_RUN_ID"):
        earlier = mlflow.search_runs(
            experiment and [experiment], f"tags.`{ID}` = '{run.id}'", max_results=1,
            output_format="list",
        )  # fmt: skip
    met = earlier[0].info.run_id if earlier else None
    with mlflow.start_run(met, experiment_id=experiment, run_name=run.name) as own:
        _log_to(client, run, own.info.run_id)
    return str(own.info.run_id)


def _log_to(client: Any, run: Run, identity: str) -> None:
    """Log tags, parameters and metrics of a run, its spec, its table, and the report if any."""
    from mlflow.entities import Metric, Param, RunTag

    tags = [RunTag(*each) for each in _tags(run).items()]
    parameters = [Param(key, str(value)) for key, value in _parameters(run).items()]
    client.log_batch(identity, params=parameters, tags=tags)
    now = time.time_ns() // 1_000_000
    numbers = [Metric(key, number, now, run.labels) for key, number in metrics(run).items()]
    for begin in range(0, len(numbers), _BATCH):
        client.log_batch(identity, metrics=numbers[begin : begin + _BATCH])
    spec = yaml.safe_dump(without_credentials(run.spec), sort_keys=False)
    files = {"spec.yaml": spec.encode(), "estimates.parquet": content(run.table, ".parquet")}
    if run.page is not None:
        files["report.html"] = run.page()
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        client.log_artifacts(identity, folder)


def metrics(run: Run) -> dict[str, float]:
    """Return value and ends of the interval of each number, points of curves apart, and counts."""
    values: dict[str, float] = {**run.counts}
    numbers = {title_of(number): number for number in run.numbers if not number.is_point}
    alike = collections.Counter(map(_name, numbers))
    for title, number in numbers.items():
        name = _name(title, is_shared=alike[_name(title)] > 1)
        parts = {name: number.value, f"{name}.low": number.low, f"{name}.high": number.high}
        values |= {key: value for key, value in parts.items() if value is not None}
    return values


def _name(title: str, is_shared: bool = False) -> str:
    """Return a name that MLflow takes: no path, not long, and of one number alone."""
    name = re.sub(r"[^\w. -]", "_", title)
    if is_shared or len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]} {hashlib.sha256(title.encode()).hexdigest()[:8]}"
    return name


def _tags(run: Run) -> dict[str, str]:
    """Return what identifies a run, and what its gates and numbers on the whole pool say."""
    gates = [gate.statement for gate in run.gates.gates] if run.gates else []
    whole = [number.statement for number in run.whole.values()]
    own = run.origin | {"gates": None if run.gates is None else run.gates.outcome}
    tags = {
        **{f"evalsampling.{name}": text for name, text in own.items()},
        "mlflow.note.content": "\n\n".join([*gates, *whole, *run.warnings]),
    }
    return {key: text[:_LONGEST_TAG] for key, text in tags.items() if text is not None}


def _parameters(run: Run) -> dict[str, Any]:
    values = {
        "rows": run.rows,
        "measures": ", ".join(dict.fromkeys(number.measure for number in run.numbers))[:500],
        "sampler": run.spec["sampler"]["name"],
        "confidence": run.spec["confidence"],
        "seed": run.spec["seed"],
    }
    return {f"evalsampling.{name}": value for name, value in values.items()}
