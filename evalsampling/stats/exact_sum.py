"""Sums of floating-point numbers without rounding: the same in any order and grouping."""

import numpy as np

from evalsampling.stats.arrays import FloatArray

_UNIT = 1200
"""Sums are whole multiples of 2^-1200, below the last bit of the least float64."""

_HALF = 27
"""Bits of a mantissa that are summed apart from the others, so that int64 holds both sums."""


def exact_sum(values: FloatArray) -> int:
    """Return the exact sum of finite numbers, in units of 2^-1200: such sums add as integers.

    Args:
        values: shape (n,), n below 2^36.
    """
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    total = 0
    for power in np.unique(exponent).tolist():
        those = mantissa[exponent == power]
        high, low = int((those >> _HALF).sum()), int((those & ((1 << _HALF) - 1)).sum())
        total += ((high << _HALF) + low) << (power - 53 + _UNIT)
    return total


def rounded(total: int) -> float:
    """Return the float64 nearest to a sum of `exact_sum`."""
    return total / (1 << _UNIT)
