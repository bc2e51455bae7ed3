"""Probabilities and their log-odds.

They equal scipy's bit for bit, whose special functions take as long to load as a short command.
"""

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import FloatArray, IntArray


def logit(probability: npt.ArrayLike) -> FloatArray:
    """Return the log-odds of probabilities, infinite for 0 and 1."""
    p = np.asarray(probability, dtype=np.float64)
    off = 2 * (p - 0.5)
    with np.errstate(divide="ignore"):
        far, near = np.log(p / (1 - p)), np.log1p(off) - np.log1p(-off)
    return np.asarray(np.where((p < 0.3) | (p > 0.65), far, near))


def expit(log_odds: npt.ArrayLike) -> FloatArray:
    """Return the probabilities of given log-odds."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-np.asarray(log_odds, dtype=np.float64))))


def log_odds_of_rank(value: FloatArray, count: IntArray) -> FloatArray:
    """Return the log-odds of the share of a pool's rows below each group of rows, shape (groups,).

    Half of the rows with a group's own value count as below it, so only the order of the values
    matters.
    """
    _, place = np.unique(value, return_inverse=True)
    rows = np.bincount(place, count)
    below = np.cumsum(rows) - rows / 2
    return np.asarray(np.log(below / (below[-1] + rows[-1] / 2 - below))[place])
