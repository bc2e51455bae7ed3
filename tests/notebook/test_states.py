"""Threads that share an evaluation, and copies of it."""

import copy
import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling import Evaluation
from evalsampling.notebook.states import Turns
from tests.jobs import make_pool

POOL = make_pool(rows=2000)


def make(table: pa.Table = POOL.table, **keys: Any) -> Evaluation:
    return Evaluation.from_frame(
        table, id="id", strata={"leaves": 8}, sampler="passive", seed=3, **keys
    )


def test_threads_draw_and_label_other_rows() -> None:
    alone, shared = make(), make()
    expected = {id for _ in range(8) for id in alone.sample(20).tolist()}

    def work(_: int) -> list[int]:
        ids = shared.sample(20).tolist()
        for id in ids:
            shared.label([id], [POOL.truth[id]])
        return list(ids)

    with ThreadPoolExecutor(8) as threads:
        drawn = list(threads.map(work, range(8)))
    assert {id for ids in drawn for id in ids} == expected
    assert len(expected) == sum(map(len, drawn)) == 160
    assert len(shared.history.labelled) == 160


def test_a_copy_is_another_evaluation() -> None:
    one = make()
    one.sample(5)
    copies = [copy.deepcopy(one), Evaluation(dataclasses.replace(one.state))]
    for other in copies:
        assert other.state.turns.lock is not one.state.turns.lock
        other.sample(5)
        assert (len(one.history.rounds), len(other.history.rounds)) == (1, 2)
    turns = Turns()
    with turns.lock:
        assert pickle.loads(pickle.dumps(turns)).lock is not turns.lock


def test_rounds_are_within_a_budget_that_is_given() -> None:
    one = make(budget=50)
    assert [len(one.sample(30)) for _ in range(3)] == [30, 20, 0]
    assert len(one.history.rounds) == 2
    assert len(make().sample(60)) == 60


def test_rounds_are_within_an_amount_of_money_that_is_given() -> None:
    table = POOL.table.append_column("hours", pa.array([2.0] * POOL.table.num_rows))
    one = make(table, budget={"cost": 50}, pool={"cost": "hours"})
    ids = one.sample(30)
    assert len(ids) == 25
    one.label(ids, [POOL.truth[id] for id in ids.tolist()])
    assert len(one.sample(30)) == 0


def test_results_say_what_estimates_warn_of() -> None:
    """Scores that expect ten times the positives that are predicted, among others."""
    score = np.linspace(0, 0.9, 2000)
    evaluation = Evaluation.from_arrays(score, (score > 0.89).astype(int), measure="precision")
    ids = evaluation.sample(50)
    evaluation.label(ids, np.zeros(len(ids), dtype=int))
    warnings = evaluation.estimate().warnings
    assert warnings[0].startswith("All 50 answers are '0'"), "labels come before scores"
    assert "expects 900 positives where 23 are predicted" in warnings[1]
    assert evaluation.results()["warnings"].to_pylist() == ["\n".join(warnings)]
