"""Confidence intervals, and the parts that several methods share.

References:
    C. J. Clopper and E. S. Pearson, *The use of confidence or fiducial limits illustrated in the
    case of the binomial*, Biometrika 26, 1934.
    W. G. Cochran, *Sampling Techniques*, third edition, Wiley 1977.
    F. E. Satterthwaite, *An approximate distribution of estimates of variance components*,
    Biometrics Bulletin 2, 1946.
"""

import dataclasses

import scipy

from evalsampling.stats.arrays import FloatArray

DESIGN_BASED = "design-based"
"""Kind of intervals that need the design alone, and no model."""

MODEL_BASED = "model-based"
"""Kind of intervals from draws of all labels by a model of them."""

STRATUM_RATES = "stratum-rates"
"""Method of intervals by a model whose only assumption is that rows of a stratum are alike."""

ANYTIME = "anytime-valid"
"""Kind of intervals that hold whenever one looks."""

SIMULTANEOUS = "simultaneous"
"""Kind of design-based intervals that hold together; also the last word of their methods."""

_ROUNDING = 1e-9
"""Rounding error allowed between an interval of no width and the truth."""


@dataclasses.dataclass(frozen=True)
class Interval:
    """An interval with its kind and method.

    Attributes:
        low: lower end.
        high: upper end.
        kind: its assumptions: ``design-based`` needs the design alone, no model.
        method: how it was computed.
    """

    low: float
    high: float
    kind: str
    method: str


def degrees_of_freedom(squares: FloatArray, terms: int) -> float:
    """Return the degrees of freedom of a variance estimate v = sum_j e_j^2 of a sum of n terms.

    They are those of the chi-square with the relative variance of v. For independent ``terms`` of
    the same distribution that variance is r = sum e^4 / (sum e^2)^2 - 1/n = (kurtosis - 1) / n, and
    df = 2 / r - 1, at least 1 and at most n - 1, one degree being lost to the estimated mean.
    Normal terms give about n - 1; a term that dwarfs the others gives about 1 (Satterthwaite, and
    Cochran, eq. 5.16, with the moments of the terms in place of those of normal strata). The
    ``squares`` are e_j^2.
    """
    total = float(squares.sum())
    if total == 0:
        return 1.0
    shares = squares / total
    spread = float(shares @ shares) - 1 / terms
    most = max(terms - 1.0, 1.0)
    return min(max(2 / spread - 1, 1.0), most) if spread > 0 else most


def beta(value: float, standard_error: float, confidence: float) -> Interval:
    """Return the equal-tailed interval of the Beta distribution with a given mean and deviation.

    With s = value (1 - value) / standard_error^2 - 1 it is Beta(value s, (1 - value) s)
    (E. Yilmaz and others, *Sample Efficient Model Evaluation*, 2021, section 2.2). If no such
    distribution exists, for a value at a bound or too large an error, it is the whole range.
    """
    strength = value * (1 - value) / standard_error**2 - 1
    if not 0 < value < 1 or strength <= 0:
        return whole_range((0.0, 1.0), "beta")
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)
    shape = value * strength, (1 - value) * strength
    low, high = (float(scipy.special.betaincinv(*shape, tail)) for tail in tails)
    return Interval(low, high, DESIGN_BASED, "beta")


def symmetric(centre: float, reach: float, bounds: tuple[float, float], method: str) -> Interval:
    """Return the interval centre +- reach, cut at the bounds."""
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in (centre - reach, centre + reach))
    return Interval(low, high, DESIGN_BASED, method)


def whole_range(bounds: tuple[float, float], reason: str) -> Interval:
    """Return the interval from bound to bound, for data that allow no narrower claim."""
    return Interval(*bounds, DESIGN_BASED, reason)


def covers(interval: Interval, truth: float) -> bool:
    """Tell whether an interval contains the true value, up to rounding error."""
    return interval.low - _ROUNDING <= truth <= interval.high + _ROUNDING


def interval_score(interval: Interval, truth: float, confidence: float) -> float:
    """Return the width plus 2 / alpha times the distance by which the interval misses the truth.

    T. Gneiting and A. E. Raftery, *Strictly proper scoring rules, prediction, and estimation*, JASA
    102, 2007, eq. 43.
    """
    missed = max(interval.low - truth, 0.0) + max(truth - interval.high, 0.0)
    return (interval.high - interval.low) + 2 / (1 - confidence) * missed


def clopper_pearson(hits: float, trials: float, confidence: float) -> tuple[float, float]:
    """Return the ends of the exact interval of a proportion, each in [0, 1].

    Beta(x, n - x + 1) to Beta(x + 1, n - x) for x hits in n trials. Neither need be whole: with an
    effective sample size for n it is the interval of Korn and Graubard; without trials the range.
    """
    tail, misses = (1 - confidence) / 2, trials - hits
    low = float(scipy.special.betaincinv(hits, misses + 1, tail)) if hits > 0 else 0.0
    high = float(scipy.special.betaincinv(hits + 1, misses, 1 - tail)) if misses > 0 else 1.0
    return low, high
