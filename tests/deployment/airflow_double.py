"""As much of Airflow as the DAG file uses: settings and order are noted, tasks are run.

A process that runs one task as a worker does, and prints its result as JSON::

    EVALSAMPLING_EVALUATIONS=... python -m tests.deployment.airflow_double evaluate_NAME TASK
"""

import dataclasses
import json
import sys
import types
from collections.abc import Callable
from pathlib import Path, PosixPath
from typing import Any
from unittest import mock

from tests.jobs import loaded

DAG_FILE = Path(__file__).resolve().parents[2] / "deployment/airflow/evaluation_dag.py"


@dataclasses.dataclass
class Task:
    """A task of a DAG: name, function, kind (maybe empty) and settings; those `before` it."""

    id: str
    run: Callable[[], Any]
    kind: str
    settings: dict[str, Any]
    before: list[str] = dataclasses.field(default_factory=list)

    def __rshift__(self, other: "Task") -> "Task":
        self.before.append(other.id)
        return other


@dataclasses.dataclass
class Dag:
    """A DAG: its settings, and its tasks by name in the order they were made."""

    settings: dict[str, Any]
    tasks: dict[str, Task] = dataclasses.field(default_factory=dict)


class ObjectStoragePath(PosixPath):
    """A path on this machine, with what Airflow's has beside."""

    protocol = "file"

    @property
    def path(self) -> str:
        return str(self)


def load() -> tuple[types.ModuleType, dict[str, Dag]]:
    """Return the DAG file as a module, and the DAGs that it makes by their names."""
    made: dict[str, Dag] = {}

    def dag(**settings: Any) -> Any:
        def decorate(build: Callable[[], None]) -> Callable[[], Dag]:
            def built() -> Dag:
                made[settings["dag_id"]] = Dag(settings)
                build()
                return made[settings["dag_id"]]

            return built

        return decorate

    def decorator(kind: str, settings: dict[str, Any]) -> Any:
        def decorate(run: Callable[[], Any]) -> Callable[[], Task]:
            def placed() -> Task:
                one = Task(run.__name__, run, kind, settings)
                [*_, latest] = made.values()
                latest.tasks[one.id] = one
                return one

            return placed

        return decorate

    def task(run: Callable[[], Any]) -> Any:
        return decorator("", {})(run)

    for kind in ("short_circuit", "sensor"):
        setattr(task, kind, lambda kind=kind, **settings: decorator(kind, settings))
    sdk = types.ModuleType("airflow.sdk")
    sdk.__dict__.update(ObjectStoragePath=ObjectStoragePath, dag=dag, task=task)
    with mock.patch.dict(sys.modules, {"airflow": types.ModuleType("airflow"), "airflow.sdk": sdk}):
        module = loaded(DAG_FILE)
    return module, made


if __name__ == "__main__":
    print(json.dumps(load()[1][sys.argv[1]].tasks[sys.argv[2]].run()))
