"""Rounds drawn from files are those drawn in memory, however the pool was cut."""

import json
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cases import SCORED
from tests.compared_numbers import make_compared_numbers, spec_of
from tests.jobs import Pool, make_pool, make_rich_pool
from tests.ranked_lists import ranked_pool
from tests.reference import assert_same_evaluation
from tests.slow import fast, slowly

SAMPLERS: dict[str, Any] = {
    "passive": "passive",
    "stratified": "stratified",
    "importance": {"name": "importance", "delta": 0.1},
    "oasis": {"name": "oasis", "epsilon": 0.05, "draws": 25},
    "ais": {"name": "ais", "model": "scores", "delta": 0.2},
    "given": {"name": "given", "weights": "own_weights:by_leaf"},
    "calibrated": "calibrated",
}


@pytest.mark.parametrize(
    "sampler",
    ["calibrated", *slowly("ais", "stratified", "passive", "importance", "oasis", "given")],
)
def test_samplers_through_the_workspace_equal_memory(job: Any, sampler: str) -> None:
    """Three rounds, each started from the files alone, the second growing."""
    one = job(
        make_rich_pool(),
        files=2,
        pool={**SCORED, "slices": ["city"]},
        measure=["f1", "precision", "recall"],
        sampler=SAMPLERS[sampler],
    )
    (one.directory / "own_weights.py").write_text(
        "def by_leaf(table, history):\n    return 1.0 + table.leaf + len(history.rounds)\n"
    )
    assert one.prepare("--in-process").status == 0
    estimates = assert_same_evaluation(one, rounds=3)
    design = json.loads((one.round_directory(3) / "design.json").read_text())
    assert design["sampler"]["name"] == sampler
    assert {told["slice"] for told in estimates} >= {None, "city=Zürich", "city=null"}


OF_SAWADE = (
    "active_risk", "strat_model", "active_err", "active_uniC", "active_uniD", "active_lambda"
)  # fmt: skip


@pytest.mark.parametrize("sampler", ["strat", *slowly(*OF_SAWADE)])
def test_systems_of_active_evaluation_through_the_workspace_equal_memory(
    job: Any, sampler: str
) -> None:
    """Those of Sawade's thesis, each by its name, where labels differ in cost."""
    keys: dict[str, Any] = {"calibration": "logistic"} if sampler == "active_risk" else {}
    one = job(
        make_rich_pool(),
        files=2,
        pool={**SCORED, "cost": "size"},
        measure=["f1", "accuracy"],
        strata={"leaves": 16},
        sampler={"name": sampler, **keys},
    )
    assert one.prepare("--in-process").status == 0
    estimates = assert_same_evaluation(one, rounds=2)
    assert {told["measure"] for told in estimates} == {"f1", "accuracy"}


def test_another_seed_another_batch(job: Any) -> None:
    chosen = []
    for seed in (1, 2):
        one = job(seed=seed)
        one.prepare("--in-process")
        one.sample()
        chosen.append(set(one.batch(1)["id"]))
    assert chosen[0] != chosen[1]


COSTLY = {**SCORED, "cost": "size"}
RANKED = {"name": "adastrat", "epsilon": 0.3, "beta": 1.5, "p_min": 0.25, "m": 5}

KINDS: dict[str, tuple[Callable[[], Pool], dict[str, Any]]] = {
    "hidden positives": (
        make_pool, {"measure": ["f1", "recall"], "hidden": {"share": 0.1}, "strata": {"leaves": 8}},
    ),
    "classes": (make_pool, {"measure": ["f1", "recall", "accuracy"], "sampler": "ais"}),
    "costs": (
        lambda: make_rich_pool(600),
        {"pool": COSTLY, "sampler": "optimal_importance", "budget": {"cost": 60, "labels": 40}},
    ),
    "numbers": (make_compared_numbers, spec_of(2)),
    "curve": (
        lambda: ranked_pool(1200),
        {"measure": ["pr_curve", "f1"], "sampler": RANKED, "budget": 3000,
         "strata": {"method": "log_rank", "leaves": 64}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", fast(1, KINDS))
@pytest.mark.usefixtures("one_key")
def test_pipelines_say_what_commands_say(job: Any, kind: str) -> None:
    """Cells, draws, costs and estimates, with rows that got no label."""
    pool, keys = KINDS[kind]
    results = []
    for runner in ([], ["--runner=FnApiRunner"]):
        one = job(pool(), **keys)
        assert one.prepare("--in-process" if not runner else runner[0]).status == 0
        seen: list[Any] = [pq.read_table(one.workspace / "cells.parquet").to_pydict()]
        for number in (1, 2):
            sampled = one.sample(*runner).json
            if sampled["rows"]:
                delivery = one.deliver(one.answers(number)[number:], f"{number}.csv")
                draws = pq.read_table(one.round_directory(number) / "draws.parquet").to_pydict()
                said = one.estimate("--labels", delivery, "--close", *runner).json
                seen.append((sampled["rows"], sampled["reason"], draws, said))
        results.append(seen)
    assert results[0] == results[1]
    assert len(results[0]) > 1
