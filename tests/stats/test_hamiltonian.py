"""Hamiltonian Monte Carlo against distributions in closed form."""

import dataclasses
import platform
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special

from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.hamiltonian import Schedule, climb, hamiltonian, nested_r_hat

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


def test_chains_that_do_not_move() -> None:
    assert nested_r_hat(np.ones((2, 3, 4))) == 1.0
    assert nested_r_hat(np.arange(2.0)[:, None, None] * np.ones((2, 3, 4))) == np.inf


def test_it_is_the_formula() -> None:
    values = np.random.default_rng(3).gamma(2, size=(3, 2, 4))
    means = values.mean(axis=2)
    between = sum((m.mean() - means.mean()) ** 2 for m in means) / 2
    within = np.mean([np.var(means[g], ddof=1) + np.mean([np.var(c, ddof=1) for c in values[g]])
                      for g in range(3)])  # fmt: skip
    assert nested_r_hat(values) == pytest.approx(np.sqrt(1 + between / within))


FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Normal:
    """A normal density at n points."""

    z: FloatArray
    mean: FloatArray
    precision: FloatArray

    @property
    def logarithm(self) -> FloatArray:
        return -np.einsum("ni,ij,nj->n", self.z - self.mean, self.precision, self.z - self.mean) / 2

    @property
    def gradient(self) -> FloatArray:
        return -(self.z - self.mean) @ self.precision

    @property
    def information(self) -> FloatArray:
        return np.broadcast_to(self.precision, (len(self.z), *self.precision.shape))


@dataclasses.dataclass(frozen=True)
class TwoPeaks:
    """exp(-(z^2 - 1)^2), whose modes are at -1 and 1; 8 is its information there."""

    z: FloatArray

    @property
    def logarithm(self) -> FloatArray:
        return -((self.z[:, 0] ** 2 - 1) ** 2)

    @property
    def gradient(self) -> FloatArray:
        return -4 * self.z * (self.z**2 - 1)

    @property
    def information(self) -> FloatArray:
        return np.full((len(self.z), 1, 1), 8.0)


def test_the_mode_of_a_normal_density_is_its_mean() -> None:
    mean, precision = np.array([3.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]])
    start = np.array([[0.0, 0.0], [40.0, -30.0]])
    z, height, information = climb(lambda z: Normal(z, mean, precision), start)
    assert z == pytest.approx(np.tile(mean, (2, 1)), abs=0.01)
    assert height == pytest.approx(0, abs=1e-4)
    assert information == pytest.approx(np.tile(precision, (2, 1, 1)))
    assert start.tolist() == [[0.0, 0.0], [40.0, -30.0]], "starts are left as they are"


def test_each_start_leads_to_its_own_mode() -> None:
    z, height, _ = climb(TwoPeaks, np.array([[-0.4], [0.3], [6.5]]))
    assert z[:, 0] == pytest.approx([-1, 1, 1], abs=0.01)
    assert height == pytest.approx(0, abs=1e-3)


_SCRIPT = """
import resource
import numpy as np
from evalsampling.stats.hamiltonian import keep_freed_memory

def new_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        arrays = [np.ones(1 << 17) for _ in range(8)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_freed_memory()
new_pages()
print(new_pages())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_pages_of_freed_arrays_are_used_again() -> None:
    """Twenty times 8 MB, which are 40,000 pages of 4 kB, need next to none."""
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT], check=True, capture_output=True, text=True
    )
    assert int(ran.stdout) < 400
