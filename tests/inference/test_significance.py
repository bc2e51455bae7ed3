"""Tests of two systems against the thesis's figures, quadrature and simulation."""

import numpy as np
import pytest
from scipy import integrate, stats

from evalsampling.inference.sample import WeightedSample
from evalsampling.inference.significance import (
    Significance,
    power,
    required_draws,
    required_draws_of_student,
    two_sided_p_value,
)


def test_statistic_and_p_value_of_five_weighted_draws() -> None:
    """Eq. 3.22 and 3.24 by hand for v = .5, 2, 1, 1, .8: Delta = -.0943396226, p = .6438752052.

    The published variance is divided by n, this project's by n - 1.
    """
    weight = np.array([0.5, 2, 1, 1, 0.8])
    losses = np.array([[1, 0], [0, 0], [0, 1], [1, 1], [0, 0]])
    sample = WeightedSample.with_replacement(np.arange(5), weight, 5)
    total = sample.weight.sum()
    delta = (losses[:, 0] - losses[:, 1]).astype(float)
    value = sample.mean(delta) / total
    error = np.sqrt(sample.variance(((delta - value) / total)[:, None])[0] * 4 / 5)
    assert value == pytest.approx(-0.0943396226, abs=1e-10)
    assert 5 * error**2 == pytest.approx(0.2082255822, abs=1e-10)
    assert abs(value) / error == pytest.approx(0.46228744, abs=5e-9)
    assert two_sided_p_value(value / error) == pytest.approx(0.6438752052, abs=1e-10)


def test_few_degrees_of_freedom_are_students() -> None:
    assert two_sided_p_value(2.5, 7.3) == pytest.approx(2 * stats.t.sf(2.5, 7.3), rel=1e-12)
    assert two_sided_p_value(-2.5, 7.3) == two_sided_p_value(2.5, 7.3)


@pytest.mark.parametrize("effect", [0.0, 0.01, -0.2])
def test_power_is_the_integral_of_the_folded_normal(effect: float) -> None:
    """Eq. 5.4: beta = integral from 0 to z of phi(t + mu) + phi(t - mu)."""
    draws, deviation, alpha = 150, 0.7, 0.05
    location = np.sqrt(draws) * abs(effect) / deviation
    beta, _ = integrate.quad(
        lambda t: stats.norm.pdf(t + location) + stats.norm.pdf(t - location),
        0, stats.norm.ppf(1 - alpha / 2),
    )  # fmt: skip
    assert power(effect, deviation, draws, alpha) == pytest.approx(1 - beta, abs=1e-9)


@pytest.mark.parametrize("draws", [1, 20, 5000])
@pytest.mark.parametrize("deviation", [0.3, 1.0, 4.0])
def test_less_variance_is_more_power(draws: int, deviation: float) -> None:
    """Lemma 5.1 for any number of draws: the derivative of beta in sigma, which is above 0.

    sqrt(n) Delta / sigma^2 (phi(z - mu) - phi(z + mu)); another is printed, which is wrong.
    """
    effect, step, alpha = 0.05, 1e-5, 0.05
    location, z = np.sqrt(draws) * effect / deviation, stats.norm.ppf(1 - alpha / 2)
    slope = location / deviation * (stats.norm.pdf(z - location) - stats.norm.pdf(z + location))
    more, less = (power(effect, deviation + d, draws, alpha) for d in (-step, step))
    assert (more - less) / (2 * step) == pytest.approx(slope, rel=1e-4, abs=1e-9)
    assert slope >= 0


@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.99])
def test_required_draws_have_the_power(wanted: float) -> None:
    """But for the chance to reject on the wrong side, which is below 0.1 % here."""
    draws = required_draws(-0.02, 0.3, wanted, 0.05)
    assert power(-0.02, 0.3, draws, 0.05) == pytest.approx(wanted, abs=1e-3)
    assert power(-0.02, 0.3, draws, 0.05) >= wanted


@pytest.mark.parametrize(
    ("alpha", "degrees", "location"),
    [(0.05, 1, 8.0), (0.01, 2, 8.0), (0.001, 2, 12.0), (0.001, 9, 6.0), (0.05, 29, 2.0)],
)
def test_power_of_students_test_is_the_integral_over_its_deviation(
    alpha: float, degrees: int, location: float
) -> None:
    """By the normal distribution given the sample's deviation; scipy has no lower tail for some."""
    reach = stats.t.ppf(1 - alpha / 2, degrees)

    def rejects(square: float) -> float:
        bound = reach * np.sqrt(square / degrees)
        chance = stats.norm.sf(bound - location) + stats.norm.cdf(-bound - location)
        return float(stats.chi2.pdf(square, degrees) * chance)

    expected = integrate.quad(rejects, 0, degrees + 60 * np.sqrt(2 * degrees), limit=400)[0]
    assert power(location, 1.0, 1.0, alpha, degrees) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("effect", "normal"), [(1.0, 8), (0.1, 785), (9.0, 1)])
def test_few_draws_need_more_for_students_test(effect: float, normal: int) -> None:
    """The fewest that have the power, and at least two."""
    assert int(np.ceil(required_draws(effect, 1.0, 0.8, 0.05))) == normal
    draws = required_draws_of_student(effect, 1.0, 0.8, 0.05)
    assert normal < draws <= normal + 3
    assert power(effect, 1.0, draws, 0.05, draws - 1) >= 0.8
    assert draws == 2 or power(effect, 1.0, draws - 1, 0.05, draws - 2) < 0.8


def test_power_far_out_is_one_and_that_of_many_draws_the_normal_one() -> None:
    assert power(50.0, 0.1, 30, 0.05, 29) == 1.0
    many = power(0.01, 1.0, 80_000, 0.05, 79_999)
    assert many == pytest.approx(power(0.01, 1.0, 80_000, 0.05), abs=1e-4)


def test_what_is_known_is_certain() -> None:
    assert Significance.known(0.25, 0.0) == Significance(0.0, 0.0, 1.0)
    assert Significance.known(0.0, 0.0) == Significance(1.0, 1.0, 0.5)
    assert Significance.known(0.9, 1.0) == Significance(0.0, 0.0, 0.0)
