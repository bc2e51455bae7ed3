"""Folders of rounds that are drawn row by row, and labels for them."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tests.preparation.row_pools import write_pool


class DrawnFolder:
    """A spec of a pool with a payload, and a folder for its rounds."""

    def __init__(self, path: Path, **keys: Any) -> None:
        self.path, self.rounds, self.spec = path, path / "rounds", path / "evaluation.yaml"
        self.pool = write_pool(path)
        content = {
            "pool": {"path": "*.parquet", "cost": "length", "payload": ["length"]},
            "measure": ["f1", "accuracy"],
            "strata": {"leaves": 8},
            "budget": 300,
            "sampler": "optimal_importance",
            "seed": 3,
        }
        self.spec.write_text(yaml.safe_dump({**content, **keys}))

    def batch(self, number: int) -> list[dict[str, str]]:
        """The tasks of a round as annotators see them."""
        with (self.rounds / f"batch-{number:04d}.csv").open() as file:
            return list(csv.DictReader(file))

    def rows_of(self, number: int) -> list[int]:
        """Ids of the rows of these tasks, found by their costs, which all differ."""
        shown = np.array([float(task["length"]) for task in self.batch(number)])
        place = np.argsort(self.pool["length"])
        return list(place[np.searchsorted(self.pool["length"][place], shown)])

    def deliver(self, number: int, leave_out: int = 0) -> Path:
        """A file of the labels of a round, by task, but for some."""
        rows = zip(self.batch(number), self.rows_of(number), strict=True)
        lines = [f"{task['task']},{self.pool['label'][id]}" for task, id in rows]
        file = self.path / f"labels-{number}.csv"
        file.write_text("\n".join(["task,label", *lines[: len(lines) - leave_out], ""]))
        return file
