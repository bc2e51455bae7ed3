"""Pools, workspaces and command-line calls that tests share."""

import contextlib
import csv
import dataclasses
import io
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.cli import main

SHARED_POOLS = Path(__file__).resolve().parents[2] / "shared" / "pools"


@dataclasses.dataclass(frozen=True)
class Pool:
    """A synthetic pool: rare positives, a score that finds most of them."""

    table: pa.Table
    truth: dict[Any, int]

    def write(self, directory: Path, files: int = 1, group_rows: int = 1 << 20) -> Path:
        """Write it as Parquet files and return their pattern."""
        directory.mkdir(parents=True, exist_ok=True)
        bounds = np.linspace(0, len(self.table), files + 1).astype(int)
        for i, (begin, end) in enumerate(itertools.pairwise(bounds)):
            part = self.table.slice(begin, end - begin)
            pq.write_table(part, directory / f"part-{i}.parquet", row_group_size=group_rows)
        return directory / "*.parquet"


def make_pool(rows: int = 2000, seed: int = 0, text_ids: bool = False) -> Pool:
    """Make a pool."""
    rng = np.random.default_rng(seed)
    truth = rng.random(rows) < 0.03
    score = rng.normal(size=rows) + 4 * truth - 2
    numbers = rng.permutation(rows) * 7 + 3
    ids = [f"{i:06d}" for i in numbers] if text_ids else numbers
    table = pa.table(
        {
            "id": pa.array(ids),
            "score": score,
            "prediction": pa.array((score > 1).astype(np.int8)),
            "name": [f"row {i}" for i in numbers],
        }
    )
    return Pool(table, dict(zip(table["id"].to_pylist(), truth.astype(int).tolist(), strict=True)))


@dataclasses.dataclass
class Result:
    """What a call of the command line did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The object it printed."""
        return json.loads(self.out)


def call(*arguments: Any) -> Result:
    """Call the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = int(stop.code or 0)
    return Result(status, out.getvalue(), err.getvalue())


@dataclasses.dataclass
class Job:
    """A spec on disk with its pool, and shorthands for what is done with it."""

    directory: Path
    pool: Pool
    spec: Path
    workspace: Path

    def prepare(self, *options: Any) -> Result:
        """Run `prepare --json`."""
        return call("prepare", self.spec, "--json", *options)

    def sample(self, *options: Any) -> Result:
        """Run `sample --json`."""
        return call("sample", self.workspace, "--json", *options)

    def estimate(self, *options: Any) -> Result:
        """Run `estimate --json`."""
        return call("estimate", self.workspace, "--json", *options)

    def batch(self, number: int) -> dict[str, list[Any]]:
        """Return the tasks of a round, ids included."""
        return pq.read_table(self.round_directory(number) / "batch.parquet").to_pydict()

    def round_directory(self, number: int) -> Path:
        """Return where the files of a round are."""
        return self.workspace / "rounds" / f"{number:04d}"

    def answers(self, number: int) -> list[tuple[str, str]]:
        """Return task and true label of every row of a round."""
        batch = self.batch(number)
        return [
            (task, str(self.pool.truth[id]))
            for task, id in zip(batch["task"], batch["id"], strict=True)
        ]

    def deliver(
        self, rows: Sequence[Sequence[str]], name: str = "labels.csv", header: str = "task,label"
    ) -> Path:
        """Write a CSV file of labels."""
        path = self.directory / name
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header.split(","))
            writer.writerows(rows)
        return path


def files_below(directory: Path) -> dict[str, bytes]:
    """Return path and content of every file, but for the lock of a workspace."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != ".in-use"
    }
