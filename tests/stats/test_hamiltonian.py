"""Hamiltonian Monte Carlo against distributions in closed form."""

import dataclasses

import numpy as np
import pytest
from scipy import special

from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.hamiltonian import Schedule, hamiltonian

LONG = Schedule(chains=100, burn_in=20, kept=100)


@dataclasses.dataclass(frozen=True)
class Known:
    logarithm: FloatArray
    gradient: FloatArray


def standard_normal(x: FloatArray) -> Known:
    return Known(-np.einsum("ij,ij->i", x, x) / 2, -x)


def test_normal_distribution_has_its_mean_and_covariance() -> None:
    """Of a correlated normal distribution: 10,000 draws, standard errors below .02."""
    mean = np.array([1.5, -2.0, 0.3])
    root = np.array([[1.0, 0.0, 0.0], [0.5, 0.8, 0.0], [-0.3, 0.2, 0.6]])
    precision = np.linalg.inv(root @ root.T)

    def density(x: FloatArray) -> Known:
        error = x - mean
        height = -np.einsum("ni,ij,nj->n", error, precision, error) / 2
        return Known(height, -error @ precision)

    draws = hamiltonian(density, np.zeros((100, 3)), LONG, np.random.default_rng(1))
    assert draws.mean(axis=0) == pytest.approx(mean, abs=0.06)
    assert np.cov(draws.T) == pytest.approx(root @ root.T, abs=0.06)


@pytest.mark.parametrize("shape", [2.0, 10.0])
def test_skewed_distribution_has_its_moments(shape: float) -> None:
    """The logarithm of a gamma variable: mean digamma(k), variance trigamma(k)."""

    def density(x: FloatArray) -> Known:
        return Known((shape * x - np.exp(x))[:, 0], shape - np.exp(x))

    start = np.full((100, 1), np.log(shape))
    draws = hamiltonian(density, start, LONG, np.random.default_rng(2))
    assert draws.mean() == pytest.approx(special.digamma(shape), abs=0.03)
    assert draws.var() == pytest.approx(special.polygamma(1, shape), rel=0.06)


def test_draws_are_those_of_the_schedule() -> None:
    """The first of each chain come first; the start is not touched; the stream is seeded."""
    schedule = Schedule(chains=4, burn_in=0, kept=3)
    start = np.arange(8.0).reshape(4, 2) / 4
    runs = [
        hamiltonian(standard_normal, start, schedule, np.random.default_rng(4)) for _ in range(2)
    ]
    assert np.array_equal(*runs)
    assert runs[0].shape == (12, 2)
    assert np.array_equal(start, np.arange(8.0).reshape(4, 2) / 4)
    later = Schedule(chains=4, burn_in=2, kept=1)
    last = hamiltonian(standard_normal, start, later, np.random.default_rng(4))
    assert np.array_equal(last, runs[0][8:])


def test_trajectory_that_ends_nowhere_is_refused() -> None:
    """A density that is no number on half of the line: the chain stays on the other half."""

    def density(x: FloatArray) -> Known:
        normal = standard_normal(x)
        return Known(np.where(x[:, 0] > 0, normal.logarithm, np.nan), normal.gradient)

    start = np.ones((50, 1))
    draws = hamiltonian(density, start, LONG, np.random.default_rng(5))
    assert draws.min() > 0
    assert draws.mean() == pytest.approx(np.sqrt(2 / np.pi), abs=0.03)


def test_density_that_is_no_number_at_a_start_is_refused() -> None:
    with pytest.raises(ValueError, match="log-density"):
        hamiltonian(
            lambda x: Known(np.full(len(x), np.nan), x),
            np.zeros((2, 1)),
            LONG,
            np.random.default_rng(6),
        )
