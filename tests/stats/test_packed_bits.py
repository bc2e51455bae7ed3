"""Truth values packed into bytes, and back."""

import numpy as np
import pytest

from evalsampling.stats.packed_bits import packed, unpacked


@pytest.mark.parametrize("values", [1, 7, 8, 9, 500])
def test_rows_come_back(values: int) -> None:
    rows = np.random.default_rng(1).random((20, values)) < 0.3
    data = packed(rows)
    assert data.shape == (20, -(-values // 8))
    np.testing.assert_array_equal(unpacked(map(bytes, data), values), rows)


def test_first_value_is_the_highest_bit() -> None:
    rows = np.array([[True, False, True], [False, True, True]])
    assert packed(rows).ravel().tolist() == [0b10100000, 0b01100000]


def test_no_rows() -> None:
    assert unpacked([], 12).shape == (0, 12)
