"""Calibration against least squares and the classical regression estimator."""

import numpy as np
import pytest

from evalsampling.inference.known_totals import calibrate
from evalsampling.inference.sample import WeightedSample


def make_rows(seed: int, rows: int = 40, known: int = 3) -> tuple[np.ndarray, ...]:
    """Weights, auxiliaries, their means over the pool, two columns of values."""
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=rows) / rows
    auxiliary = rng.normal(size=(rows, known)) + 1
    values = auxiliary @ rng.normal(size=(known, 2)) + rng.normal(size=(rows, 2))
    return weight, auxiliary, rng.normal(1, 0.2, known), values


@pytest.mark.parametrize("seed", range(5))
def test_weights_reproduce_the_known_means(seed: int) -> None:
    weight, auxiliary, mean, _ = make_rows(seed)
    found = calibrate(weight, auxiliary, mean)
    np.testing.assert_allclose(found.weight @ auxiliary, mean, rtol=1e-10)
    np.testing.assert_allclose(found.weight, weight * found.ratio, rtol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_weights_move_as_little_as_they_can(seed: int) -> None:
    """Of all weights that reproduce the means: least sum (w' - w)^2 / w, by its null space."""
    weight, auxiliary, mean, _ = make_rows(seed)
    found = calibrate(weight, auxiliary, mean).weight
    gradient = (found - weight) / weight
    # At the constrained minimum the gradient is a combination of the constraints.
    rest = gradient - auxiliary @ np.linalg.lstsq(auxiliary, gradient, rcond=None)[0]
    np.testing.assert_allclose(rest, 0, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_estimate_is_the_generalized_regression_estimator(seed: int) -> None:
    """sum w y + (Z - sum w z)' B, B from weighted least squares; residuals g (y - z' B)."""
    weight, auxiliary, mean, values = make_rows(seed)
    root = np.sqrt(weight)[:, None]
    slope = np.linalg.lstsq(root * auxiliary, root * values, rcond=None)[0]
    expected = weight @ values + (mean - weight @ auxiliary) @ slope
    found = calibrate(weight, auxiliary, mean)
    np.testing.assert_allclose(found.weight @ values, expected, rtol=1e-10)
    residuals = found.ratio[:, None] * (values - auxiliary @ slope)
    np.testing.assert_allclose(found.residuals(values), residuals, rtol=1e-9, atol=1e-12)


def test_simple_random_sample_gives_the_textbook_line() -> None:
    """Equal weights, auxiliaries 1 and x: y^ = ybar + b (X - xbar), b by `polyfit`."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=25)
    y = 2 * x + rng.normal(size=25)
    weight = np.full(25, 1 / 25)
    found = calibrate(weight, np.stack([np.ones(25), x], axis=1), np.array([1.0, 0.3]))
    slope, _ = np.polyfit(x, y, 1)
    assert found.weight @ y == pytest.approx(y.mean() + slope * (0.3 - x.mean()), rel=1e-12)


def test_one_indicator_gives_the_ratio_estimator() -> None:
    """Rows it is 1 of share the same factor, the others keep their weights."""
    weight = np.array([0.1, 0.2, 0.3, 0.6])
    found = calibrate(weight, np.array([[1.0], [1.0], [0.0], [0.0]]), np.array([0.45]))
    np.testing.assert_allclose(found.weight, [0.15, 0.3, 0.3, 0.6], rtol=1e-14)


def test_auxiliaries_that_say_the_same_count_once() -> None:
    weight, auxiliary, mean, values = make_rows(2, known=2)
    alone = calibrate(weight, auxiliary, mean)
    twice = calibrate(
        weight, np.column_stack([auxiliary, auxiliary.sum(axis=1)]), np.append(mean, mean.sum())
    )
    np.testing.assert_allclose(twice.weight, alone.weight, rtol=1e-8)
    np.testing.assert_allclose(twice.residuals(values), alone.residuals(values), atol=1e-8)


def test_auxiliary_that_the_sample_does_not_vary_in_is_left_out() -> None:
    """No labelled row has the last one, so nothing can be done about its mean."""
    weight, auxiliary, mean, values = make_rows(3, known=2)
    alone = calibrate(weight, auxiliary, mean)
    beside = calibrate(
        weight, np.column_stack([auxiliary, np.zeros(len(weight))]), np.append(mean, 0.4)
    )
    np.testing.assert_allclose(beside.weight, alone.weight, rtol=1e-9)
    nothing = calibrate(weight, np.zeros((40, 1)), np.array([0.4]))
    np.testing.assert_allclose(nothing.weight, weight)
    np.testing.assert_allclose(nothing.residuals(values), values)


def test_values_that_are_linear_in_the_auxiliaries_have_no_variance() -> None:
    weight, auxiliary, mean, _ = make_rows(4)
    slope = np.array([[1.0], [-2.0], [0.5]])
    values = auxiliary @ slope
    found = calibrate(weight, auxiliary, mean)
    assert found.weight @ values[:, 0] == pytest.approx(float(mean @ slope[:, 0]), rel=1e-10)
    np.testing.assert_allclose(found.residuals(values), 0, atol=1e-12)


def test_variance_is_that_of_the_residuals() -> None:
    """800 samples of 60 draws from a pool of 500 rows, importance weights.

    The variance of 800 estimates is known to 5 %, the mean of the estimated ones to less; the
    regression itself costs a few per cent more that no formula of first order has.
    """
    rng = np.random.default_rng(5)
    x = rng.normal(2, 1, 500)
    y = 3 * x + rng.normal(0, 1, 500)
    q = rng.uniform(0.5, 1.5, 500)
    q /= q.sum()
    estimates, variances, plain = [], [], []
    for _ in range(800):
        chosen = rng.choice(500, 60, p=q)
        sample = WeightedSample.with_replacement(chosen, 1 / (500 * q[chosen]), 500)
        z = np.stack([np.ones(500), x], axis=1)[sample.question]
        values = y[sample.question, None]
        found = calibrate(sample.weight, z, np.array([1.0, x.mean()]))
        estimates.append(found.weight @ values[:, 0])
        variances.append(sample.variance(found.residuals(values))[0])
        plain.append(sample.mean(values)[0])
    assert np.mean(variances) == pytest.approx(np.var(estimates), rel=0.2)
    assert np.var(estimates) < np.var(plain) / 5
    assert np.mean(estimates) == pytest.approx(y.mean(), abs=4 * np.std(estimates) / 800**0.5)
