"""Rounds of whole clusters in a workspace: what annotators get, and a reserve that runs short."""

import csv
import shutil
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.workspace.pool_facts import design_round
from tests.commands.votes import write_gold
from tests.jobs import Job, Pool, make_pool
from tests.slow import slowly


def talks(rows: int = 2000, as_text: bool = False) -> Pool:
    """A pool of talks of 1 to 17 turns, whose rows come in no order."""
    pool = make_pool(rows)
    rng = np.random.default_rng(6)
    size = rng.integers(1, 18, rows)
    talk = np.repeat(np.arange(rows), size)[:rows]
    turn = np.arange(rows) - np.searchsorted(talk, talk)
    order = rng.permutation(rows)
    turns = turn[order]
    return pool.with_columns(
        talk=[f"t{number}" for number in talk[order]],
        turn=list(map(str, turns)) if as_text else turns,
    )


def of_clusters(job: Any, rows: Pool | None = None, **keys: Any) -> Job:
    """A prepared job that draws whole talks."""
    pool = {"cluster": "talk", "payload": ["talk", "turn", "name"]}
    one: Job = job(rows or talks(), sampler="clusters", round_size=60, **{"pool": pool, **keys})
    assert one.prepare().status == 0
    return one


def exported(one: Job, number: int) -> list[dict[str, str]]:
    """Return the tasks of the file for annotators, in its order."""
    with (one.workspace / f"rounds/{number:04d}/batch.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("as_text", [False, *slowly(True)])
def test_annotators_read_a_talk_once_and_in_order(job: Any, as_text: bool) -> None:
    """Turn 2 before turn 10, also where a file has them as text."""
    one = of_clusters(job, talks(as_text=as_text), budget=150)
    table = one.pool.table
    turns = {talk: [] for talk in table["talk"].to_pylist()}  # type: ignore[var-annotated]
    for talk, turn in zip(table["talk"].to_pylist(), table["turn"].to_pylist(), strict=True):
        turns[talk].append(int(turn))
    seen: list[str] = []
    for number in (1, 2, 3):
        assert one.sample().status == 0
        tasks = exported(one, number)
        assert len(tasks) >= (60, 60, 1)[number - 1]
        groups = [(talk, [*rows]) for talk, rows in groupby(tasks, lambda task: task["talk"])]
        for talk, rows in groups:
            assert [int(row["turn"]) for row in rows] == sorted(turns[talk])
        seen += [talk for talk, _ in groups]
        one.take(one.answers(number))
    assert len(set(seen)) == len(seen), "no talk comes twice"
    assert one.sample().json["reason"] == "budget"
    names = [task["task"] for task in exported(one, 1)]
    assert names != sorted(names)


def test_gold_rows_stand_between_the_others(job: Any, tmp_path: Path) -> None:
    gold = {"path": str(write_gold(tmp_path / "gold")), "rows": 8}
    pool = {"cluster": "talk", "payload": ["name"]}
    one, plain = (
        of_clusters(job, pool=pool, labels=labels, seed=4) for labels in ({"gold": gold}, {})
    )
    assert one.sample().json["controls"] == 8
    plain.sample()
    rows = [task["name"] for task in exported(one, 1)]
    added = [place for place, name in enumerate(rows) if int(name.split()[1]) in range(9000, 9040)]
    assert len(added) == 8
    assert added != [*range(8)]
    assert added != [*range(len(rows) - 8, len(rows))]


@pytest.mark.usefixtures("one_key")
def test_a_reserve_that_runs_short(job: Any) -> None:
    """It is told; after a top-up the round is that of a whole reserve."""
    whole, short = (of_clusters(job, budget=400, strata={"leaves": 2}) for _ in range(2))
    assert whole.sample("--size", "300").status == 0
    reserve = short.workspace / "reserve"
    kept = pq.read_table(reserve)
    kept = kept.filter(pa.array(kept["rank"].to_numpy() < 40))
    shutil.rmtree(reserve)
    reserve.mkdir()
    pq.write_table(kept, reserve / "part-00000.parquet")
    refused = short.sample("--size", "300")
    assert refused.status == 1
    assert "--top-up" in refused.err
    assert short.prepare("--top-up", "400").status == 0
    assert short.sample("--size", "300").status == 0
    assert exported(short, 1) == exported(whole, 1)


def test_other_pipelines_do_not_draw_them(job: Any) -> None:
    one = of_clusters(job)
    with pytest.raises(InputError, match="sampler clusters does not draw row by row"):
        design_round(one.workspace)
