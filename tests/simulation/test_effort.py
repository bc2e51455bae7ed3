"""What a budget buys by formula, against enumeration of draws."""

import dataclasses

import numpy as np
import pytest

from evalsampling.measures import Accuracy, FBeta, Joint, Precision
from evalsampling.samplers import CalibratedDesign, OptimalImportance, Passive, Stratified
from evalsampling.simulation.effort import effort_of, prices_of, saving_of
from tests.samplers.pools import make_pool

POOL = dataclasses.replace(
    make_pool(400, 10, seed=9, positive=0.3, strength=3),
    cost=np.exp(np.random.default_rng(4).normal(0, 1, 400)),
)


def test_money_buys_the_draws_of_theorem_4_2() -> None:
    """Against 300 seeded runs of n* draws: distinct rows and their cost within five errors."""
    sampler = OptimalImportance(Accuracy(), delta=0.0)
    told = effort_of(sampler, POOL.table, 60.0, by_cost=True)
    q = sampler.proposal(POOL.table, POOL.start()).cell_probability[POOL.cell]
    mean_cost = POOL.table.cost[POOL.cell]
    draws = 60.0 / float(q @ mean_cost)
    assert told["draws"] == np.floor(draws)
    rng = np.random.default_rng(1)
    met = [np.unique(rng.choice(400, int(draws), p=q / q.sum())) for _ in range(300)]
    distinct = np.array([len(one) for one in met])
    cost = np.array([mean_cost[one].sum() for one in met])
    # The fraction of a draw that is rounded off adds at most one row.
    assert told["labels"] == pytest.approx(distinct.mean(), abs=1 + 5 * distinct.std() / 17)
    assert told["cost"] == pytest.approx(cost.mean(), abs=1.5 + 5 * cost.std() / 17)
    assert 0 < saving_of(Accuracy(), POOL.table) < 1


def test_labels_take_the_draws_that_meet_so_many_rows() -> None:
    told = effort_of(Passive(Accuracy()), POOL.table, 100, by_cost=False)
    assert told["labels"] == pytest.approx(100)
    # (1 - (1 - 1/M)^n) M = 100 for even draws.
    assert told["draws"] == np.floor(np.log(1 - 100 / 400) / np.log(1 - 1 / 400))
    nearly_all = effort_of(Passive(Accuracy()), POOL.table, 500, by_cost=False)
    assert nearly_all["draws"] is None


def test_samplers_without_a_proposal_have_none() -> None:
    told = effort_of(Stratified(Accuracy()), POOL.table, 60.0, by_cost=True)
    assert (told["draws"], told["labels"], told["cost"]) == (None, None, None)


def test_rounds_for_several_measures_cost_each_a_factor() -> None:
    """None that outweighs all others, nor one that is asked twice; else more than none."""
    both = Joint((FBeta(), Accuracy(), Precision()))
    found = [
        dict(prices_of(CalibratedDesign(both, importance=weights), POOL.table))
        for weights in ((1.0, 1.0, 1.0), (1e9, 1.0, 1.0))
    ]
    assert list(found[0]) == [FBeta(), Accuracy(), Precision()]
    assert all(1 < price < 2 for price in found[0].values())
    assert found[1][FBeta()] == pytest.approx(1, abs=1e-6)
    assert found[1][FBeta()] < found[0][FBeta()]
    twice = prices_of(
        CalibratedDesign(Joint((FBeta(), FBeta())), importance=(1.0, 1.0)), POOL.table
    )
    assert [price for _, price in twice] == pytest.approx([1, 1])


def test_rounds_for_one_measure_have_no_price() -> None:
    assert prices_of(CalibratedDesign(FBeta(), importance=(1.0,)), POOL.table) == []
    assert prices_of(Passive(Joint((FBeta(), Accuracy()))), POOL.table) == []


def test_a_price_is_that_of_sizes_by_rows() -> None:
    """Row by row: with sizes s and standard deviations d, sum d^2 / s times sum s, by (sum d)^2."""
    table = dataclasses.replace(POOL, cost=None).table
    rate, count = table.prior[:, 1], table.count
    found = table.outputs.prediction[:, 0] == 1
    p = np.repeat(rate, count)
    of_accuracy = np.sqrt(p * (1 - p))
    of_precision = of_accuracy * np.repeat(found, count)
    joint = np.sqrt(
        (of_accuracy / of_accuracy.sum()) ** 2 + (of_precision / of_precision.sum()) ** 2
    )
    sampler = CalibratedDesign(Joint((Accuracy(), Precision())), importance=(1.0, 1.0))
    for (_, price), own in zip(prices_of(sampler, table), (of_accuracy, of_precision), strict=True):
        by_rows = (own**2 / joint).sum() * joint.sum() / own.sum() ** 2
        assert price == pytest.approx(np.sqrt(by_rows))
