"""Effective size, design effect and shares by hand and on simulated samples."""

import math

import numpy as np
import pytest

from evalsampling.inference.weights import design_effect, effective_size, largest_share


def test_effective_size_by_hand() -> None:
    assert effective_size(np.array([1.0, 2.0, 3.0])) == pytest.approx(36 / 14)
    assert effective_size(np.array([3.0, 3.0, 0.0])) == pytest.approx(2)
    assert effective_size(np.array([1.0, 1e-9])) == pytest.approx(1)


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_effective_size_does_not_depend_on_the_unit(unit: float) -> None:
    assert effective_size(np.array([1.0, 2.0, 3.0]) * unit) == pytest.approx(36 / 14)
    assert largest_share(np.array([1.0, 2.0, 3.0]) * unit) == pytest.approx(1 / 2)


@pytest.mark.parametrize("weight", [np.zeros(0), np.zeros(3)])
def test_no_weight_is_no_sample(weight: np.ndarray) -> None:
    assert effective_size(weight) == 0
    assert largest_share(weight) == 0


def test_effective_size_predicts_the_variance_under_weights_that_know_nothing() -> None:
    """Variance of a weighted mean of 50 unit normals, 40,000 samples: within 3.3 s.e. (2.3 %)."""
    rng = np.random.default_rng(7)
    weight = rng.gamma(1.0, size=50)
    means = rng.standard_normal((40_000, 50)) @ weight / weight.sum()
    assert means.var() * effective_size(weight) == pytest.approx(1, rel=3.3 * math.sqrt(2 / 40_000))


def test_design_effect_of_a_simple_random_sample_is_one() -> None:
    assert design_effect(math.sqrt(0.3 * 0.7 / 200), 0.3 * 0.7, 200) == pytest.approx(1)
    assert design_effect(0.1, 0.25, 100) == pytest.approx(4)
    assert design_effect(0.0, 0.25, 100) == 0


def test_design_effect_without_unit_variance_is_undefined() -> None:
    assert design_effect(0.1, 0.0, 100) is None


def test_design_effect_of_recall_counts_how_seldom_positives_are_drawn() -> None:
    """20,000 random samples of 400, prevalence .3: the linearised variance is within 5 %."""
    rng = np.random.default_rng(8)
    positives = rng.binomial(400, 0.3, 20_000)
    recall = rng.binomial(positives, 0.8) / positives
    effect = design_effect(float(recall.std()), 0.8 * 0.2 / 0.3, 400)
    assert effect == pytest.approx(1, rel=0.05)


def test_largest_share_by_hand() -> None:
    assert largest_share(np.array([4.0, 1.0, 3.0])) == pytest.approx(1 / 2)
    assert largest_share(np.array([4.0])) == 1
    assert largest_share(np.ones(8)) == pytest.approx(1 / 8)
