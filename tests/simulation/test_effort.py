"""What a budget buys and a test takes by formula, against enumeration and closed forms."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from evalsampling.inference.significance import required_draws_of_student
from evalsampling.measures import Accuracy, FBeta, Joint, Precision, Quotient, difference
from evalsampling.samplers import CalibratedDesign, Compare, OptimalImportance, Passive, Stratified
from evalsampling.simulation.effort import draws_for, effort_of, prices_of, saving_of
from tests.samplers.pools import Pool, make_pool

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


# --- draws of a test

ACCURACIES = difference(Accuracy(), Accuracy(system=1))


def make_systems() -> Pool:
    """Two systems that differ on some rows whose labels are hard to tell."""
    pool = make_pool(2000, 5, seed=1, positive=0.3)
    rng = np.random.default_rng(2)
    differ = (np.abs(pool.probability[:, 1] - 0.5) < 0.2) & (rng.random(len(pool)) < 0.5)
    other = np.where(differ, 1 - pool.prediction, pool.prediction)
    return dataclasses.replace(pool, prediction=np.stack([pool.prediction, other], axis=1))


TWO = make_systems()
DIFFER = float(np.mean(TWO.prediction[:, 0] != TWO.prediction[:, 1]))
CHANCE = TWO.table.prior[TWO.cell]
rows = np.arange(len(TWO))
EFFECT = float(np.mean(CHANCE[rows, TWO.prediction[:, 0]] - CHANCE[rows, TWO.prediction[:, 1]]))


def deviation(found: dict[str, Any] | None) -> float:
    """Of one draw, as an entry tells it."""
    return float(found["standard_error"] * np.sqrt(found["draws"]))


@pytest.mark.parametrize(
    ("sampler", "square"), [(Passive(ACCURACIES), DIFFER), (Compare(ACCURACIES), DIFFER**2)]
)
def test_a_draw_of_accuracies_in_closed_form(sampler: Passive, square: float) -> None:
    """One draw has the variance d - Delta^2 of passive, d^2 - Delta^2 of disagreements alone."""
    found = draws_for(ACCURACIES, sampler, TWO.table, 0.95, 0.8, None)
    assert deviation(found) == pytest.approx(np.sqrt(square - EFFECT**2))
    assert found["labels"] < found["draws"]


def test_draws_are_those_of_the_formula() -> None:
    found = draws_for(ACCURACIES, Passive(ACCURACIES), TWO.table, 0.95, 0.8, EFFECT / 2)
    spread = np.sqrt(DIFFER - EFFECT**2 / 4)
    assert found["draws"] == required_draws_of_student(EFFECT / 2, spread, 0.8, 0.05)


def test_self_normalised_weights_have_the_published_variance() -> None:
    """(mean of sqrt(h))^2 (theorem 5.1), h = E (d - Delta)^2: theirs is all of one draw's."""
    sampler = Compare(ACCURACIES, variant="active", floor=0)
    found = draws_for(ACCURACIES, sampler, TWO.table, 0.95, 0.8, None)
    f = TWO.prediction
    p = [CHANCE[rows, f[:, system]] for system in range(2)]
    differ = f[:, 0] != f[:, 1]
    h = np.where(differ, 1 - 2 * EFFECT * (p[0] - p[1]) + EFFECT**2, EFFECT**2)
    assert deviation(found) == pytest.approx(np.sqrt(h).mean())


def test_draws_of_a_stochastic_oracle_are_labels() -> None:
    sampler = Compare(ACCURACIES, "stochastic")
    found = draws_for(ACCURACIES, sampler, TWO.table, 0.95, 0.7, None)
    assert found["labels"] == found["draws"]


def test_where_there_is_no_number() -> None:
    assert draws_for(ACCURACIES, Stratified(ACCURACIES), TWO.table, 0.95, 0.8, None) is None
    ratio = Quotient(Accuracy(), Accuracy(system=1))
    assert draws_for(ratio, Compare(ACCURACIES), TWO.table, 0.95, 0.8, None) is None
    assert draws_for(ACCURACIES, Compare(ACCURACIES), TWO.table, 0.95, 0.8, 0.5) == dict.fromkeys(
        ("standard_error", "draws", "labels", "cost")
    ), "more than the share of rows on which the systems differ"


def test_a_ratio_that_is_expected_to_be_0_has_no_number() -> None:
    """The first system predicts no positive; the logarithm of 0 was a bare "math domain error"."""
    nothing = np.stack([np.zeros_like(TWO.label), TWO.prediction[:, 1]], axis=1)
    pool = dataclasses.replace(TWO, prediction=nothing)
    ratio = Quotient(FBeta(), FBeta(system=1))
    found = draws_for(ratio, Passive(ratio), pool.table, 0.95, 0.8, None)
    assert found == dict.fromkeys(("standard_error", "draws", "labels", "cost"))


def test_a_ratio_is_tested_on_the_logarithmic_scale() -> None:
    """Of values near each other, a draw deviates as of their difference, by one of the values."""
    accuracy = float(np.mean(CHANCE[rows, TWO.prediction[:, 0]]))
    ratio = Quotient(Accuracy(), Accuracy(system=1))
    found = draws_for(ratio, Passive(ratio), TWO.table, 0.95, 0.8, None)
    plain = draws_for(ACCURACIES, Passive(ratio), TWO.table, 0.95, 0.8, None)
    assert deviation(found) == pytest.approx(deviation(plain) / accuracy, rel=0.05)


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
    found = table.kinds.prediction[:, 0] == 1
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
