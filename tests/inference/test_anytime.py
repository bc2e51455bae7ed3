"""Bets against a mean: expectations by going through all outcomes."""

import itertools

import numpy as np
import pytest

from evalsampling.inference.anytime import STAKES, Gamble, gamble_on
from evalsampling.measures import Accuracy, Brier, Difference, FBeta, difference
from evalsampling.samplers import AdaptiveImportance, Compare, Passive, Stratified
from evalsampling.stats.history import NO_LABEL
from tests.samplers.pools import make_pool, with_second_system

ACCURACIES = difference(Accuracy(), Accuracy(system=1))
POOL = with_second_system(make_pool(400, 5, seed=2, positive=0.3), seed=3)


def gamble(values: np.ndarray) -> Gamble:
    return Gamble(values.astype(float), np.ones(len(values)))


def test_wealth_of_fair_bets_is_one_on_average() -> None:
    """Over all sequences of five draws of -1, 0 and 1 whose mean is that which is bet against."""
    chance = {-1.0: 0.3, 0.0: 0.3, 1.0: 0.4}
    mean = sum(value * share for value, share in chance.items())
    total = 0.0
    for outcome in itertools.product(chance, repeat=5):
        values = np.array(outcome)
        growth = np.prod(1 + STAKES[:, None] * (values - mean) / (1 + abs(mean)), axis=1)
        total += float(np.prod([chance[one] for one in outcome])) * growth.mean()
    assert total == pytest.approx(1, rel=1e-12)


def test_greatest_wealth_by_hand() -> None:
    values = np.array([1.0, 1.0, -1.0, 1.0])
    wealth = [np.prod(1 + STAKES[:, None] * values[:n], axis=1).mean() for n in range(1, 5)]
    assert gamble(values).p_value() == pytest.approx(min(1, 2 / max(wealth)), rel=1e-12)


def test_interval_is_of_the_means_that_are_not_rejected() -> None:
    rng = np.random.default_rng(2)
    bet = Gamble(rng.choice([-0.4, 0.0, 0.5], size=150), np.full(150, 0.5))
    low, high = bet.interval(0.95, (-1.0, 1.0))
    assert -0.5 < low < np.mean(bet.value) < high < 0.5
    for inside in (low + 1e-6, high - 1e-6):
        assert bet.p_value(inside) > 0.05
    for outside in (low - 1e-6, high + 1e-6):
        assert bet.p_value(outside) == pytest.approx(0.05, abs=1e-4)
    assert Gamble(np.zeros(0), np.zeros(0)).interval(0.95, (-1.0, 1.0)) == (-1.0, 1.0)


def test_draws_of_a_difference_are_weighted_losses() -> None:
    """w (l2 - l1) of every draw in order; weights of rows that can add are below the bound."""
    sampler = Compare(ACCURACIES, draws=40)
    history, order = POOL.run(sampler, 2, 40, seed=1)
    inputs = sampler.inputs(POOL.table, history, 0.95)
    found = gamble_on(ACCURACIES, inputs)
    rows = POOL.rows(history, order)[history.question]
    right = (POOL.prediction[rows] == POOL.label[rows, None]).astype(float)
    differ = np.mean(POOL.prediction[:, 0] != POOL.prediction[:, 1])
    np.testing.assert_allclose(found.value, differ * (right[:, 0] - right[:, 1]), rtol=1e-9)
    np.testing.assert_allclose(found.bound, differ, rtol=1e-9)


def test_where_there_is_no_such_test() -> None:
    passive = Passive(ACCURACIES, draws=30)
    history, _ = POOL.run(passive, 2, 30, seed=1)
    inputs = passive.inputs(POOL.table, history, 0.95)
    assert gamble_on(Difference(FBeta(), FBeta(system=1)), inputs) is None
    assert gamble_on(difference(Brier(), Brier(system=1)), inputs) is not None
    missing = history.label.copy()
    missing[-1] = NO_LABEL
    first_round = len(history.rounds[0].question)
    inputs = passive.inputs(POOL.table, history.with_labels(missing), 0.95)
    found = gamble_on(ACCURACIES, inputs)
    assert len(found.value) == first_round
    for sampler in (AdaptiveImportance(ACCURACIES), Stratified(ACCURACIES)):
        history, _ = POOL.run(sampler, 1, 30, seed=1)
        assert gamble_on(ACCURACIES, sampler.inputs(POOL.table, history, 0.95)) is None


def test_error_rate_under_looking_after_every_draw() -> None:
    """Of 500 null sequences of 300 draws, ties among them, at most 5 % ever reach p = .05.

    The limit is 5 % and three standard errors. A fixed test that is looked at after every draw
    from the tenth on rejects far more often.
    """
    rng = np.random.default_rng(1)
    draws = rng.choice([-1.0, 0.0, 1.0], p=[0.25, 0.5, 0.25], size=(500, 300))
    rejected = np.mean([gamble(one).p_value() <= 0.05 for one in draws])
    assert 0 < rejected <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)
    n = np.arange(1, 301)
    mean = np.cumsum(draws, axis=1) / n
    error = np.sqrt((np.cumsum(draws**2, axis=1) / n - mean**2) / n)
    looked = (np.abs(mean) > 1.96 * error)[:, 9:].any(axis=1)
    assert looked.mean() > 0.25
