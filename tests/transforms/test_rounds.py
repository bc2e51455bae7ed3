"""Rows of any PCollection come to the rows and tasks of a round, with or without the reserve."""

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest

from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.counted import analysis_of, estimated, next_chances
from evalsampling.evaluation.round_rows import RoundPicker
from evalsampling.stats.round_chances import RoundChances
from evalsampling.transforms import (
    AssignCells,
    DesignRound,
    EstimateMeasures,
    JoinLabels,
    SampleRound,
    SumCells,
    WriteTasks,
)
from evalsampling.workspace.pool_facts import PoolFacts, design_round, read_chances, write_chances
from tests.drawn_by_row import cells_of, picked, votes_of
from tests.in_pipelines import (
    RETRYING,
    created,
    failing_now_and_then,
    keep,
    kept,
    pipeline,
    shuffled,
    two_rounds,
)
from tests.jobs import Job, Pool, make_pool
from tests.slow import slowly


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
    """The second round of a Poisson sample; rows come in several ways, and some are not of it."""
    pool = make_pool(300)
    one = job(pool, sampler="poisson", pool={"where": "score > -2.5"})
    two_rounds(one, (30, 30))
    given = ways(pool.table)
    with pipeline() as root:
        for name, (rows, pieces) in given.items():
            spread = created(root, name, rows, pieces)
            cells = spread | f"Assign {name}" >> AssignCells(one.workspace)
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


@pytest.mark.slow
def test_a_worker_that_fails_draws_the_same_rows(
    job: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    pool = make_pool(900)
    one = job(pool, sampler="poisson")
    two_rounds(one, (30, 30))
    log = tmp_path / "log"
    monkeypatch.setattr(RoundPicker, "pick", failing_now_and_then(RoundPicker.pick, log))
    with pipeline(RETRYING) as root:
        cells = created(root, "rows", batches(pool.table, 90), 4) | AssignCells(one.workspace)
        keep((cells | SampleRound(one.workspace, 2))["rows"], tmp_path / "rows")
    assert len(log.read_text()) > 1, "nothing failed"
    ids = {row["task"]: row["id"] for row in kept(tmp_path / "rows")}
    assert ids == dict(one.asked(2))


def grown(pool: Pool) -> Pool:
    """A pool with rows more, among them scores that no row had before."""
    more = make_pool(400, seed=9)
    ids = pa.array(more.table["id"].to_numpy() + 1_000_000)
    score = pa.array(more.table["score"].to_numpy() * 1.5)
    table = more.table.set_column(0, "id", ids).set_column(1, "score", score)
    truth = dict(zip(ids.to_pylist(), more.truth.values(), strict=True))
    return Pool(pa.concat_tables([pool.table, table]), pool.truth | truth)


def with_short_reserve(job: Any, **keys: Any) -> Job:
    """A workspace whose reserve holds the first two rows of each cell."""
    one: Job = job(make_pool(900), budget=400, strata={"leaves": 4}, **keys)
    one.in_process = True
    assert one.prepare().status == 0
    for path in (one.workspace / "reserve").iterdir():
        part = pa.parquet.read_table(path)
        path.unlink()
        pa.parquet.write_table(part.filter(pa.array(part["rank"].to_numpy() < 2)), path)
    assert "--top-up" in one.sample("--size", 90).err
    return one


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["calibrated", *slowly("poisson")])
def test_a_pool_that_grew_and_a_reserve_that_ran_out(
    job: Any, tmp_path: Path, sampler: str
) -> None:
    """Rows to rows of the round, labels to estimates of all rows, and a round after it."""
    one = with_short_reserve(job, sampler=sampler, measure=["f1", "recall"])
    pool, path = grown(one.pool), tmp_path / "chances.json"
    write_chances(design_round(one.workspace, 90), path)
    facts, chances = PoolFacts.read(one.workspace), read_chances(path)
    rows = picked(facts, pool.table, [chances])
    assert len(rows) > 60
    assert max(rows["id"].to_pylist()) > 1_000_000, "rows that came later are drawn too"
    answers = [
        {"task": task, "label": str(pool.truth[id])}
        for task, id in zip(rows["task"].to_pylist(), rows["id"].to_pylist(), strict=True)
    ][:-5]
    with pipeline() as root:
        cells = created(root, "rows", batches(pool.table, 200), 3) | AssignCells(one.workspace)
        sampled = cells | SampleRound(one.workspace, path)
        labels = created(root, "labels", answers, 3)
        joined = {"rows": sampled["rows"], "labels": labels} | JoinLabels(one.workspace)
        given = {"counts": joined["counts"], "pool": cells | SumCells()}
        keep(given | EstimateMeasures(one.workspace, path), tmp_path / "estimates")
        following = given | DesignRound(one.workspace, 40, path)
        keep(following | beam.Map(RoundChances.to_mapping), tmp_path / "next")
    of_all = facts.pool.of_rows(cells_of(facts, pool.table).sums())
    counts, _ = facts.label_join.join(rows, votes_of(answers))
    analysis = analysis_of(Analysis.of_pool(of_all, facts.plan), counts, [chances])
    (said,) = kept(tmp_path / "estimates")
    wanted = json.loads(json.dumps(estimated(analysis)))
    assert {key: said[key] for key in wanted} == wanted
    assert (said["rows"], said["drawn"], said["labels"]) == (1300, len(rows), len(answers))
    (designed,) = kept(tmp_path / "next")
    wanted = next_chances(analysis, 40).to_mapping() | {"workspace": facts.identity}
    assert designed == wanted
    again = RoundChances.from_mapping(designed)
    second = picked(facts, pool.table, [chances, again])
    assert not {*second["id"].to_pylist()} & {*rows["id"].to_pylist()}
    left = np.isin(pool.table["id"].to_numpy(), rows["id"].to_numpy(), invert=True)
    expected = again.of_cells(cells_of(facts, pool.table).cell[left]).sum()
    assert expected == pytest.approx(40, abs=6)
