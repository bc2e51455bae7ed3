"""Draws that a comparison takes: closed forms, and the power that they turn out to have."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from evalsampling.inference.significance import required_draws_of_student
from evalsampling.measures import Accuracy, FBeta, Quotient, difference
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


def deviation(found: dict[str, Any] | None) -> float:
    """Of one draw, as an entry tells it."""
    assert found is not None
    return float(found["standard_error"] * np.sqrt(found["draws"]))


@pytest.mark.parametrize(
    ("sampler", "square"), [(Passive(ACCURACIES), DIFFER), (Compare(ACCURACIES), DIFFER**2)]
)
def test_a_draw_of_accuracies_in_closed_form(sampler: Passive, square: float) -> None:
    """One draw has the variance d - Delta^2 of passive, d^2 - Delta^2 of disagreements alone."""
    found = draws_for(ACCURACIES, sampler, POOL.table, 0.95, 0.8, None)
    assert deviation(found) == pytest.approx(np.sqrt(square - EFFECT**2))
    assert found is not None
    assert found["labels"] < found["draws"]


def test_draws_are_those_of_the_formula() -> None:
    found = draws_for(ACCURACIES, Passive(ACCURACIES), POOL.table, 0.95, 0.8, EFFECT / 2)
    spread = np.sqrt(DIFFER - EFFECT**2 / 4)
    assert found is not None
    assert found["draws"] == required_draws_of_student(EFFECT / 2, spread, 0.8, 0.05)


def test_self_normalised_weights_have_the_published_variance() -> None:
    """(mean of sqrt(h))^2 (theorem 5.1), h = E (d - Delta)^2: theirs is all of one draw's."""
    sampler = Compare(ACCURACIES, variant="active", floor=0)
    found = draws_for(ACCURACIES, sampler, POOL.table, 0.95, 0.8, None)
    f = POOL.prediction
    p = [CHANCE[rows, f[:, system]] for system in range(2)]
    differ = f[:, 0] != f[:, 1]
    h = np.where(differ, 1 - 2 * EFFECT * (p[0] - p[1]) + EFFECT**2, EFFECT**2)
    assert deviation(found) == pytest.approx(np.sqrt(h).mean())


def test_draws_of_a_stochastic_oracle_are_labels() -> None:
    sampler = Compare(ACCURACIES, "stochastic")
    found = draws_for(ACCURACIES, sampler, POOL.table, 0.95, 0.7, None)
    assert found is not None
    assert found["labels"] == found["draws"]


def test_where_there_is_no_number() -> None:
    assert draws_for(ACCURACIES, Stratified(ACCURACIES), POOL.table, 0.95, 0.8, None) is None
    ratio = Quotient(Accuracy(), Accuracy(system=1))
    assert draws_for(ratio, Compare(ACCURACIES), POOL.table, 0.95, 0.8, None) is None
    assert draws_for(ACCURACIES, Compare(ACCURACIES), POOL.table, 0.95, 0.8, 0.5) == dict.fromkeys(
        ("standard_error", "draws", "labels", "cost")
    ), "more than the share of rows on which the systems differ"


def test_a_ratio_that_is_expected_to_be_0_has_no_number() -> None:
    """The first system predicts no positive; the logarithm of 0 was a bare "math domain error"."""
    nothing = np.stack([np.zeros_like(POOL.label), POOL.prediction[:, 1]], axis=1)
    pool = dataclasses.replace(POOL, prediction=nothing)
    ratio = Quotient(FBeta(), FBeta(system=1))
    found = draws_for(ratio, Passive(ratio), pool.table, 0.95, 0.8, None)
    assert found == dict.fromkeys(("standard_error", "draws", "labels", "cost"))


def test_a_ratio_is_tested_on_the_logarithmic_scale() -> None:
    """Of values near each other, a draw deviates as of their difference, by one of the values."""
    accuracy = float(np.mean(CHANCE[rows, POOL.prediction[:, 0]]))
    ratio = Quotient(Accuracy(), Accuracy(system=1))
    found = draws_for(ratio, Passive(ratio), POOL.table, 0.95, 0.8, None)
    plain = draws_for(ACCURACIES, Passive(ratio), POOL.table, 0.95, 0.8, None)
    assert found is not None
    assert plain is not None
    assert deviation(found) == pytest.approx(deviation(plain) / accuracy, rel=0.05)
