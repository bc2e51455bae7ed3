"""Coordinates of a curve's parameters: the same curves, and gradients by the chain rule."""

import numpy as np
import pytest
from scipy import special

from evalsampling.inference.calibration_curve import CalibrationCurve, GroupLabels, PosteriorAt
from evalsampling.inference.curve_coordinates import STEPS, Coordinates
from evalsampling.spec.hidden import HiddenPrior


def coordinates(effects: int = 2) -> Coordinates:
    """The parameters of a curve, and others that are neither symmetric nor at the middle."""
    return Coordinates.of_parameters(effects, 0.4, HiddenPrior(0.1, 1.5))


def other(given: Coordinates, seed: int = 1) -> Coordinates:
    rng, d = np.random.default_rng(seed), len(given.origin)
    return given.around(rng.standard_normal(d) / 2, np.eye(d) + rng.standard_normal((d, d)) / 20)


def linear(given: Coordinates, x: np.ndarray) -> np.ndarray:
    return given.constant + x @ given.linear


def test_parameters_are_their_own_coordinates() -> None:
    z = np.random.default_rng(2).standard_normal((4, 3 + STEPS + 2))
    assert np.array_equal(coordinates().parameters(z), z)
    assert np.array_equal(coordinates().prior_gradient(z), -z)


def test_linear_is_what_the_parameters_mean() -> None:
    """Falls by the mean slope where all steps are alike, rho, and effects as they are."""
    z = np.zeros((1, 3 + STEPS + 2))
    z[0, [0, 1, -3, -2, -1]] = 0.3, 0.7, 1.1, -0.4, 2.0
    (found,) = linear(coordinates(), z)
    assert found[:STEPS] == pytest.approx(np.log(0.4) + 0.7)
    assert found[STEPS] == pytest.approx(np.log(0.1) + 1.5 * 2.0)
    assert found[STEPS + 1 : -2] == pytest.approx(3.0 * 0.3)
    assert found[-2:] == pytest.approx([1.1, -0.4])


def test_coordinates_of_coordinates_are_those_of_the_parameters() -> None:
    once = other(coordinates())
    twice = other(once, seed=3)
    x = np.random.default_rng(4).standard_normal((5, len(once.origin)))
    for given in (once, twice):
        assert linear(given, x) == pytest.approx(linear(coordinates(), given.parameters(x)))
        z = given.parameters(x)
        assert given.prior_gradient(x) == pytest.approx(-z @ given.root.T)


@pytest.mark.parametrize("relative_to", ["positives", "overlap"])
def test_posterior_is_the_same_in_all_coordinates(relative_to: str) -> None:
    """Its logarithm is equal, and its gradient is that by the parameters through the root."""
    probability = special.expit(np.linspace(3, -9, 40))
    count = np.geomspace(10, 10**6, 40).astype(np.int64)
    effect = 5 * (np.arange(40) % 2)[:, None] - 2.5
    hidden = HiddenPrior(0.2, 1.2, relative_to)
    curve = CalibrationCurve.from_cells(probability, count, 500, effect, hidden)
    labelled = np.arange(40) % 7
    labels = GroupLabels.from_cells(curve, labelled, np.minimum(labelled, np.arange(40) % 3))
    scaled = other(curve.coordinates)
    x = np.random.default_rng(5).standard_normal((6, curve.dimensions)) / 2
    found = PosteriorAt(curve.at(x, scaled), labels)
    wanted = PosteriorAt(curve.at(scaled.parameters(x)), labels)
    assert found.logarithm == pytest.approx(wanted.logarithm, rel=1e-12)
    assert found.gradient == pytest.approx(wanted.gradient @ scaled.root.T, rel=1e-9, abs=1e-9)
    assert found.curves.rates == pytest.approx(wanted.curves.rates, rel=1e-12)
