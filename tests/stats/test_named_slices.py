"""Codes of the slices that a spec names."""

import numpy as np
import pytest

from evalsampling.stats.named_slices import SliceCodes, UnknownSliceError, described, joined
from evalsampling.stats.outputs import Outputs

NAMED = {"country": ("DE", "FR"), "device": ("phone",)}
CODES = SliceCodes(NAMED, np.array([[0, 0], [1, 0], [2, 1], [1, 1]]))


@pytest.mark.parametrize(
    ("where", "inside"),
    [
        ({"country": ("DE",)}, [0, 1, 0, 1]),
        ({"country": ("DE", "FR")}, [0, 1, 1, 1]),
        ({"country": ("DE",), "device": ("phone",)}, [0, 0, 0, 1]),
    ],
)
def test_rows_within(where: dict, inside: list[int]) -> None:
    np.testing.assert_array_equal(CODES.within(where), np.array(inside, dtype=bool))
    taken = CODES.take([3, 0]).within(where)
    np.testing.assert_array_equal(taken, np.array(inside, dtype=bool)[[3, 0]])


@pytest.mark.parametrize("where", [{"country": ("IT",)}, {"land": ("DE",)}])
def test_slices_that_are_not_named(where: dict) -> None:
    with pytest.raises(UnknownSliceError, match="cells do not tell these rows apart"):
        CODES.within(where)


def test_outputs_without_slices_have_no_row_within() -> None:
    nothing = Outputs.none(1, 2)
    assert nothing.within({"country": ("DE",)}).tolist() == []
    one = Outputs(np.zeros((1, 1), dtype=int), np.zeros((1, 1)), np.zeros((1, 1, 2)))
    with pytest.raises(UnknownSliceError):
        one.within({"country": ("DE",)})


def test_joined_in_order() -> None:
    both = joined([CODES.take([1]), CODES])
    assert both is not None
    assert both.code[:, 0].tolist() == [1, 0, 1, 2, 1]
    assert joined([CODES, None]) is joined([]) is None


def test_in_words() -> None:
    assert described(NAMED) == "country=DE|FR, device=phone"
