"""What the in-memory path gives, and checks that a workspace holds exactly that."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evalsampling import Evaluation
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.inference.results import as_json
from evalsampling.notebook.states import MemoryState
from evalsampling.pool.batch import PoolBatch
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellTable
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Job


def reference(job: Job) -> MemoryPool:
    spec = EvaluationSpec.load(job.spec)
    return MemoryPool.prepare(spec, PoolBatch(job.pool.table.combine_chunks().to_batches()[0]))


def reserve_of(workspace: Path) -> dict[int, list[Any]]:
    """Ids of the reserve by cell, in order."""
    table = pq.read_table(workspace / "reserve").sort_by(
        [("cell", "ascending"), ("rank", "ascending")]
    )
    by_cell: dict[int, list[Any]] = {}
    for cell, rank, id in zip(*(table[c].to_pylist() for c in ("cell", "rank", "id")), strict=True):
        held = by_cell.setdefault(cell, [])
        assert rank == len(held)
        held.append(id)
    return by_cell


def assert_same_tables(here: CellTable, there: CellTable) -> None:
    for name in ("code", "leaf", "count", "prior"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name), err_msg=name)
    for name in ("cell", "share", "prediction", "score", "probability"):
        np.testing.assert_array_equal(
            getattr(here.kinds, name), getattr(there.kinds, name), err_msg=name
        )
    assert len(here.leaves) == len(there.leaves)
    slices = here.kinds.slices, there.kinds.slices
    assert (slices[0] is None) == (slices[1] is None)
    if slices[0] is not None and slices[1] is not None:
        assert slices[0].named == slices[1].named
        np.testing.assert_array_equal(slices[0].code, slices[1].code)


def assert_same(workspace: Path, expected: MemoryPool, budget: int) -> None:
    """Check stratification, cell table, slices and reserve, all exactly."""
    found = PreparedPool.read(Workspace(workspace))
    table = found.table
    assert_same_tables(table, expected.table)
    assert found.stratification.to_mapping() == expected.stratification.to_mapping()
    assert (found.slices.names, found.slices.values) == (
        expected.slices.names,
        expected.slices.values,
    )
    for here, there in zip(found.slices.counts, expected.slices.counts, strict=True):
        np.testing.assert_array_equal(here, there)
    held = reserve_of(workspace)
    assert set(held) == set(table.code.tolist())
    for index, code in enumerate(table.code.tolist()):
        size = min(int(table.count[index]), budget)
        ids = expected.ids(np.full(size, index), np.arange(size)).tolist()
        assert held[code] == ids
    assert_same_rows(workspace, expected)


def assert_same_rows(workspace: Path, expected: MemoryPool) -> None:
    """Check outputs, slices and payload of the rows of the reserve."""
    told = [n for n in expected.reserve.rows.column_names if n not in ("cell", "file", "row")]
    held = pq.read_table(workspace / "reserve", columns=told)
    rows = expected.reserve.rows.select(told)
    rows = rows.filter(pc.is_in(rows["id"], value_set=held["id"].combine_chunks()))
    there = {row["id"]: repr(row) for row in rows.to_pylist()}  # NaN equals itself as text
    assert len(there) == len(held)
    for row in held.to_pylist():
        assert repr({name: row[name] for name in told}) == there[row["id"]]


def assert_same_evaluation(job: Job, rounds: int = 2) -> list[Any]:
    """Check that rounds drawn from the workspace are those drawn in memory; return estimates."""
    pool = reference(job)
    assert_same(job.workspace, pool, pool.spec.budget.labels)
    evaluation = Evaluation(MemoryState.start(pool))
    rng = np.random.default_rng(1)
    for number in range(1, rounds + 1):
        sampled = job.sample().json
        ids = evaluation.sample(pool.spec.round_size.first)
        asked = job.asked(number)
        assert sampled["rows"] == len(ids)
        assert [id for _, id in asked] == ids.tolist()
        draws = pq.read_table(job.round_directory(number) / "draws.parquet")
        drawn = evaluation.history.rounds[-1]
        np.testing.assert_array_equal(draws["q"].to_numpy(), drawn.probability)
        np.testing.assert_array_equal(draws["question"].to_numpy() - 1, drawn.question)
        labels = np.array([job.pool.truth[id] for id in ids.tolist()])
        if pool.spec.labels.oracle == "stochastic":
            labels = np.where(rng.random(len(labels)) < 0.2, 1 - labels, labels)
        evaluation.label(ids, labels)
        rows = [(task, str(label)) for (task, _), label in zip(asked, labels, strict=True)]
        path = job.deliver(rows, f"labels-{number}.csv")
        told = job.estimate("--labels", path).json
        assert (told["labels"], told["rejects"]) == (len(evaluation.history), 0)
        expected = [as_json(estimate) for estimate in evaluation.estimate()]
        assert told["measures"] == json.loads(json.dumps(expected))
    return expected


def contents(workspace: Path) -> dict[str, Any]:
    """Everything `prepare` wrote, by file, but `jobs` and what differs from run to run."""
    found: dict[str, Any] = {
        str(path.relative_to(workspace)): _rows_of(path) for path in workspace.rglob("*.parquet")
    }
    found["evaluation.json"] = json.loads((workspace / "evaluation.json").read_text())
    for key in ("runner", "versions", "seconds", "commit", "key", "files", "sha256"):
        del found["evaluation.json"][key]
    return found


def _rows_of(path: Path) -> tuple[str, list[str]]:
    table = pq.read_table(path)
    return str(table.schema), [repr(row) for row in table.to_pylist()]  # NaN equals itself as text


def by_beam(one: Job, *options: str) -> dict[str, Any]:
    """What Beam's in-process runner makes at the same place; it is gone then."""
    assert one.prepare("--runner=FnApiRunner", *options).status == 0
    found = contents(one.workspace)
    assert len(found) >= 3
    shutil.rmtree(one.workspace)
    return found
