"""A round that the command drew, drawn again by transforms, and answers to its tasks."""

import csv
import dataclasses
from collections.abc import Iterable
from typing import Any

import apache_beam as beam

from evalsampling.transforms import AssignCells, EstimateMeasures, JoinLabels, SampleRound
from tests.jobs import Job, make_pool

Task = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class SampledRound:
    """The first round of a job, and its tasks for annotators in order of their names."""

    job: Job
    tasks: list[Task]

    @classmethod
    def of(cls, make: Any, rows: int, size: int) -> "SampledRound":
        """Return the first round of a new job, of about so many rows, by the fixture `job`."""
        one = make(make_pool(rows), sampler="poisson", measure=["f1", "recall"], budget=10 * size)
        assert one.prepare().status == 0
        assert one.sample("--size", size).status == 0
        with (one.round_directory(1) / "batch.csv").open(newline="", encoding="utf-8") as file:
            return cls(one, in_order(csv.DictReader(file)))

    def picked(self, root: beam.Pipeline) -> Any:
        """Return the tasks, picked by transforms out of the pool's rows."""
        rows = root | "Rows" >> beam.Create(self.job.pool.table.to_pylist())
        picked = rows | AssignCells(self.job.workspace) | SampleRound(self.job.workspace, 1)
        return picked["tasks"]

    def answers(self, tasks: Iterable[Task]) -> list[Task]:
        """Return the true label of each task, by what an annotator sees of it."""
        rows = self.job.pool.table.to_pydict()
        ids = dict(zip(rows["name"], rows["id"], strict=True))
        return [
            {"task": task["task"], "label": int(self.job.pool.truth[ids[task["name"]]])}
            for task in tasks
        ]

    def estimated(self, answers: Any) -> Any:
        """Return what transforms estimate of answers."""
        joined = answers | JoinLabels(self.job.workspace)
        return joined["counts"] | EstimateMeasures(self.job.workspace)

    def said(self) -> Any:
        """Return what the command estimates of an answer to each task."""
        answers = [(answer["task"], str(answer["label"])) for answer in self.answers(self.tasks)]
        result = self.job.estimate("--labels", self.job.deliver(answers))
        assert result.status == 0, result.err
        return result.json


def in_order(tasks: Iterable[Task]) -> list[Task]:
    """Return tasks in order of their names."""
    return sorted(tasks, key=lambda task: str(task["task"]))
