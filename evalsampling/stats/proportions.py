"""Intervals of a proportion.

References:
    C. J. Clopper and E. S. Pearson, *The use of confidence or fiducial limits illustrated in the
    case of the binomial*, Biometrika 26, 1934.
"""

import scipy


def clopper_pearson(hits: float, trials: float, confidence: float) -> tuple[float, float]:
    """Return the ends of the exact interval of a proportion, each in [0, 1].

    Beta(x, n - x + 1) to Beta(x + 1, n - x) for x hits in n trials. Neither need be whole: with an
    effective sample size for n it is the interval of Korn and Graubard.

    Args:
        hits: x, at least 0.
        trials: n, at least x; without any the interval is [0, 1].
        confidence: level, in (0, 1).
    """
    tail, misses = (1 - confidence) / 2, trials - hits
    low = float(scipy.special.betaincinv(hits, misses + 1, tail)) if hits > 0 else 0.0
    high = float(scipy.special.betaincinv(hits + 1, misses, 1 - tail)) if misses > 0 else 1.0
    return low, high
