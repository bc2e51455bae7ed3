"""Pools out of balance: the same result, and states that stay small."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.summary import Wanted, summarize
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.signatures import MOST_COUNTED
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Jobs, Pool, make_pool
from tests.reference import assert_same, reference

SHARDS = [pytest.param(1, marks=pytest.mark.slow), 7]


@pytest.mark.slow
@pytest.mark.parametrize("files", SHARDS)
def test_one_leaf_holds_nearly_all_rows(job: Jobs, files: int) -> None:
    """And nearly all of them in one cell, which all workers share."""
    pool = make_pool(20_000)
    score = pool.table["score"].to_numpy().copy()
    score[np.random.default_rng(0).permutation(20_000)[:19_800]] = -2.5
    prediction = (score > 1).astype(np.int8)
    table = pool.table.set_column(1, "score", pa.array(score))
    skewed = Pool(table.set_column(2, "prediction", pa.array(prediction)), pool.truth)
    one = job(skewed, files, group_rows=900, budget=40)
    assert one.prepare("--direct_num_workers=4").status == 0
    assert max(PreparedPool.read(Workspace(one.workspace)).table.count) >= 19_800
    assert_same(one.workspace, reference(one), budget=40)


def many_systems(rows: int, systems: int = 24) -> Pool:
    """A pool with as many signatures as rows, but that a third of the rows have one of four."""
    rng = np.random.default_rng(systems)
    prediction = rng.integers(0, 2, (rows, systems))
    prediction[: rows // 3, 2:] = 0
    score = rng.normal(size=rows)
    columns = {"id": np.arange(rows), "score": score, "name": [""] * rows}
    columns |= {f"p{n}": prediction[:, n] for n in range(systems)}
    return Pool(pa.table(columns), dict.fromkeys(range(rows), 0))


@pytest.mark.slow
@pytest.mark.parametrize("files", [1, 2, 7])
def test_more_signatures_than_are_counted(job: Jobs, files: int) -> None:
    """They are sampled then, and the state does not grow any more."""
    systems = {"systems": {f"s{n}": {"prediction": f"p{n}"} for n in range(24)}, "score": "score"}
    one = job(many_systems(110_000), files, group_rows=20_000, pool=systems, budget=20).prepared()
    assert_same(one.workspace, reference(one), budget=20)
    batch = PoolBatch(one.pool.table.combine_chunks().to_batches()[0])
    reading = EvaluationSpec.load(one.spec).reading
    counted = summarize(batch, reading, Wanted.of(reading)).signatures
    assert counted.sampled
    assert len(counted.sample_hash) == MOST_COUNTED
    assert not len(counted.code)
    kept = PreparedPool.read(Workspace(one.workspace)).stratification.signatures.kept
    assert {0, 1 << 22, 1 << 23, (1 << 22) + (1 << 23)} <= set(kept.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("files", SHARDS)
def test_ids_of_any_length(job: Jobs, tmp_path: Path, files: int) -> None:
    pool = make_pool(500)
    lengths = np.random.default_rng(1).integers(0, 300, 500)
    lengths[[3, 77]] = 100_000, 2_000_000
    ids = [f"{row}-" + "x" * length for row, length in enumerate(lengths.tolist())]
    long = Pool(
        pool.table.set_column(0, "id", pa.array(ids)),
        dict(zip(ids, pool.truth.values(), strict=True)),
    )
    one = job(long, files, group_rows=60, budget=500).prepared()
    assert_same(one.workspace, reference(one), budget=500)


@pytest.mark.slow
def test_forty_systems(job: Jobs) -> None:
    """2^40 signatures there could be: nothing is as long as that."""
    systems = {"systems": {f"s{n}": {"prediction": f"p{n}"} for n in range(40)}, "score": "score"}
    one = job(many_systems(1000, 40), files=2, pool=systems, budget=20).prepared()
    assert_same(one.workspace, reference(one), budget=20)


@pytest.mark.slow
def test_one_id_for_all_rows_is_an_error_that_says_so(job: Jobs) -> None:
    """No row may pass the limit of its hash then."""
    pool = make_pool(20_000)
    table = pool.table.set_column(0, "id", pa.array(np.full(20_000, 7)))
    table = table.set_column(1, "score", pa.array(np.full(20_000, 0.5)))
    result = job(
        Pool(table.set_column(2, "prediction", pa.array(np.zeros(20_000, np.int8))), {}), budget=10
    ).prepare()
    assert result.status == 1
    assert "ids repeat" in result.err or "duplicate id 7" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.slow
def test_scores_at_the_ends_of_the_numbers(job: Jobs) -> None:
    """A bin whose lower end is beyond all numbers has an upper end within them."""
    pool = make_pool(20_000)
    least = -float(np.finfo(np.float64).max)
    score = np.full(20_000, least * (1 - 1e-3))
    score[:200] = least
    score[200:300] = -least
    table = pool.table.set_column(1, "score", pa.array(score))
    measure = [{"name": "pr_curve", "thresholds": [least * (1 - 5e-4), 0]}, "f1"]
    one = job(Pool(table, pool.truth), files=3, measure=measure, budget=20).prepared()
    assert_same(one.workspace, reference(one), budget=20)
