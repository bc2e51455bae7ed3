"""Climbs to modes: of a normal density, of two peaks, and from far off."""

import dataclasses

import numpy as np
import numpy.typing as npt
import pytest

from evalsampling.stats.climbing import climb

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
