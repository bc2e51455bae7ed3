"""Estimates of very many labels by transforms: time, memory, and whether they are the same.

    python benchmarks/label_join.py --labels 10000000
    python benchmarks/label_join.py --labels 100000 --command

A made-up pool of twice as many rows as labels is wanted is made in the workers: cells, a round by
`SampleRound`, answers to each of its rows as dicts in another order, `JoinLabels` and
`EstimateMeasures`. Beside it stands what the same rows and labels give without transforms and
without counts: a history of all rows, one by one, and `Analysis.estimate`. With `--command` a
workspace of `poisson` draws the round, and the command `estimate` reads the labels from a file.
"""

import argparse
import dataclasses
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import yaml
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import worker_handlers

from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.counted import CountedPool
from evalsampling.evaluation.round_rows import CHANCE
from evalsampling.labels.tasks import ID, TASK
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.stored_columns import CELL, outputs_of_columns
from evalsampling.preparation.assignment import assign_cells
from evalsampling.report.numbers import Number
from evalsampling.stats.cells import CellSums
from evalsampling.stats.history import Round
from evalsampling.stats.inclusion import water_fill
from evalsampling.stats.round_chances import RoundChances
from evalsampling.transforms import (
    AssignCells,
    EstimateMeasures,
    JoinLabels,
    SampleRound,
    SumCells,
)
from evalsampling.workspace.pool_facts import PoolFacts

PART = 100_000
"""Rows of a part of the pool, which one worker makes."""


def main(argv: list[str] | None = None) -> int:
    """Measure, compare and print; return 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--labels", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="default: 2 processes")
    parser.add_argument("--command", action="store_true", help="beside the command estimate")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        result = _compare(Path(folder), options)
    print(json.dumps(result, indent=1))
    return 0 if result["equal"] else 1


def _compare(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    parts = max(2 * options.labels // PART, 1)
    reference = range(parts) if options.command else range(1)
    workspace = _prepared(folder, reference, options.labels)
    if options.command:
        _call("sample", workspace, "--size", options.labels)
        chances: RoundChances | int = 1
    else:
        chances = _chances(PoolFacts.read(workspace), 0.5)
    began = time.perf_counter()
    made = _by_transforms(folder, workspace, chances, parts, options.workers)
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    beside = (
        _by_command(folder, workspace, parts)
        if options.command
        else _one_by_one(PoolFacts.read(workspace), chances, parts)
    )
    usage = [
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return {
        "labels": made["labels"],
        "rows": made["rows"],
        "seconds": round(seconds, 1),
        "beside": "estimate" if options.command else "one by one",
        "seconds beside": round(time.perf_counter() - began, 1),
        "peak_mib": [round(kib / 1024) for kib in usage],
        "equal": made["measures"] == beside,
        "measures": [
            {key: one[key] for key in ("measure", "value", "low", "high")}
            for one in made["measures"]
        ],
    }


# --- the pool


def _part(number: int) -> pa.Table:
    """Return a part of the pool: one row in fifty is positive."""
    rng = np.random.default_rng([7, number])
    truth = rng.random(PART) < 0.02
    score = rng.normal(size=PART) + 3 * truth - 1
    ids = np.arange(PART) + PART * number
    prediction = (score > 1).astype(np.int8)
    return pa.table({"id": ids, "score": score, "prediction": prediction, "truth": truth})


def _batch(number: int) -> PoolBatch:
    (batch,) = _part(number).combine_chunks().to_batches()
    return PoolBatch(batch)


def _answers(number: int) -> dict[int, str]:
    part = _part(number)
    return dict(
        zip(
            part["id"].to_pylist(),
            part["truth"].cast(pa.int8()).cast(pa.string()).to_pylist(),
            strict=True,
        )
    )


def _labels(rows: pa.Table) -> Iterator[dict[str, str]]:
    """Yield the answer to each row of a round, the last first."""
    answers: dict[int, dict[int, str]] = {}
    for task, id in zip(
        reversed(rows[TASK].to_pylist()), reversed(rows[ID].to_pylist()), strict=True
    ):
        part = id // PART
        if part not in answers:
            answers = {part: _answers(part)}
        yield {"task": task, "label": answers[part][id]}


def _prepared(folder: Path, parts: range, budget: int) -> Path:
    pool = folder / "pool"
    pool.mkdir()
    for number in parts:
        pq.write_table(_part(number), pool / f"{number}.parquet")
    spec = {
        "pool": {"path": str(pool / "*.parquet")},
        "measure": ["f1", "recall", "precision"],
        "sampler": "poisson",
        "strata": {"leaves": 64},
        "budget": budget,
        "workspace": str(folder / "run"),
    }
    (folder / "spec.yaml").write_text(yaml.safe_dump(spec))
    _call("prepare", folder / "spec.yaml")
    return folder / "run"


def _chances(facts: PoolFacts, share: float) -> RoundChances:
    """Return chances that take a share of the pool, more of the rows that score high."""
    table = facts.pool.table
    size = 0.2 + table.leaf / table.leaves
    chance = water_fill(size, table.count, share * table.rows)
    return RoundChances.of_pool(table.code, table.count, chance)


# --- two ways to the estimates


def _by_transforms(
    folder: Path, workspace: Path, chances: RoundChances | int, parts: int, workers: int
) -> dict[str, Any]:
    facts, out = PoolFacts.read(workspace), folder / "estimates.json"
    mode = "multi_processing" if workers > 1 else "in_memory"
    # What Beam's runner sends to workers a timer would empty while it is written (docs/runners.md).
    worker_handlers.DATA_BUFFER_TIME_LIMIT_MS = 0
    options = PipelineOptions(
        ["--runner=FnApiRunner", f"--direct_num_workers={workers}", f"--direct_running_mode={mode}"]
    )
    with beam.Pipeline(options=options) as root:
        numbers = root | "Parts" >> beam.Create(range(parts)) | beam.Reshuffle()
        cells = numbers | "MakeRows" >> beam.Map(_batch) | AssignCells(facts)
        rows = (cells | SampleRound(facts, chances))["rows"]
        labels = rows | "Annotate" >> beam.FlatMap(_labels)
        joined = {"rows": rows, "labels": labels} | JoinLabels(facts)
        given = {"counts": joined["counts"], "pool": cells | SumCells()}
        estimates = given | EstimateMeasures(facts, chances)
        _ = estimates | "Write" >> beam.Map(_write, out)
    return dict(json.loads(out.read_text()))


def _write(estimates: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(estimates))


def _one_by_one(facts: PoolFacts, chances: Any, parts: int) -> list[Any]:
    """Return the measures of the same rows and labels, from a history of all of them."""
    spec, stratification = facts.pool.spec, facts.pool.stratification
    picker, tables, labels = facts.picker((chances,)), [], []
    sums: CellSums | None = None
    for number in range(parts):
        cells = assign_cells(_batch(number), spec, stratification)
        sums = cells.sums() if sums is None else sums + cells.sums()
        rows = picker.pick(cells)
        answers = _answers(number)
        labels += [int(answers[id]) for id in rows[ID].to_pylist()]
        tables.append(rows.select([name for name in rows.column_names if name != TASK]))
    assert sums is not None
    drawn, pool = pa.concat_tables(tables), CountedPool.of_sums(spec, stratification, sums)
    table, analysis = pool.table, Analysis.of_pool(pool)
    cell = np.searchsorted(table.code, drawn[CELL].to_numpy())
    order = np.argsort(cell, kind="stable")
    rank = np.empty(len(cell), dtype=np.int64)
    rank[order] = np.arange(len(cell)) - np.searchsorted(cell[order], cell[order])
    of_round = Round(
        question=np.arange(len(cell)),
        probability=drawn[CHANCE].to_numpy(),
        new=np.ones(len(cell), dtype=bool),
        cell_probability=chances.of_cells(table.code),
        wanted=chances.wanted,
    )
    history = dataclasses.replace(
        analysis.history.with_round(
            of_round, cell, rank, outputs_of_columns(drawn, 1, table.classes, {}), None
        ),
        label=np.array(labels),
    )
    estimates = analysis.with_history(history).estimate()
    return [json.loads(json.dumps(dataclasses.asdict(Number.of(one)))) for one in estimates]


def _by_command(folder: Path, workspace: Path, parts: int) -> list[Any]:
    """Return the measures that `estimate` prints for a file of the labels."""
    batch = pq.read_table(workspace / "rounds" / "0001" / "batch.parquet")
    answers = {id: label for number in range(parts) for id, label in _answers(number).items()}
    labels = pa.table({TASK: batch[TASK], "label": [answers[id] for id in batch[ID].to_pylist()]})
    pyarrow.csv.write_csv(labels, folder / "labels.csv")
    out = _call("estimate", workspace, "--labels", folder / "labels.csv", "--json")
    return list(json.loads(out)["measures"])


def _call(*arguments: object) -> str:
    """Call the command line, and return what it prints."""
    import subprocess

    argv = [sys.executable, "-m", "evalsampling", *map(str, arguments)]
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
