"""What a budget buys by formula, against enumeration of draws."""

import dataclasses

import numpy as np
import pytest

from evalsampling.measures import Accuracy
from evalsampling.samplers import OptimalImportance, Passive, Stratified
from evalsampling.simulation.effort import effort_of, saving_of
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
