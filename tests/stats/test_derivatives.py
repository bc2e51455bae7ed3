"""Numerical derivatives against analytic ones."""

import numpy as np
import pytest

from evalsampling.stats.derivatives import Function, jacobian, partial_derivatives

POINTS = [[0.3, 0.4, 0.2], [1e-9, 3e-9, 0.9], [0.0, 1e-7, 0.5], [0.0, 0.5, 0.0], [5.0, 2.0, -3.0]]


def smooth(x: np.ndarray) -> np.ndarray:
    return np.array([x[0] / x[1], x[0] * x[2] + np.exp(x[1]), x[2] ** 2 - 3 * x[0]])


def slopes(x: np.ndarray) -> np.ndarray:
    return np.array(
        [[1 / x[1], -x[0] / x[1] ** 2, 0], [x[2], np.exp(x[1]), x[0]], [-3, 0, 2 * x[2]]]
    )


@pytest.mark.parametrize("at", POINTS)
def test_complex_steps_are_exact_to_rounding(at: list[float]) -> None:
    x = np.array(at)
    np.testing.assert_allclose(jacobian(smooth, x), slopes(x), rtol=1e-13, atol=1e-15)


def insists_on_floats(x: np.ndarray) -> np.ndarray:
    return np.array([float(v) for v in smooth(x)])


def fills_an_array(x: np.ndarray) -> np.ndarray:
    result = np.zeros(3)
    result[:] = smooth(x)
    return result


def drops_what_is_not_real(x: np.ndarray) -> np.ndarray:
    return np.real(smooth(x))


@pytest.mark.parametrize("at", POINTS)
@pytest.mark.parametrize("function", [insists_on_floats, fills_an_array, drops_what_is_not_real])
def test_central_differences_where_there_are_no_complex_ones(
    function: Function, at: list[float]
) -> None:
    """Errors are relative to the largest slope of the component: they come from its values."""
    x = np.array(at)
    found, expected = jacobian(function, x), slopes(x)
    error = np.abs(found - expected).max(axis=1) / np.abs(expected).max(axis=1)
    assert error.max() < 1e-8


def test_an_absolute_value_within_a_sum_is_noticed() -> None:
    """Its output is complex, and the complex derivative by x_0 and x_1 is 0."""
    found = jacobian(lambda x: np.array([np.abs(x[0] - x[1]) + x[2]]), np.array([0.2, 0.5, 0.1]))
    np.testing.assert_allclose(found, [[-1, 1, 1]], atol=1e-9)


def test_rows_are_nan_where_the_function_is() -> None:
    def function(x: np.ndarray) -> np.ndarray:
        return np.array([x[0] / x[1] if x[1] != 0 else np.nan, x[0] - x[1]])

    np.testing.assert_array_equal(jacobian(function, np.zeros(2)), [[np.nan, np.nan], [1.0, -1.0]])


def test_steps_beyond_the_domain_are_left_out_in_silence() -> None:
    found = jacobian(lambda x: np.array([float(np.log(x[0]))]), np.array([1e-3]))
    np.testing.assert_allclose(found, [[1e3]], rtol=1e-8)


def test_an_output_without_a_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must return shape \(m,\), got shape \(\)"):
        jacobian(lambda x: x[0] / x[1], np.ones(2))


def test_partial_derivatives_are_those_of_each_element() -> None:
    """Of x / y they are 1 / y and -x / y^2; undefined where the function is."""
    x, y = np.array([1.0, 0.0, 3.0]), np.array([4.0, 0.5, 0.0])

    def ratio(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.divide(x, y, out=np.full_like(x, np.nan), where=y != 0)

    expected = [[0.25, 2.0, np.nan], [-1 / 16, 0.0, np.nan]]
    np.testing.assert_allclose(partial_derivatives(ratio, x, y), expected, rtol=1e-14)
