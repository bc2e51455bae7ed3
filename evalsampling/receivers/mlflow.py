"""MLflow: values and ends of intervals as metrics, the report and the table as artifacts."""

import collections
import dataclasses
import hashlib
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from evalsampling.errors import InputError, from_extra
from evalsampling.receivers.limits import SECONDS, within
from evalsampling.receivers.run import Run, title_of
from evalsampling.receivers.table import content
from evalsampling.telemetry.logs import one_line
from evalsampling.telemetry.redaction import without_credentials, without_passwords
from evalsampling.version import __version__

ID = "evalsampling.run_id"
"""Tag by which a run is met again."""

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


@dataclasses.dataclass(frozen=True)
class MLflow:
    """Logs to the run of MLflow that is active, else to one of its own in an experiment.

    Where the server is, MLflow's own environment says: MLFLOW_TRACKING_URI and others.

    Attributes:
        seconds: that a server has for everything of a run.
    """

    seconds: float = SECONDS

    def output(self, where: str | None) -> None:
        """Return None: no file is written here."""

    def check(self, where: str | None) -> None:
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

    def send(self, run: Run, where: str | None) -> str:
        """Log a run; one that was sent before, or in part, is logged to the same run again."""
        mlflow = _package()
        for name, value in _LIMITS.items():
            os.environ.setdefault(name, value)
        active = mlflow.active_run()  # MLflow keeps it by thread.
        given = None if active is None else active.info.run_id
        identity = within(self.seconds, lambda: _log(mlflow, run, where, given))
        return f"MLflow run {identity}"


MLFLOW = MLflow()


def _package() -> Any:
    with from_extra("mlflow", "mlflow-skinny or mlflow", "--report-to mlflow"):
        import mlflow
    return mlflow


def _log(mlflow: Any, run: Run, name: str | None, given: str | None) -> str:
    """Log a run to one that is given, or that has it already, or a new one; return its id."""
    client = mlflow.MlflowClient()
    if given is not None:
        _log_to(client, run, given)
        return given
    experiment = None if name is None else _experiment(client, name)
    earlier = _earlier(mlflow, run, experiment)
    with mlflow.start_run(earlier, experiment_id=experiment, run_name=run.name) as own:
        _log_to(client, run, own.info.run_id)
    return str(own.info.run_id)


def _log_to(client: Any, run: Run, identity: str) -> None:
    """Log tags, parameters, metrics and files of a run to one of MLflow."""
    from mlflow.entities import Metric, Param, RunTag

    tags = [RunTag(*each) for each in _tags(run).items()]
    parameters = [Param(key, str(value)) for key, value in _parameters(run).items()]
    client.log_batch(identity, params=parameters, tags=tags)
    now = time.time_ns() // 1_000_000
    numbers = [Metric(key, number, now, run.labels) for key, number in metrics(run).items()]
    for begin in range(0, len(numbers), _BATCH):
        client.log_batch(identity, metrics=numbers[begin : begin + _BATCH])
    _log_files(client, run, identity)


def _experiment(client: Any, name: str) -> str:
    """Return the id of an experiment, which is made if there is none of the name."""
    experiment = client.get_experiment_by_name(name)
    return str(client.create_experiment(name) if experiment is None else experiment.experiment_id)


def _earlier(mlflow: Any, run: Run, experiment: str | None) -> str | None:
    """Return the run of MLflow that a run was logged to, None if it was not, or one is named."""
    if os.environ.get("MLFLOW_RUN_ID"):
        return None
    logged = mlflow.search_runs(
        None if experiment is None else [experiment],
        filter_string=f"tags.`{ID}` = '{run.id}'",
        max_results=1,
        output_format="list",
    )
    return logged[0].info.run_id if logged else None


def metrics(run: Run) -> dict[str, float]:
    """Return value and ends of the interval of each number, points of curves apart, and counts."""
    values: dict[str, float] = {"labels": run.labels, "open": run.open, "round": run.round}
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
    tags = {
        ID: run.id,
        "evalsampling.workspace": run.workspace,
        "evalsampling.pool": run.pool_name,
        "evalsampling.pool_version": run.pool_version,
        "evalsampling.spec_version": run.spec_digest,
        "evalsampling.version": __version__,
        "evalsampling.gates": None if run.gates is None else run.gates.outcome,
        "mlflow.note.content": "\n\n".join(_sentences(run)),
    }
    return {key: text[:_LONGEST_TAG] for key, text in tags.items() if text is not None}


def _sentences(run: Run) -> list[str]:
    """Return what the gates and the numbers on the whole pool say, and the warnings."""
    gates = [gate.statement for gate in run.gates.gates] if run.gates else []
    whole = [number.statement for number in run.numbers if number.is_of_pool]
    return [*gates, *whole, *run.warnings]


def _parameters(run: Run) -> dict[str, Any]:
    spec = run.spec
    values = {
        "rows": run.rows,
        "measures": ", ".join(dict.fromkeys(number.measure for number in run.numbers))[:500],
        "sampler": spec.sampler.name,
        "confidence": spec.confidence,
        "seed": spec.seed,
    }
    return {f"evalsampling.{name}": value for name, value in values.items()}


def _log_files(client: Any, run: Run, identity: str) -> None:
    """Log the spec, the table, and the report where there is one."""
    spec = yaml.safe_dump(without_credentials(run.spec.to_mapping()), sort_keys=False)
    files = {"spec.yaml": spec.encode(), "estimates.parquet": content(run.table, ".parquet")}
    if run.page is not None:
        files["report.html"] = run.page()
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        client.log_artifacts(identity, folder)
