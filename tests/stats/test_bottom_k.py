"""Bottom-k samples against sorting all rows."""

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from evalsampling.stats.bottom_k import bottom_k

ROWS = st.lists(
    st.tuples(st.integers(0, 2**64 - 1) | st.integers(0, 5), st.integers(-2, 2), st.integers(0, 3)),
    max_size=40,
)


@hypothesis.settings(max_examples=100, deadline=None, derandomize=True)
@hypothesis.given(rows=ROWS, capacity=st.integers(1, 45))
def test_rows_are_the_first_in_order(rows: list[tuple[int, int, int]], capacity: int) -> None:
    hashes = np.array([row[0] for row in rows], dtype=np.uint64)
    values = np.array([row[1:] for row in rows], dtype=np.int64).reshape(-1, 2)
    places = bottom_k(hashes, values, capacity)
    assert len(set(places.tolist())) == len(places)
    assert [rows[place] for place in places] == sorted(rows)[:capacity]


@pytest.mark.parametrize("capacity", [0, -3])
def test_one_row_is_the_least_capacity(capacity: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        bottom_k(np.zeros(9, dtype=np.uint64), np.zeros((9, 1)), capacity)
