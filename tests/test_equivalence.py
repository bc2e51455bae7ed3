"""Beam gives what the in-memory path gives, however the pool is cut and merged."""

from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.io import parquet as io_parquet
from evalsampling.memory import MemoryPool
from evalsampling.pool import PoolBatch
from evalsampling.simulation import KnownPool
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms import SumFn
from evalsampling.workspace import Workspace
from pipelines import prepare as prepare_pipeline
from pipelines.running import parse_options
from tests.jobs import Job, Pool, call, make_pool

SHARDINGS = [
    pytest.param(1, 1 << 20, 1, id="one-group"),
    pytest.param(1, 100, 2, id="one-file-20-groups"),
    pytest.param(2, 333, 2, id="two-files"),
    pytest.param(7, 50, 4, id="seven-files-four-threads"),
]
THREADS = "--direct_running_mode=multi_threading"


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


def assert_same(workspace: Path, expected: MemoryPool, budget: int) -> None:
    table = Workspace(workspace).table
    for name in ("code", "leaf", "signature", "count", "probability"):
        np.testing.assert_array_equal(getattr(table, name), getattr(expected.table, name))
    held = reserve_of(workspace)
    assert set(held) == set(table.code.tolist())
    for index, code in enumerate(table.code.tolist()):
        size = min(int(table.count[index]), budget)
        ids = expected.ids(np.full(size, index), np.arange(size)).tolist()
        assert held[code] == ids


@pytest.mark.parametrize("text_ids", [False, True], ids=["integers", "text"])
@pytest.mark.parametrize(("files", "group_rows", "workers"), SHARDINGS)
def test_prepare_equals_memory(
    job: Any, files: int, group_rows: int, workers: int, text_ids: bool
) -> None:
    one = job(make_pool(text_ids=text_ids), files, group_rows, budget=30)
    assert one.prepare("--runner=FnApiRunner", f"--direct_num_workers={workers}").status == 0
    assert_same(one.workspace, reference(one), budget=30)


def test_merging_is_forced_and_changes_nothing(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    merged: list[int] = []
    merge = SumFn.merge_accumulators

    def counting(self: SumFn, accumulators: Any) -> Any:
        known = list(accumulators)
        merged.append(len(known))
        return merge(self, iter(known))

    monkeypatch.setattr(SumFn, "merge_accumulators", counting)
    one = job(files=5, group_rows=40, budget=30)
    spec = EvaluationSpec.load(one.spec)
    options = parse_options(["--runner=FnApiRunner", "--direct_num_workers=4", THREADS])
    prepare_pipeline.prepare(spec, options)
    assert max(merged) > 1, "no accumulators met: the test would prove nothing"
    assert_same(one.workspace, reference(one), budget=30)


def test_same_seed_same_batch_whatever_the_sharding(job: Any) -> None:
    pool = make_pool(seed=3)
    batches = []
    for files, group_rows in [(1, 1 << 20), (4, 100), (7, 33)]:
        one = job(pool, files, group_rows)
        assert one.prepare().status == 0
        for number in (1, 2):
            assert one.sample().json["round"] == number
            assert one.estimate("--labels", one.deliver(one.answers(number))).status == 0
        draws = [pq.read_table(one.round_directory(n) / "draws.parquet") for n in (1, 2)]
        batches.append((one.batch(1), one.batch(2), *(table.to_pydict() for table in draws)))
    assert batches[0] == batches[1] == batches[2]


def test_another_seed_another_batch(job: Any) -> None:
    chosen = []
    for seed in (1, 2):
        one = job(seed=seed)
        one.prepare()
        one.sample()
        chosen.append(set(one.batch(1)["id"]))
    assert chosen[0] != chosen[1]


def test_sample_and_estimate_as_pipelines_give_the_same(job: Any) -> None:
    results = []
    for runner in ([], ["--runner=FnApiRunner"]):
        one = job(measure=["f1", "recall", "accuracy"])
        one.prepare()
        seen = []
        for number in (1, 2, 3):
            sampled = one.sample(*runner).json
            delivery = one.deliver(one.answers(number)[: 20 - number], f"{number}.csv")
            estimated = one.estimate("--labels", delivery, "--close", *runner)
            draws = pq.read_table(one.round_directory(number) / "draws.parquet").to_pydict()
            seen.append((sampled["rows"], sampled["reason"], draws, estimated.json))
        results.append(seen)
    assert results[0] == results[1]


@pytest.mark.parametrize("probability", ["column", "by class", "score"])
def test_probabilities(job: Any, probability: str) -> None:
    pool = make_pool()
    p = 1 / (1 + np.exp(-pool.table["score"].to_numpy()))
    table = pool.table.append_column("p", pa.array(p)).append_column("n", pa.array(1 - p))
    if probability == "score":
        table = table.set_column(1, "score", pa.array(p))
    given = {"column": {"probability": "p"}, "by class": {"probability": {0: "n", 1: "p"}}}
    one = job(Pool(table, pool.truth), files=3, pool=given.get(probability, {}), budget=30)
    assert one.prepare().status == 0
    assert_same(one.workspace, reference(one), budget=30)
    kept = Workspace(one.workspace).table
    assert kept.probability[:, 1] @ kept.count == pytest.approx(p.sum(), rel=1e-6)
    assert Workspace(one.workspace).strata.probability == (
        "score" if probability == "score" else "column"
    )


@pytest.mark.parametrize("prior", ["column", "score"])
def test_explicit_edges(job: Any, prior: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves as given, one of them empty; with prior probabilities given too, one pass."""
    pool = make_pool()
    p = 1 / (1 + np.exp(-pool.table["score"].to_numpy()))
    named = {"probability": "p"} if prior == "column" else {}
    edges = {"edges": [-3.0, -1.5, 0.0, 2.0, 900.0]}
    table = Pool(pool.table.append_column("p", pa.array(p)), pool.truth)
    one = job(table, files=3, pool=named, strata=edges, budget=300)
    read = []
    fetch = io_parquet.read_batches

    def counting(item: Any, columns: Any) -> Any:
        read.append(item.rows)
        return fetch(item, columns)

    monkeypatch.setattr("evalsampling.transforms.pool.read_batches", counting)
    assert one.prepare().json["leaves"] == 6
    assert sum(read) == (2000 if prior == "column" else 4000)
    assert_same(one.workspace, reference(one), budget=300)
    assert one.sample().json["rows"] == 20
    assert one.estimate("--labels", one.deliver(one.answers(1))).json["labels"] == 20
    assert one.sample().json["rows"] == 20


def test_scorer_runs_once_and_gives_the_same_cells(job: Any) -> None:
    pool = make_pool()
    bare = Pool(
        pool.table.rename_columns(["id", "raw", "unused", "name"]),
        pool.truth,
    )
    scorer = {"scorer": "my_scorer:score", "prediction": {"threshold": 1.0}}
    one = job(bare, files=3, group_rows=77, pool=scorer)
    (one.directory / "my_scorer.py").write_text(
        "import pathlib\n"
        "def score(batch):\n"
        "    calls = pathlib.Path(__file__).with_name('calls')\n"
        "    with calls.open('a') as file: file.write(f'{len(batch)}\\n')\n"
        "    return batch.append_column('score', batch.column('raw'))\n"
    )
    assert one.prepare().status == 0
    rows = [int(line) for line in (one.directory / "calls").read_text().split()]
    assert sum(rows) == len(pool.table)
    plain = job(pool, pool={"prediction": {"threshold": 1.0}})
    plain.prepare()
    here, there = Workspace(one.workspace).table, Workspace(plain.workspace).table
    np.testing.assert_array_equal(here.count, there.count)
    np.testing.assert_array_equal(here.probability, there.probability)
    assert reserve_of(one.workspace) == reserve_of(plain.workspace)


def test_simulation_sees_the_same_cells(job: Any) -> None:
    one = job(files=3, group_rows=90)
    truth = one.directory / "truth.parquet"
    labels = {"id": list(one.pool.truth), "label": list(one.pool.truth.values())}
    pq.write_table(pa.table(labels), truth)
    known = KnownPool.read(EvaluationSpec.load(one.spec), truth)
    expected = reference(one)
    np.testing.assert_array_equal(known.table.count, expected.table.count)
    np.testing.assert_array_equal(known.table.probability, expected.table.probability)
    for index, count in enumerate(known.labels):
        ids = expected.ids(np.full(count.sum(), index), np.arange(count.sum()))
        assert count[1] == sum(one.pool.truth[id] for id in ids.tolist())


def test_labels_of_transforms_are_verbs_in_camel_case(job: Any) -> None:
    from evalsampling.preparation import Preparation

    names: set[str] = set()
    one = job()
    root = beam.Pipeline(options=parse_options([]))
    prepare_pipeline.build(root, Preparation.of(EvaluationSpec.load(one.spec), "none"), True)

    class Visitor(beam.pipeline.PipelineVisitor):
        def enter_composite_transform(self, node: Any) -> None:
            names.add(node.full_label)

    root.visit(Visitor())
    ours = {part for name in names for part in name.split("/")[:2] if part}
    assert {"SummarizePool", "AssignCells", "DrawReserve", "CheckIds"} <= ours
    assert all(part[0].isupper() and " " not in part for part in ours)
    assert call("prepare", one.spec).status == 0
