"""Codes of numbers."""

import numpy as np
import pytest

from evalsampling.spec.numbers import FIRST, NumberCodes, NumberRange, hold_numbers


def test_numbers_come_back_from_their_codes() -> None:
    known = NumberRange(-3.5, 120)
    values = np.array([-3.5, 0, 0.1, 77.7, 120])
    codes = known.codes(values)
    assert codes[0] == FIRST
    assert codes.dtype == np.int64
    np.testing.assert_allclose(known.values(codes), values, atol=1e-10)
    assert known.holds(np.array([-3.5, -3.6, 120, 120.1, np.nan])).tolist() == [1, 0, 1, 0, 0]
    # Predictions may lie outside.
    np.testing.assert_allclose(known.values(known.codes(np.array([-500.0, 1e6]))), [-500, 1e6])


@pytest.mark.parametrize("text", ["5", "5.0", "+5", "5e0", " 5", "005"])
def test_texts_of_one_number_have_one_code(text: str) -> None:
    codes = NumberCodes(NumberRange(0, 10))
    assert text in codes
    assert codes[text] == codes["5"]
    assert codes.text(codes[text]) == "5"


@pytest.mark.parametrize("text", ["", "five", "11", "-0.1", "nan", "inf", "1_0", "5,0", "0x5"])
def test_other_texts_have_none(text: str) -> None:
    codes = NumberCodes(NumberRange(0, 10))
    assert text not in codes
    assert codes.get(text, -1) == -1


@pytest.mark.parametrize("high", [1.0, 100.0, 120.0, 1e6])
def test_short_numbers_are_shown_as_they_were(high: float) -> None:
    """Though a code is a step of the range, which few decimals are whole numbers of."""
    codes = NumberCodes(NumberRange(0, high))
    for text in ("0", "1", "0.25", "0.1", "0.333333"):
        assert codes.text(codes[text]) == text


def test_numbers_are_told_from_classes() -> None:
    assert not hold_numbers(np.array([-1, 0, 200]))
    assert not hold_numbers(np.zeros(0, dtype=np.int64))
    assert hold_numbers(NumberRange(0, 1).codes(np.array([0.0])))
    assert list(NumberCodes(NumberRange(0, 1))) == []
