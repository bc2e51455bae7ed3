"""Numbers that several systems predict: order of predictions, expected errors, positions."""

import numpy as np
from scipy import stats

from evalsampling.label_spaces.compared_numbers import ComparedNumbers
from evalsampling.label_spaces.numbers import ERRORS, Numbers
from evalsampling.spec.labels import of_systems

THREE = ComparedNumbers(10, 30, 3)


def test_the_space_follows_from_the_number_of_systems() -> None:
    one = Numbers(10, 30)
    assert of_systems(one, 1) is one
    assert of_systems(one, 3) == THREE
    assert THREE.to_mapping() == one.to_mapping()
    assert len(THREE.outcomes) == 12
    assert len(set(THREE.outcomes)) == 12


def test_signatures_are_the_order_of_the_predictions() -> None:
    predicted = np.random.default_rng(1).integers(0, 4, (200, 3))
    expected = stats.rankdata(predicted, method="dense", axis=1) - 1
    found = THREE.signed(predicted)
    np.testing.assert_array_equal(found, expected)
    assert found.max() < THREE.signatures(3)[0]


def test_chances_are_those_of_the_mixture() -> None:
    """Its mean and variance, given where the systems are: E y = mean f, E y^2 = mean f^2 + t^2."""
    f, deviation = np.array([3.0, 5.0, 4.5]), np.array([1.0, 2.0, 0.5])
    label = (f[:, None] + deviation[:, None] * ERRORS).ravel()
    for mixed in ((0, 1, 2), (0, 2)):
        chance = THREE.mixture(mixed)
        np.testing.assert_allclose(chance.sum(), 1)
        np.testing.assert_allclose(chance @ label, f[list(mixed)].mean())
        second = (f**2 + deviation**2)[list(mixed)].mean()
        np.testing.assert_allclose(chance @ label**2, second)
    np.testing.assert_allclose(THREE.own_probabilities().mean(axis=0), THREE.mixture((0, 1, 2)))


def test_positions_come_back_as_codes() -> None:
    values = np.array([10.0, 15.0, 30.0, 40.0, -10.0])
    codes = THREE.encode(values)
    np.testing.assert_allclose(THREE.positions(codes), [0, 0.25, 1, 1.5, -1])
    np.testing.assert_array_equal(THREE.codes_at(THREE.positions(codes)), codes)
    # What lies farther outside is taken at the range's width from it.
    far = THREE.encode(np.array([1e6, -1e6]))
    np.testing.assert_array_equal(THREE.positions(far), [2, -1])
    np.testing.assert_allclose(THREE.relative(np.array([4.0, 1e9])), [0.01, 1])
    np.testing.assert_allclose(THREE.absolute(THREE.relative(np.array([4.0]))), [4.0])
