"""Ascent to the modes of a density, from many starts side by side."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.hamiltonian import Density

_MOST_STEPS = 60
"""Most steps of a climb."""


class ScoredDensity(Density, Protocol):
    """A density at n points of d dimensions, with its information there."""

    @property
    def information(self) -> FloatArray:
        """Expected negative second derivatives of the logarithm, shape (n, d, d)."""
        ...


def climb(
    density: Callable[[FloatArray], ScoredDensity], start: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the modes reached from each start, shape (n, d), their log density and information.

    By scoring steps, damped where they do not climb (Levenberg and Marquardt).

    Args:
        density: returns the density at any number of points.
        start: shape (n, d).
    """
    initial = density(start)
    z, height = start.copy(), initial.logarithm.copy()
    gradient, information = initial.gradient.copy(), initial.information.copy()
    damping = np.full(len(z), 1e-3)
    going = np.arange(len(z))
    for _ in range(_MOST_STEPS):
        damped = information[going]
        diagonal = np.einsum("nii->ni", damped)  # a view, which may be written to
        diagonal += diagonal * damping[going, None]
        step = np.linalg.solve(damped, gradient[going, :, None])[:, :, 0]
        length = np.sqrt(np.einsum("ni,ni->n", step, step))
        step *= np.minimum(1, 3 / np.maximum(length, 1e-300))[:, None]
        proposed = density(z[going] + step)
        gained = proposed.logarithm - height[going]
        rises = gained >= 0
        moved, missed = going[rises], going[~rises]
        damping[moved] = np.maximum(damping[moved] / 5, 1e-6)
        damping[missed] = 10 * damping[missed] + 1e-3
        if len(moved):
            z[moved] += step[rises]
            height[moved] = proposed.logarithm[rises]
            gradient[moved] = proposed.gradient[rises]
            information[moved] = proposed.information[rises]
        going = np.concatenate([moved[gained[rises] >= 1e-4], missed])
        if not len(going):
            break
    return z, height, information
