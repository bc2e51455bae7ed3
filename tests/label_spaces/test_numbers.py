"""Codes of numbers."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from evalsampling.label_spaces.numbers import CHANCES, ERRORS, FIRST, ComparedNumbers, Numbers
from evalsampling.spec.labels import of_systems

THREE = ComparedNumbers(10, 30, 3)
"""Numbers that several systems predict: order of predictions, expected errors, positions."""


def test_numbers_come_back_from_their_codes() -> None:
    known = Numbers(-3.5, 120)
    values = np.array([-3.5, 0, 0.1, 77.7, 120])
    codes = known.encode(values)
    assert codes[0] == FIRST
    assert codes.dtype == np.int64
    np.testing.assert_allclose(known.decode(codes), values, atol=1e-10)
    assert known.holds(np.array([-3.5, -3.6, 120, 120.1, np.nan])).tolist() == [1, 0, 1, 0, 0]
    # Predictions may lie outside.
    np.testing.assert_allclose(known.decode(known.encode(np.array([-500.0, 1e6]))), [-500, 1e6])


@pytest.mark.parametrize("text", ["5", "5.0", "+5", "5e0", " 5", "005"])
def test_texts_of_one_number_have_one_code(text: str) -> None:
    codes = Numbers(0, 10).codes
    assert text in codes
    assert codes[text] == codes["5"]
    assert Numbers(0, 10).text(codes[text]) == "5"


@pytest.mark.parametrize("text", ["", "five", "11", "-0.1", "nan", "inf", "1_0", "5,0", "0x5"])
def test_other_texts_have_none(text: str) -> None:
    codes = Numbers(0, 10).codes
    assert text not in codes
    assert codes.get(text, -1) == -1


@pytest.mark.parametrize("high", [1.0, 100.0, 120.0, 1e6])
def test_short_numbers_are_shown_as_they_were(high: float) -> None:
    """Though a code is a step of the range, which few decimals are whole numbers of."""
    space = Numbers(0, high)
    for text in ("0", "1", "0.25", "0.1", "0.333333"):
        assert space.text(space.codes[text]) == text


@settings(max_examples=300)
@given(
    ends=st.sampled_from(
        [(0, math.pi), (0, 2 / 3), (-math.e, 1 / 3), (0.1, 0.3), (0, 1), (-1e-3, 1e3), (0, 1e300),
         (1e9, 1e9 + 1), (4096, 4097), (-5e-13, 1e-12), (1e15, 1e15 + 7)]
    ),
    share=st.floats(0, 1),
)  # fmt: skip
@example(ends=(0, math.pi), share=1)
@example(ends=(0, 2 / 3), share=1)
@example(ends=(0.1, 0.3), share=1)
@example(ends=(-math.e, 1 / 3), share=0)
def test_the_text_of_a_code_has_that_code(ends: tuple[float, float], share: float) -> None:
    """At the ends too, which no rounding may leave."""
    low, high = ends
    space = Numbers(low, high)
    codes = space.codes
    given = repr(min(low + share * (high - low), high))
    assert codes[space.text(codes[given])] == codes[given]


def test_what_annotators_are_told_of_a_range_lies_in_it() -> None:
    """Not the nearest number of six digits."""
    assert Numbers(-0.5, 2 / 3).ends == ("-0.5", "0.6666666666666666")
    assert Numbers(0, 1234567).words == "the numbers from 0 to 1234567"


def test_nothing_is_told_as_minus_zero() -> None:
    space = Numbers(-3.3, 120)
    assert space.text(space.codes["-1e-13"]) == "0"


@pytest.mark.parametrize("power", [0, 1, 2, 3, 4])
def test_errors_have_the_moments_of_the_normal_distribution(power: int) -> None:
    assert CHANCES @ ERRORS**power == pytest.approx(stats.norm.moment(power), abs=1e-12)


def test_errors_have_its_mean_absolute_deviation() -> None:
    expected = stats.norm.expect(np.abs)
    assert CHANCES @ np.abs(ERRORS) == pytest.approx(expected, abs=1e-9)
    assert np.all(CHANCES > 0)
    np.testing.assert_allclose(ERRORS, -ERRORS[::-1])


def test_the_space_follows_from_the_number_of_systems() -> None:
    one = Numbers(10, 30)
    assert of_systems(one, 1) is one
    assert of_systems(one, 3) == THREE
    assert THREE.to_mapping() == one.to_mapping()
    assert len(THREE.outcomes) == len(set(THREE.outcomes)) == 12


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
