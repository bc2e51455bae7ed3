"""Annotators of a batch: what each answers, and files of it."""

import csv
import operator
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.jobs import Job

HEADER = "task,annotator,label,skipped,comment"

Vote = tuple[str, str, str, str, str]


def truth_of_tasks(job: Job, number: int) -> dict[str, str]:
    """The true class of every task of a round, controls included."""
    truth = dict(job.answers(number))
    path = job.round_directory(number) / "controls.parquet"
    if path.exists():
        of_id = {str(id): str(label) for id, label in job.pool.truth.items()}
        for row in pq.read_table(path).to_pylist():
            truth[row["task"]] = row["label"] or of_id[row["id"]]
    return truth


def exported_tasks(job: Job, number: int) -> list[str]:
    """The tasks that the annotators see, in their order."""
    with (job.round_directory(number) / "batch.csv").open(encoding="utf-8-sig") as file:
        return [row["task"] for row in csv.DictReader(file)]


def votes(
    job: Job,
    number: int,
    annotators: Sequence[str] = "abc",
    seed: int = 0,
    wrong: float = 0.2,
    skipped: float = 0.05,
) -> list[Vote]:
    """Answers of annotators to all tasks of a round, of each class as many each time."""
    draw = random.Random(seed)
    given = []
    for task, label in sorted(truth_of_tasks(job, number).items(), key=operator.itemgetter(1)):
        for name in annotators:
            said = str(1 - int(label)) if draw.random() < wrong else label
            declined = draw.random() < skipped
            given.append((task, name, "" if declined else said, "yes" if declined else "", ""))
    return given


def deliver(job: Job, rows: list[Vote], name: str) -> Path:
    """Write answers to a file."""
    return job.deliver(rows, name, HEADER)


def majority(rows: list[Vote], wanted: int = 3) -> dict[str, str]:
    """Decided tasks with their label, counted here and nowhere else."""
    by_task: dict[str, list[str]] = {}
    for task, _, label, _, _ in rows:
        by_task.setdefault(task, []).append(label)
    return {
        task: label
        for task, labels in by_task.items()
        for label in {*labels} - {""}
        if 2 * labels.count(label) > wanted
    }


def numbers(result: Any) -> Any:
    """What an estimate says, but for counts of files."""
    return {key: result[key] for key in ("labels", "open", "measures", "missing", "label_error")}


def write_gold(job_directory: Path, rows: int = 40) -> Path:
    """Gold rows that look like those of the pool, half of them positive."""
    path = job_directory / "gold.parquet"
    job_directory.mkdir(parents=True, exist_ok=True)
    table = {
        "id": [f"g{row}" for row in range(rows)],
        "name": [f"row {9000 + row}" for row in range(rows)],
        "label": pa.array([row % 2 for row in range(rows)]),
    }
    pq.write_table(pa.table(table), path)
    return path
