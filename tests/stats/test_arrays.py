import numpy as np
import pytest

from evalsampling.stats.arrays import distinct_rows, summed


@pytest.mark.parametrize(("rows", "columns"), [(0, 2), (1, 1), (40, 1), (200, 2), (500, 3)])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_distinct_rows_are_those_of_numpy(rows: int, columns: int, kind: type) -> None:
    rng = np.random.default_rng(rows + columns)
    matrix = rng.integers(-3, 4, (rows, columns)).astype(kind)
    first, place = distinct_rows(matrix)
    wanted = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    assert np.array_equal(matrix[first], wanted[0])
    assert np.array_equal(first, wanted[1])
    assert np.array_equal(place, wanted[2].ravel())


def test_rows_of_equal_values_are_summed() -> None:
    values, rows = summed(np.array([2.5, -1.0, 2.5, 0.0]), np.array([3, 1, 4, 2]))
    assert (values.tolist(), rows.tolist()) == ([-1.0, 0.0, 2.5], [1, 2, 7])
