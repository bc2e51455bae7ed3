"""Shares merged by hand give what the in-memory path gives: all that an engine like Spark adds."""

import itertools
import operator
import pickle
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalsampling import InputError
from evalsampling.commands.prepare import Preparation
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.files import find_files
from evalsampling.preparation import shards as shares
from evalsampling.preparation.reserve import Reserve, sum_reserves
from evalsampling.preparation.shards import Piece
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from evalsampling.workspace.manifest import ExecutionContext
from tests.cases import CASES
from tests.jobs import Job, Pool, make_pool, make_rich_pool
from tests.reference import assert_same, reference


def prepare(spec_path: Path, most: int, check_ids: bool = False) -> int:
    """Prepare by hand, pieces merged in no order; return the most states that were merged."""
    spec = EvaluationSpec.load(spec_path)
    preparation = Preparation.from_spec(spec, ExecutionContext("test"))
    scored, rng = preparation.scored_directory, np.random.default_rng(0)
    merged: list[int] = []

    def gather(items: list[Any], work: Callable[..., Iterable[Piece]], **named: Any) -> list[Piece]:
        states = defaultdict(list)
        dealt = shares.deal(items, most)
        for number, share in enumerate(dealt):
            for piece in work(share, number % shares.groups_of(len(dealt)), **named):
                states[piece.kind, piece.part].append(pickle.dumps(piece.state))
        merged.extend(map(len, states.values()))
        return [
            shares.merge(
                kind,
                part,
                (pickle.loads(some[i]) for i in rng.permutation(len(some))),
                preparation.write_reserve,
            )
            for (kind, part), some in states.items()
        ]

    found = gather(find_files(spec.pool.path), shares.inspect_share)
    catalog: Catalog = preparation.plan(shares.total(found, shares.FILES))
    items = list(catalog.items)
    summaries = gather(items, shares.summarize_share, spec=spec, scored=scored)
    summary = shares.total(summaries, shares.SUMMARY)
    stratification = Stratification.given(spec) or Stratification.from_summary(summary, spec)
    cut = {"spec": spec, "stratification": stratification, "check_ids": check_ids}
    pieces = gather(shares.scored_items(items, spec, scored), shares.cut_share, **cut)
    shares.check_ids(pieces, shares.scored_items(items, spec, scored), spec)
    preparation.commit(
        catalog,
        time.time(),
        stratification,
        shares.total(pieces, shares.SUMS),
        shares.total(pieces, shares.COUNTS),
        [piece.state for piece in pieces if piece.kind == shares.RESERVE],
    )
    return max(merged)


@pytest.mark.parametrize("most", [1, 4, 100])
@pytest.mark.parametrize("case", CASES)
def test_shares_equal_memory(job: Any, case: str, most: int) -> None:
    shape, keys = CASES[case]
    one = job(make_rich_pool(**shape), files=3, group_rows=100, budget=300, **keys)
    merged = prepare(one.spec, most)
    assert merged > 1 or most == 1, "no states met: the test would prove nothing"
    assert_same(one.workspace, reference(one), budget=300)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_other_formats(job: Any, suffix: str) -> None:
    pool = make_pool().with_text_ids() if suffix == "csv" else make_pool()
    one = job(pool, budget=30)
    pattern = pool.write_as(suffix, one.directory / "text", files=3)
    one.spec.write_text(one.spec.read_text().replace("pool/*.parquet", f"text/{pattern.name}"))
    prepare(one.spec, most=2)
    assert_same(one.workspace, reference(one), budget=30)


def test_scored_once_and_read_from_there(job: Any) -> None:
    keys = {"scorer": "doubling:score", "score": "doubled"}
    one = job(files=3, group_rows=150, budget=30, pool=keys)
    (one.directory / "doubling.py").write_text(
        "import pathlib, pyarrow.compute as pc\n"
        "def score(batch):\n"
        "    with (pathlib.Path(__file__).parent / 'calls').open('a') as calls:\n"
        "        calls.write(f'{len(batch)}\\n')\n"
        "    return batch.append_column('doubled', pc.multiply(batch['score'], 2.0))\n"
    )
    prepare(one.spec, most=4)
    assert sum(map(int, (one.directory / "calls").read_text().split())) == 2000
    scored = one.pool.table.append_column("doubled", [2 * one.pool.table["score"].to_numpy()])
    batch = PoolBatch(scored.combine_chunks().to_batches()[0])
    assert_same(one.workspace, MemoryPool.prepare(EvaluationSpec.load(one.spec), batch), budget=30)


def test_all_ids_are_checked_on_request(job: Any) -> None:
    rows = make_pool()
    ids = rows.table["id"].to_pylist()
    low = np.argsort(rows.table["score"].to_numpy())[:2]
    ids[low[1]] = ids[low[0]]
    doubled = Pool(rows.table.set_column(0, "id", [ids]), rows.truth)
    keys = {"files": 3, "budget": 1, "strata": {"leaves": 1}, "round_size": 1}
    prepare(job(doubled, **keys).spec, most=4)
    with pytest.raises(InputError, match="duplicate id"):
        prepare(job(doubled, **keys).spec, most=4, check_ids=True)
    prepare(job(rows, **keys).spec, most=4, check_ids=True)


def test_sum_of_reserves(job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether rows wait or not."""
    rows = reference(job()).reserve.rows
    parts = [Reserve.from_rows(5, [rows.slice(begin, 70)]) for begin in range(0, len(rows), 70)]
    parts.insert(2, Reserve.zero(5))
    one_by_one = reduce(operator.add, parts)
    assert one_by_one.rows is not None
    for waiting in (1, 100, 1 << 18):
        monkeypatch.setattr("evalsampling.preparation.reserve.COMPACT_ABOVE", waiting)
        assert sum_reserves(iter(parts)).rows == one_by_one.rows
    assert len(sum_reserves(parts[:1])) == len(parts[0])


def test_groups_are_no_more_than_what_is_in_one() -> None:
    assert [shares.groups_of(n) for n in (0, 1, 2, 4, 5, 9, 10, 10_000)] == [
        1, 1, 2, 2, 3, 3, 4, 100,
    ]  # fmt: skip
    for items, most in itertools.product(range(1, 12), range(1, 14)):
        dealt = shares.deal(range(items), most)
        assert sorted(itertools.chain(*dealt)) == list(range(items))
        assert len(dealt) == min(items, most)
        assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
