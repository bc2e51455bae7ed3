"""Draws that a comparison takes: closed forms, and the power that they turn out to have."""

import dataclasses

import numpy as np
import pytest

from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.significance import required_draws
from evalsampling.measures import Accuracy, Quotient, difference
from evalsampling.samplers import Compare, Passive, Stratified
from evalsampling.simulation.power import draws_for
from tests.samplers.pools import Pool, make_pool

ACCURACIES = difference(Accuracy(), Accuracy(system=1))


def make_systems() -> Pool:
    """Two systems that differ on some rows whose labels are hard to tell."""
    pool = make_pool(2000, 5, seed=1, positive=0.3)
    rng = np.random.default_rng(2)
    differ = (np.abs(pool.probability[:, 1] - 0.5) < 0.2) & (rng.random(len(pool)) < 0.5)
    other = np.where(differ, 1 - pool.prediction, pool.prediction)
    return dataclasses.replace(pool, prediction=np.stack([pool.prediction, other], axis=1))


POOL = make_systems()
DIFFER = float(np.mean(POOL.prediction[:, 0] != POOL.prediction[:, 1]))
CHANCE = POOL.table.prior[POOL.cell]
rows = np.arange(len(POOL))
EFFECT = float(np.mean(CHANCE[rows, POOL.prediction[:, 0]] - CHANCE[rows, POOL.prediction[:, 1]]))


@pytest.mark.parametrize(
    ("sampler", "square"), [(Passive(ACCURACIES), DIFFER), (Compare(ACCURACIES), DIFFER**2)]
)
def test_draws_of_accuracies_in_closed_form(sampler: Passive, square: float) -> None:
    """One draw has the variance d - Delta^2 of passive, d^2 - Delta^2 of disagreements alone."""
    expected = required_draws(EFFECT, np.sqrt(square - EFFECT**2), 0.8, 0.05)
    found = draws_for(ACCURACIES, sampler, POOL.table, 0.95, 0.8, None)
    assert found is not None
    assert found["budget"] == int(np.ceil(expected))
    assert found["power"] == 0.8
    smaller = draws_for(ACCURACIES, sampler, POOL.table, 0.95, 0.8, EFFECT / 2)
    assert smaller is not None
    assert smaller["budget"] == pytest.approx(4 * expected, abs=1)


def test_self_normalised_weights_have_the_published_variance() -> None:
    """(mean of sqrt(h))^2 (theorem 5.1), h = E (d - Delta)^2: theirs is all of one draw's."""
    sampler = Compare(ACCURACIES, variant="active", floor=0)
    found = draws_for(ACCURACIES, sampler, POOL.table, 0.95, 0.8, None)
    f = POOL.prediction
    p = [CHANCE[rows, f[:, system]] for system in range(2)]
    differ = f[:, 0] != f[:, 1]
    h = np.where(differ, 1 - 2 * EFFECT * (p[0] - p[1]) + EFFECT**2, EFFECT**2)
    assert found is not None
    expected = required_draws(EFFECT, np.sqrt(h).mean(), 0.8, 0.05)
    assert found["budget"] == int(np.ceil(expected))


def test_the_power_is_what_it_should_be() -> None:
    """Of 200 tests with the draws for 70 %, between 60 and 80 % are significant: 3 errors."""
    sampler = Compare(ACCURACIES, "stochastic")
    needed = draws_for(ACCURACIES, sampler, POOL.table, 0.95, 0.7, None)
    assert needed is not None
    scope = ReportedDomains(systems=("a", "b"))
    significant = 0
    for seed in range(200):
        history, _ = POOL.run_stochastic(sampler, CHANCE, 1, needed["budget"], seed)
        (found,) = sampler.estimate(POOL.table, history, [ACCURACIES], 0.95, scope)
        assert found.significance is not None
        p_value = found.significance.p_value
        significant += p_value is not None and p_value <= 0.05
    assert significant / 200 == pytest.approx(0.7, abs=3 * np.sqrt(0.7 * 0.3 / 200))


def test_where_there_is_no_number() -> None:
    assert draws_for(ACCURACIES, Stratified(ACCURACIES), POOL.table, 0.95, 0.8, None) is None
    ratio = Quotient(Accuracy(), Accuracy(system=1))
    assert draws_for(ratio, Compare(ACCURACIES), POOL.table, 0.95, 0.8, None) is None
    found = draws_for(ratio, Passive(ratio), POOL.table, 0.95, 0.8, None)
    plain = draws_for(ACCURACIES, Passive(ratio), POOL.table, 0.95, 0.8, None)
    assert found is not None
    assert plain is not None
    assert found["budget"] == pytest.approx(plain["budget"], rel=0.1), "on the logarithmic scale"
