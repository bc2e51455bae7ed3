"""One DAG for each evaluation in evaluations.yaml: a run of it is a round.

    prepare >> undecided >> sample >> wait_for_labels >> estimate

`prepare` does nothing once it is done. `undecided` skips the rest when the budget is spent or the
intervals are narrow enough. `sample` draws a round, or names the open one again. `wait_for_labels`
takes the files that have come, and is content when no row of the round is open.

Tasks call the command line of evalsampling, which keeps all state in the workspace: each may be
killed and run again. Airflow needs no evalsampling in its own environment.
"""

import datetime
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

try:
    from airflow.sdk import ObjectStoragePath, dag, task
except ImportError:  # Airflow 2
    from airflow.decorators import dag, task
    from airflow.io.path import ObjectStoragePath

EVALUATIONS = Path(
    os.environ.get("EVALSAMPLING_EVALUATIONS", Path(__file__).with_name("evaluations.yaml"))
)
_TEXT = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
ENDINGS = (*_TEXT, *(f"{ending}.gz" for ending in _TEXT), ".parquet", ".xlsx")


def evaluation(
    name: str,
    command: str,
    spec: str,
    workspace: str,
    inbox: str,
    schedule: str | None = "@daily",
    half_width: float | None = None,
    measures: tuple[str, ...] = (),
    poke_seconds: float = 300,
    patience_days: float = 7,
    retry_seconds: float = 300,
    dataflow: dict[str, Any] | None = None,
) -> Any:
    """Make the DAG of an evaluation.

    Args:
        name: of the evaluation.
        command: path of the program `evalsampling` on the workers.
        spec: path of evaluation.yaml.
        workspace: the directory that the spec names.
        inbox: folder of deliveries. Names that begin with a dot are left alone.
        schedule: when to start a round, as Airflow has it.
        half_width: stop when no interval on the whole pool is wider than twice this.
        measures: to report and to stop by; the spec's if there are none.
        poke_seconds: how often to look for labels.
        patience_days: how long to wait for a round's labels before the task fails.
        retry_seconds: after which a task that failed is tried again.
        dataflow: where to prepare instead of on a worker: `template`, `project`, `location`, and
            maybe `environment`, as in the body of flexTemplates.launch.
    """

    def evalsampling(*arguments: str) -> Any:
        line = [command, *arguments, "--json"]
        return json.loads(subprocess.run(line, stdout=subprocess.PIPE, check=True).stdout)

    def estimated(*options: str) -> Any:
        chosen = ["--measure", *measures] if measures else []
        return evalsampling("estimate", workspace, "--exit-zero", *chosen, *options)

    @task
    def prepare() -> Any:
        return evalsampling("prepare", spec)

    @task.short_circuit(ignore_downstream_trigger_rules=False)
    def unprepared() -> bool:
        return not (ObjectStoragePath(workspace) / "evaluation.json").exists()

    @task.short_circuit(trigger_rule="none_failed")
    def undecided() -> bool:
        result = estimated()
        width = result["half_width"]
        narrow = half_width is not None and width is not None and width <= half_width
        return not (result["done"] or narrow)

    @task
    def sample() -> Any:
        return evalsampling("sample", workspace)

    @task.sensor(
        mode="reschedule", poke_interval=poke_seconds, timeout=patience_days * 24 * 60 * 60
    )
    def wait_for_labels() -> bool:
        files = deliveries(inbox)
        return estimated(*(["--labels", *files] if files else []))["open"] == 0

    @task
    def estimate() -> Any:
        result = estimated()
        shown = ("measure", "system", "threshold", "value", "low", "high")
        whole = [one for one in result["measures"] if one["slice"] is None]
        return {
            **{key: result[key] for key in ("round", "labels", "open", "done", "warnings")},
            **({"gates": result["gates"]} if "gates" in result else {}),
            "measures": [{key: one[key] for key in shown} for one in whole],
        }

    @dag(
        dag_id=f"evaluate_{name}",
        schedule=schedule,
        start_date=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        catchup=False,
        max_active_runs=1,
        default_args={
            "retries": 3,
            "retry_delay": datetime.timedelta(seconds=retry_seconds),
            "retry_exponential_backoff": True,
        },
        tags=["evalsampling"],
        doc_md=__doc__,
    )
    def rounds() -> None:
        prepared = prepare() if dataflow is None else unprepared() >> launch(name, spec, dataflow)
        prepared >> undecided() >> sample() >> wait_for_labels() >> estimate()

    return rounds()


def launch(name: str, spec: str, dataflow: dict[str, Any]) -> Any:
    """Return the task that prepares on Dataflow, while no worker slot is held.

    The job's name is the same each time. Of a name Dataflow runs one job at a time, and asked for
    another it returns the one that runs: so a task that was killed finds its job again.
    """
    from airflow.providers.google.cloud.operators.dataflow import DataflowStartFlexTemplateOperator

    return DataflowStartFlexTemplateOperator(
        task_id="prepare",
        project_id=dataflow["project"],
        location=dataflow["location"],
        body={
            "launchParameter": {
                "jobName": "prepare-" + name.replace("_", "-"),
                "containerSpecGcsPath": dataflow["template"],
                "parameters": {"spec": spec},
                "environment": dataflow.get("environment", {}),
            }
        },
        append_job_name=False,
        deferrable=True,
    )


def deliveries(inbox: str) -> list[str]:
    """Return the files that are deliveries by the end of their names, no hidden ones nor locks.

    Symbolic links are passed over: who may write into the inbox could name any file with one.
    """
    found = [
        path.path if path.protocol in ("", "file") else f"{path.protocol}://{path.path}"
        for path in ObjectStoragePath(inbox).iterdir()
        if path.name.lower().endswith(ENDINGS) and path.name[0] not in ".~" and path.is_file()
    ]
    return sorted(path for path in found if "://" in path or not Path(path).is_symlink())


for key, settings in yaml.safe_load(EVALUATIONS.read_text(encoding="utf-8")).items():
    evaluation(key, **settings)
