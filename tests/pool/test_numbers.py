"""Numbers beside thresholds, against NumPy's own comparisons and against decimals."""

import decimal

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.pool.numbers import BEYOND, finite, float64_of, in_type, near, placed


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_sides_are_those_of_numpy(kind: type[np.floating]) -> None:
    """Of values around many thresholds, several of which are one number in a narrow type."""
    rng = np.random.default_rng(3)
    thresholds = np.unique(np.append(rng.normal(size=200).round(3), [0.7, 0.70000001, 0.69999999]))
    own = thresholds.astype(kind)
    around = [own, np.nextafter(own, kind(np.inf)), np.nextafter(own, kind(-np.inf))]
    values = np.concatenate([*around, rng.normal(size=100).astype(kind)])
    made = placed(pa.array(values), thresholds)
    for threshold in thresholds.tolist():  # a number of Python takes the type of the array
        np.testing.assert_array_equal(made >= threshold, values >= threshold)
    np.testing.assert_array_equal(*(np.argsort(x, kind="stable") for x in (made, values)))


def test_float32_stays_where_no_threshold_is_among_the_values() -> None:
    values = np.array([0.25, 0.7], np.float32)
    assert placed(pa.array(values), np.array([0.5])).dtype == np.float32
    assert placed(pa.array(values), np.array([0.7])).tolist() == [0.25, 0.7]


@pytest.mark.parametrize(
    "kind", [pa.decimal128(38, 20), pa.decimal128(38, 9), pa.decimal256(76, 38)]
)
def test_decimals_are_compared_with_thresholds_as_written(kind: pa.DataType) -> None:
    step = decimal.Decimal(1).scaleb(-kind.scale)
    values = [
        decimal.Decimal(tenth) / 10 + sign * step for tenth in range(10) for sign in (-1, 0, 1)
    ]
    thresholds = np.arange(10) / 10
    made = placed(pa.array(values, kind), thresholds)
    for threshold in thresholds.tolist():
        exact = [value >= decimal.Decimal(repr(threshold)) for value in values]
        assert (made >= threshold).tolist() == exact


def test_decimals_are_the_nearest_floats() -> None:
    values = [decimal.Decimal(number) / 1000 for number in range(1000)]
    made = float64_of(pa.array(values, pa.decimal128(38, 9)))
    assert made.to_pylist() == [number / 1000 for number in range(1000)]


def test_a_literal_is_rounded_to_a_type() -> None:
    assert in_type(pa.float32(), 0.7) == float(np.float32(0.7))
    assert in_type(pa.float16(), 1e6) == np.inf
    assert in_type(pa.float64(), 0.7) == 0.7


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_infinite_scores_are_beyond_all(kind: type[np.floating]) -> None:
    made = finite(np.array([-np.inf, -3e38, 3e38, np.inf], kind))
    assert made[0] == -BEYOND
    assert made[-1] == BEYOND
    assert np.all(np.diff(made) > 0)
    assert np.isfinite(made).all()


@pytest.mark.parametrize(
    ("kind", "values", "threshold", "expected"),
    [
        (pa.float64(), [0.7, 0.1 + 0.2 + 0.4, 0.6999999999999999, 0.6, 0.71], 0.7, (1, 1)),
        (pa.float64(), [float(np.float32(0.7)), float(np.float32(0.1))], 0.7, (1, 0)),
        (pa.float64(), [0.0, 1e-17, -1e-17, 1e-9], 0.0, (1, 1)),
        (pa.float32(), [0.7, np.nextafter(np.float32(0.7), np.float32(0)), 0.6], 0.7, (1, 1)),
        (pa.float32(), [0.5, 0.25], 0.5, (0, 0)),
        (pa.int64(), [1.0, 2.0], 1.0, (0, 0)),
        (pa.decimal128(38, 9), [0.7], 0.7, (0, 0)),
        (pa.string(), [0.7000000000000001], 0.7, (0, 1)),
    ],
)
def test_rows_within_one_rounding(
    kind: pa.DataType, values: list[float], threshold: float, expected: tuple[int, int]
) -> None:
    assert near(np.array(values), kind, threshold) == expected
