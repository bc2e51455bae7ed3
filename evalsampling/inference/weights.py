"""Measures of the cost of unequal weights: effective sample size and design effect.

References:
    L. Kish, *Survey Sampling*, Wiley 1965, sections 8.2 (design effect) and 11.7 (weights).
"""

from evalsampling.stats.arrays import FloatArray


def effective_size(weight: FloatArray) -> float:
    """Return Kish's effective sample size (sum w)^2 / sum w^2, in [0, n].

    It is n for equal weights and 1 if a single weight dwarfs the others. It does not depend on the
    measure: weights that follow the residuals of the measure lower both this size and the variance.

    Args:
        weight: shape (n,), at least 0. Without a positive weight the size is 0.
    """
    largest = weight.max(initial=0.0)
    if largest == 0:
        return 0.0
    scaled = weight / largest
    return float(scaled.sum() ** 2 / (scaled @ scaled))


def design_effect(standard_error: float, unit_variance: float, draws: int) -> float | None:
    """Return the variance of an estimate divided by that of a simple random sample of equal size.

    Below 1 the design beats simple random sampling with replacement, standard_error^2 being
    compared with unit_variance / draws.

    Args:
        standard_error: standard error of the estimate, at least 0.
        unit_variance: variance over the pool of the residual whose mean is the error of the
            estimate, itself known or estimated. For a share of the pool such as accuracy it is
            value (1 - value). For a ratio E[x] / E[d] with loss x in {0, 1} that counts within
            d in {0, 1}, such as recall, it is value (1 - value) / E[d]: a random draw is in
            the denominator with probability E[d].
        draws: number of draws, at least 1.

    Returns:
        The design effect, at least 0; None where the unit variance is 0.
    """
    return standard_error**2 * draws / unit_variance if unit_variance > 0 else None


def largest_share(terms: FloatArray) -> float:
    """Return the share of the largest term in the sum of all terms, in [0, 1].

    For squared weighted residuals it is the largest share of the variance estimate that a single
    row makes up; for weights it is the largest share of the pool that a single row represents.

    Args:
        terms: shape (n,), at least 0. Without a positive term the share is 0.
    """
    largest = terms.max(initial=0.0)
    return float(1 / (terms / largest).sum()) if largest > 0 else 0.0
