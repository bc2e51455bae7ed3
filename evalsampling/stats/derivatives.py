"""Numerical derivatives."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import FloatArray

Function = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]

COMPLEX_STEP = 1e-30
_REAL_STEPS = 10.0 ** np.arange(-16, 0)
"""Steps tried for central differences: a risk may be one row in a billion, or exactly 0."""
_ROUNDING = 4 * np.finfo(np.float64).eps
"""Rounding error of a value, relative to it and to the numbers of order 1 it is made from."""
_AGREEMENT = 1e-4
"""Greatest relative difference between the two derivatives."""


def partial_derivatives(function: Callable[..., npt.NDArray[Any]], *at: FloatArray) -> FloatArray:
    """Return the derivative of a function of numbers for each of its arguments, NaN where it is.

    By complex steps. The arguments may be arrays, which the function takes element by element.
    """
    steps = 1j * COMPLEX_STEP * np.eye(len(at))
    with np.errstate(invalid="ignore"):
        moved = [function(*map(np.add, at, step)) for step in steps]
    return np.where(np.isnan(function(*at)), np.nan, np.imag(moved) / COMPLEX_STEP)


def jacobian(function: Function, at: FloatArray) -> FloatArray:
    """Return the Jacobian of a function R^d -> R^m, shape (m, d); rows are NaN where it is.

    By complex steps, exact to rounding, if the function turns complex input into complex output; by
    central differences, exact to about 1e-8, if it has an absolute value or insists on floats. An
    absolute value within a larger expression leaves the output complex and the derivative wrong; so
    a complex step counts only where the central difference confirms it (W. Squire and G. Trapp,
    *Using complex variables to estimate derivatives of real functions*, SIAM Review 40, 1998).
    """
    at = np.asarray(at, dtype=np.float64)
    with np.errstate(all="ignore"):
        value = np.asarray(function(at))
        if value.ndim != 1:
            raise ValueError(f"a function must return shape (m,), got shape {value.shape}")
        result = np.empty((len(value), len(at)))
        for place in range(len(at)):
            slope, error = _central(function, at, place, len(value))
            exact = _complex(function, at, place)
            if exact is not None:
                apart = np.abs(exact - slope) > _AGREEMENT * np.abs(slope) + 10 * error
                slope = np.where(apart, slope, exact)
            result[:, place] = slope
    result[np.isnan(value)] = np.nan
    return result


def _complex(function: Function, at: FloatArray, place: int) -> FloatArray | None:
    """Return the derivatives for one component, (m,); None if complex input is not supported."""
    stepped = at.astype(np.complex128)
    stepped[place] += 1j * COMPLEX_STEP
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            value = np.asarray(function(stepped))
        except (TypeError, np.exceptions.ComplexWarning):
            return None
    return value.imag / COMPLEX_STEP if np.iscomplexobj(value) else None


def _central(
    function: Function, at: FloatArray, place: int, size: int
) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives for one component and bounds on their rounding errors, each (m,).

    Each larger step is better as long as it agrees with all smaller ones up to their bounds; the
    first that does not has left the neighbourhood in which the function is straight.
    """
    slope, error = np.full(size, np.nan), np.full(size, np.inf)
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    agrees = np.ones(size, dtype=bool)
    for step in _REAL_STEPS:
        above, below = at.copy(), at.copy()
        above[place] += step
        below[place] -= step
        width = above[place] - below[place]
        if width == 0:
            continue
        upper, lower = np.asarray(function(above)), np.asarray(function(below))
        secant = (upper - lower) / width
        bound = _ROUNDING * np.maximum(1, np.maximum(np.abs(upper), np.abs(lower))) / width
        agrees &= (secant - bound <= high) & (secant + bound >= low)
        if not agrees.any():
            break
        slope, error = np.where(agrees, secant, slope), np.where(agrees, bound, error)
        low = np.where(agrees, np.maximum(low, secant - bound), low)
        high = np.where(agrees, np.minimum(high, secant + bound), high)
    return slope, error
