"""Rows of any PCollection come to the rows and tasks of a round."""

import csv
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from evalsampling.transforms import AssignCells, SampleRound, WriteTasks
from tests.in_pipelines import created, keep, kept, pipeline, shuffled, two_rounds
from tests.jobs import make_pool


class Row(NamedTuple):
    """A row of the pool."""

    id: int
    score: float
    prediction: int
    name: str


def batches(table: pa.Table, rows: int) -> list[pa.RecordBatch]:
    return table.combine_chunks().to_batches(max_chunksize=rows)


def ways(table: pa.Table) -> dict[str, tuple[list[Any], int]]:
    """The rows of a table in several ways, each with a number of sources."""
    single = table.to_pylist()
    return {
        "mappings": (shuffled(single, 3), 3),
        "named tuples": ([Row(**row) for row in single], 1),
        "batches": (batches(table, 50), 7),
        "mixed": ([table.slice(0, 200), *table.slice(200).to_pylist()], 2),
    }


def test_rows_and_tasks_are_those_of_the_command(job: Any, tmp_path: Path) -> None:
    """The second round of a Poisson sample; rows come in several ways, cut and spread."""
    pool = make_pool(300)
    one = job(pool, sampler="poisson")
    two_rounds(one, (30, 30))
    given = ways(pool.table)
    with pipeline() as root:
        for name, (rows, pieces) in given.items():
            cells = created(root, name, rows, pieces) | f"Assign {name}" >> AssignCells(
                one.workspace
            )
            sampled = cells | f"Sample {name}" >> SampleRound(one.workspace, 2)
            keep(sampled["rows"], tmp_path / f"{name}.rows")
            keep(sampled["tasks"], tmp_path / f"{name}.tasks")
            if name == "batches":
                written = sampled["tasks"] | WriteTasks(one.workspace, tmp_path / "annotators")
                keep(written, tmp_path / "written")
    with (one.round_directory(2) / "batch.csv").open(encoding="utf-8-sig") as file:
        tasks = list(csv.DictReader(file))
    for name in given:
        rows = kept(tmp_path / f"{name}.rows")
        assert {row["task"]: row["id"] for row in rows} == dict(one.asked(2))
        assert len(rows) == len(tasks)
        assert sorted(kept(tmp_path / f"{name}.tasks"), key=str) == sorted(tasks, key=str)
    (path,) = kept(tmp_path / "written")
    with Path(path).open(encoding="utf-8-sig") as file:
        assert sorted(csv.DictReader(file), key=str) == sorted(tasks, key=str)
