"""Tests of the hypothesis that many systems are alike.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, section 3.2.3.
    Its range statistic is printed without the root of 2 n, and multiplied where it is to be
    divided by the standard deviation.
"""

import math

import numpy as np
import scipy

from evalsampling.stats.arrays import FloatArray

_MANY_DEGREES = 1e5
"""Degrees of freedom above which Student's distribution is replaced by the normal."""


def bonferroni(p_value: FloatArray) -> FloatArray:
    """Return p-values of some tests, each as one of all of them, shape (tests,).

    Args:
        p_value: shape (tests,): p-value of each test alone.
    """
    return np.minimum(1.0, p_value * len(p_value))


def tukey_range_test(difference: FloatArray, error: FloatArray, k: int, draws: int) -> float:
    """Return the p-value of the hypothesis that k systems are equal, by the range of their values.

    It is P(Q > sqrt(2 n) rho / S), Q the studentized range of k values with (n - 1) (k - 1)
    degrees of freedom, rho the greatest difference and S^2 the mean of n times the squared errors.

    Args:
        difference: shape (pairs,): the difference of each pair.
        error: shape (pairs,): standard errors of the differences.
        k: number of systems.
        draws: n, the number of draws.
    """
    spread = math.sqrt(float(np.mean(error**2)))
    if spread == 0:
        return 0.0 if np.any(difference) else 1.0
    statistic = math.sqrt(2) * float(np.abs(difference).max()) / spread
    return range_tail(statistic, k, (draws - 1) * (k - 1))


def range_tail(statistic: float, k: int, degrees: float) -> float:
    """Return the probability that the studentized range of k values exceeds a statistic."""
    effective = math.inf if degrees >= _MANY_DEGREES else max(degrees, 1.0)
    return float(scipy.stats.studentized_range.sf(statistic, k, effective))
