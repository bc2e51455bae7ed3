"""Costs of labels from the command line: budgets of money, what is spent, bad costs."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.jobs import Job, call, make_rich_pool


def costly(job: Any, **keys: Any) -> Job:
    pool = {"score": "s0.score", "prediction": "s0.prediction", "cost": "size"}
    spec = {"measure": "f1", "strata": {"leaves": 8}, "round_size": 30, **keys}
    one: Job = job(make_rich_pool(600), pool=pool, **spec)
    return one


def sizes(one: Job) -> dict[Any, float]:
    table = one.pool.table
    return dict(zip(table["id"].to_pylist(), table["size"].to_pylist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["optimal_importance", "strat"])
def test_rounds_are_drawn_until_the_money_is_spent(job: Any, sampler: str) -> None:
    """What is spent is the costs of the rows asked about; the last round buys what is left."""
    one = costly(job, sampler=sampler, budget={"cost": 100})
    assert one.prepare().status == 0
    cost, spent, rounds = sizes(one), 0.0, 0
    while True:
        drawn = one.sample().json
        if drawn["reason"] == "budget":
            break
        rounds += 1
        assert rounds < 40
        spent += sum(cost[id] for _, id in one.asked(rounds))
        found = one.answer(rounds, f"{rounds}.csv").json
        assert found["cost"] == pytest.approx(spent)
    assert found["done"]
    # The last rounds are small: a few dear rows at most are too many, or too dear to be had.
    assert spent == pytest.approx(100, abs=20)
    status = call("status", one.workspace, "--json").json
    assert (status["cost"], status["money"]) == (pytest.approx(spent), 100)
    assert f"labels for {spent:,.2f} of 100.00" in call("status", one.workspace).out


@pytest.mark.slow
def test_simulate_and_plan_spend_money(job: Any) -> None:
    one = costly(job, budget={"cost": 400}, sampler="optimal_importance")
    truth = one.directory / "truth.parquet"
    labels = {"id": list(one.pool.truth), "label": list(one.pool.truth.values())}
    pq.write_table(pa.table(labels), truth)
    names = ["passive", "strat_model", "active_lambda"]
    options = ["--sampler", *names, "--repeats", 2, "--budgets", "100"]
    simulated = call("simulate", one.spec, "--truth", truth, *options, "--json").done
    for told in simulated.json["results"]:
        assert told["cost"] == pytest.approx(100, abs=30)
    by_name = {told["sampler"]: told["labels"] for told in simulated.json["results"]}
    assert by_name["active_lambda"] > 1.2 * by_name["passive"]
    planned = call("plan", one.spec, *options, "--json").done
    plans = {told["sampler"]: told for told in planned.json}
    assert plans["active_lambda"]["draws"] > plans["passive"]["draws"]
    assert plans["strat_model"]["draws"] is None
    assert 0 < plans["passive"]["saving"] < 1
    text = call("plan", one.spec, "--sampler", "passive", *options[4:]).out
    assert "half-width  draws  labels  cost" in text
    assert "of the variance of rows drawn evenly for equal money" in " ".join(text.split())


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_costs_that_are_not_above_nothing_are_named(job: Any, bad: float) -> None:
    pool = make_rich_pool(100)
    cost = np.ones(100)
    cost[41] = bad
    table = pool.table.append_column("price", pa.array(cost))
    keys = {"score": "s0.score", "prediction": "s0.prediction", "cost": "price"}
    one: Job = job(type(pool)(table, pool.truth), pool=keys)
    assert (
        f"column 'price', row 41: a label costs more than 0, got {bad:g}" in one.prepare().refused
    )


def test_money_that_buys_nothing_leaves_nothing_to_do(job: Any) -> None:
    one = costly(job, sampler="passive", budget={"cost": 0.01})
    assert one.prepare().status == 0
    found = one.sample().json
    assert (found["round"], found["rows"], found["reason"]) == (0, 0, "budget")
