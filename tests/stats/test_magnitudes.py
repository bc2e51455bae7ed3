"""Magnitudes: classes of costs and of weights, and what they lose."""

import numpy as np
import pytest
from scipy import integrate

from evalsampling.stats.magnitudes import POWERS, MagnitudeClasses


def test_classes_are_log_spaced_and_keep_values() -> None:
    rng = np.random.default_rng(1)
    cost = np.exp(rng.normal(0, 2, 500))
    classes = MagnitudeClasses.spanning(cost.min(), cost.max(), 8)
    found = classes.find(cost)
    assert classes.classes == 8
    assert (found.min(), found.max()) == (0, 7)
    assert np.all(cost >= classes.edges[found])
    assert np.all(cost <= classes.edges[found + 1])
    ratios = classes.edges[1:] / classes.edges[:-1]
    assert ratios == pytest.approx(np.full(8, ratios[0]))
    share = classes.relative(cost)
    assert np.all((share > 0) & (share <= 1))
    assert classes.absolute(share, found) == pytest.approx(cost)


def test_values_that_are_alike_are_of_one_class() -> None:
    classes = MagnitudeClasses.spanning(3.0, 3.0, 8)
    assert classes.classes == 1
    assert classes.find(np.array([3.0, 3.0])).tolist() == [0, 0]
    assert classes.loss == 0


@pytest.mark.parametrize("name", POWERS)
def test_loss_is_what_drawing_a_class_alike_costs(name: str) -> None:
    """By quadrature over a class: of costs W[q] of lemma 4.2, of weights the variance."""
    ratio, classes = 5.0, MagnitudeClasses.spanning(2.0, 2.0 * 5.0**3, 3, POWERS[name])

    def mean(power: float) -> float:
        value, _ = integrate.quad(lambda t: 1.0 * np.exp(power * t), 0, np.log(ratio))
        return value / np.log(ratio)

    squares = {"cost": mean(1.0) / mean(0.5) ** 2, "weight": mean(2.0) / mean(1.0) ** 2}
    assert classes.loss == pytest.approx(squares[name] - 1)
