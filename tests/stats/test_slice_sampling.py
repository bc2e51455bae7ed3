"""Elliptical slice sampling against posteriors in closed form."""

import numpy as np
import pytest

from evalsampling.stats.slice_sampling import Schedule, elliptical_slice

LONG = Schedule(chains=100, burn_in=50, kept=100, thinning=5)


def test_normal_posterior_has_its_mean_and_covariance() -> None:
    """Of x ~ N(0, I) and y = A x + N(0, S): 10,000 draws, standard errors below .02."""
    rng = np.random.default_rng(1)
    a = np.array([[1.0, 0.5, 0.0], [-1.0, 2.0, 0.3]])
    noise, y = np.diag([0.3, 0.8]), np.array([1.5, -2.0])
    precision = np.linalg.inv(noise)

    def log_likelihood(x: np.ndarray) -> np.ndarray:
        error = y - x @ a.T
        return -np.einsum("ni,ij,nj->n", error, precision, error) / 2

    draws = elliptical_slice(log_likelihood, rng.standard_normal((100, 3)), LONG, rng)
    covariance = np.linalg.inv(np.eye(3) + a.T @ precision @ a)
    mean = covariance @ a.T @ precision @ y
    assert draws.mean(axis=0) == pytest.approx(mean, abs=0.06)
    assert np.cov(draws.T) == pytest.approx(covariance, abs=0.06)


def test_truncated_normal_has_its_moments() -> None:
    """A likelihood that is 0 on half of the line: x > 1 of a standard normal."""
    rng = np.random.default_rng(2)

    def log_likelihood(x: np.ndarray) -> np.ndarray:
        return np.where(x[:, 0] > 1, 0.0, -np.inf)

    draws = elliptical_slice(log_likelihood, np.full((100, 1), 2.0), LONG, rng)
    hazard = np.exp(-0.5) / np.sqrt(2 * np.pi) / 0.15865525
    assert draws.min() > 1
    assert draws.mean() == pytest.approx(hazard, abs=0.02)
    assert draws.var() == pytest.approx(1 + hazard - hazard**2, abs=0.02)


def test_flat_likelihood_leaves_the_normal() -> None:
    rng = np.random.default_rng(3)
    draws = elliptical_slice(lambda x: np.zeros(len(x)), np.zeros((100, 2)), LONG, rng)
    assert draws.mean(axis=0) == pytest.approx(np.zeros(2), abs=0.05)
    assert np.cov(draws.T) == pytest.approx(np.eye(2), abs=0.06)


def test_states_kept_are_those_of_the_schedule() -> None:
    """The first of each chain come first; the start is not touched; the stream is seeded."""
    schedule = Schedule(chains=4, burn_in=0, kept=3, thinning=2)
    start = np.arange(8.0).reshape(4, 2)
    runs = [
        elliptical_slice(lambda x: -(x[:, 0] ** 2), start, schedule, np.random.default_rng(4))
        for _ in range(2)
    ]
    assert np.array_equal(*runs)
    assert runs[0].shape == (12, 2)
    assert np.array_equal(start, np.arange(8.0).reshape(4, 2))
    once = Schedule(chains=4, burn_in=2, kept=1, thinning=4)
    later = elliptical_slice(lambda x: -(x[:, 0] ** 2), start, once, np.random.default_rng(4))
    assert np.array_equal(later, runs[0][8:])


def test_likelihood_that_is_no_number_is_refused() -> None:
    """No angle would ever be taken."""
    with pytest.raises(ValueError, match="log-likelihood"):
        elliptical_slice(
            lambda x: np.full(len(x), np.nan), np.zeros((2, 1)), LONG, np.random.default_rng(5)
        )
