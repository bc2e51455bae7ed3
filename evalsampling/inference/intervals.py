"""Design-based confidence intervals of a single number.

All are design-based: they rest on the estimate, its standard error and the way rows were drawn,
and on no model of the labels. Of their arguments ``value`` is the estimate, finite;
``standard_error`` is at least 0, of shares above 0; ``confidence`` is in (0, 1); ``bounds`` are the
least and the greatest value that the measure can have; ``draws``, at least 2, is how many draws the
estimate is computed from, ``clusters`` how many equally large clusters they are worth, where draws
share clusters; ``degrees`` are the degrees of freedom of the variance estimate, above 0, not always
whole; infinity gives the normal interval.

References:
    C. J. Clopper and E. S. Pearson, *The use of confidence or fiducial limits illustrated in the
    case of the binomial*, Biometrika 26, 1934.
    W. G. Cochran, *Sampling Techniques*, third edition, Wiley 1977.
    E. L. Korn and B. I. Graubard, *Confidence intervals for proportions with small expected
    number of positive counts estimated from survey data*, Survey Methodology 24, 1998.
    F. E. Satterthwaite, *An approximate distribution of estimates of variance components*,
    Biometrics Bulletin 2, 1946.
    E. B. Wilson, *Probable inference, the law of succession, and statistical inference*,
    JASA 22, 1927.
"""

import dataclasses
import math

import numpy as np
import scipy

from evalsampling.stats.arrays import FloatArray

DESIGN_BASED = "design-based"
"""Kind of intervals that need the design alone, and no model."""

MODEL_BASED = "model-based"
"""Kind of intervals from draws of all labels by a model of them."""

STRATUM_RATES = "stratum-rates"
"""Method of those by a model that takes rows of a stratum to be alike, and no more."""

ANYTIME = "anytime-valid"
"""Kind of intervals that hold whenever one looks."""

SIMULTANEOUS = "simultaneous"
"""Kind of design-based intervals that hold together; also the last word of their methods."""

_ROUNDING = 1e-9
"""Rounding error allowed between an interval of no width and the truth."""

_LARGEST_REACH = 700.0
"""Largest exponent whose exponential is a finite number."""


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


def wald(
    value: float, standard_error: float, confidence: float, bounds: tuple[float, float]
) -> Interval:
    """Return the normal interval value +- z standard_error, cut at the bounds of the measure."""
    reach = float(scipy.special.ndtri((1 + confidence) / 2)) * standard_error
    return _cut(value, reach, bounds, "wald")


def student(
    value: float,
    standard_error: float,
    confidence: float,
    bounds: tuple[float, float],
    degrees: float,
) -> Interval:
    """Return the Student interval value +- t standard_error, cut (Cochran, section 5.4)."""
    reach = float(scipy.special.stdtrit(degrees, (1 + confidence) / 2)) * standard_error
    return _cut(value, reach, bounds, "student")


def log_student(value: float, standard_error: float, confidence: float, degrees: float) -> Interval:
    """Return the Student interval on the log scale, value exp(+- t standard_error / value).

    Means of squares are skewed to the right, and their logarithms less so.
    """
    reach = float(scipy.special.stdtrit(degrees, (1 + confidence) / 2)) * standard_error / value
    factor = math.exp(min(reach, _LARGEST_REACH))
    return Interval(value / factor, value * factor, DESIGN_BASED, "student, logarithm")


def degrees_of_freedom(squares: FloatArray, terms: int) -> float:
    """Return the degrees of freedom of a variance estimate v = sum_j e_j^2 of a sum of n terms.

    They are those of the chi-square with the relative variance of v. For independent terms of the
    same distribution that variance is r = sum e^4 / (sum e^2)^2 - 1/n = (kurtosis - 1) / n, and

        df = 2 / r - 1,  at least 1 and at most n - 1,

    one degree being lost to the estimated mean. Normal terms give about n - 1; a term that
    dwarfs the others gives about 1 (Satterthwaite, and Cochran, eq. 5.16, with the moments of the
    terms in place of those of normal strata).

    Args:
        squares: squared weighted residuals e_j^2, at least 0; those that are 0 may be left out.
        terms: n, number of independent terms, zero or not, at least 1: the draws, or, of a sample
            without replacement, its rows with a label.
    """
    total = float(squares.sum())
    if total == 0:
        return 1.0
    shares = squares / total
    spread = float(shares @ shares) - 1 / terms
    most = max(terms - 1.0, 1.0)
    return min(max(2 / spread - 1, 1.0), most) if spread > 0 else most


def logit(
    value: float, standard_error: float, confidence: float, bounds: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    """Return the normal interval on the logit scale, mapped back: it never leaves the bounds.

    With p = (value - low) / (high - low) of standard error s, the ends are
    expit(logit p -+ z s / (p (1 - p))), mapped back to the bounds. For bounds (-1, 1) this is
    Fisher's z. The interval tends to the whole range as the standard error grows; it is the
    whole range where the logit is undefined: for a value at or beyond a bound, or bounds that
    are not finite.
    """
    width = bounds[1] - bounds[0]
    share = (value - bounds[0]) / width
    if not 0 < share < 1:
        return whole_range(bounds, "logit at a bound")
    centre = float(scipy.special.logit(share))
    reach = float(scipy.special.ndtri((1 + confidence) / 2)) * standard_error
    reach /= width * share * (1 - share)
    low, high = (
        bounds[0] + width * float(scipy.special.expit(end))
        for end in (centre - reach, centre + reach)
    )
    return Interval(low, high, DESIGN_BASED, "logit")


def wilson(
    value: float, standard_error: float, draws: int, confidence: float, clusters: int | None = None
) -> Interval:
    """Return Wilson's score interval with the effective sample size of the design.

    The effective size n is that of `korn_graubard`; the interval is all p with
    |value - p| <= z sqrt(p (1 - p) / n). It is narrower, and its coverage is near the level rather
    than above it. A value that sampling error carried outside [0, 1] is cut.
    """
    value = min(max(value, 0.0), 1.0)
    size = _effective_size(value, standard_error, draws, confidence, clusters)
    z = float(scipy.special.ndtri((1 + confidence) / 2))
    centre = (size * value + z**2 / 2) / (size + z**2)
    reach = z * math.sqrt(size * value * (1 - value) + z**2 / 4) / (size + z**2)
    return _cut(centre, reach, (0.0, 1.0), "wilson")


def korn_graubard(
    value: float, standard_error: float, draws: int, confidence: float, clusters: int | None = None
) -> Interval:
    """Return the Clopper-Pearson interval with the effective sample size of the design.

    The effective size n = value (1 - value) / standard_error^2 is that of the simple random sample
    with the same variance, and at most the number of draws. The interval is Beta(x, n - x + 1) to
    Beta(x + 1, n - x) with x = n value. Where draws share clusters, n is multiplied by the squared
    ratio of Student's quantiles with one degree less than draws and than clusters (Korn and
    Graubard, eq. 3). A value that sampling error carried outside [0, 1] is cut.
    """
    value = min(max(value, 0.0), 1.0)
    size = _effective_size(value, standard_error, draws, confidence, clusters)
    low, high = clopper_pearson(size * value, size, confidence)
    return Interval(low, high, DESIGN_BASED, "korn-graubard")


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


def _effective_size(
    value: float, standard_error: float, draws: int, confidence: float, clusters: int | None
) -> float:
    """Return the effective sample size of a proportion, at most the number of draws."""
    size = value * (1 - value) / standard_error**2
    if clusters is not None and clusters < draws:
        degrees = np.array([draws - 1, max(clusters - 1, 1)])
        of_draws, of_clusters = scipy.special.stdtrit(degrees, (1 + confidence) / 2)
        size *= float(of_draws / of_clusters) ** 2
    return min(size, float(draws))


def _cut(centre: float, reach: float, bounds: tuple[float, float], method: str) -> Interval:
    """Return the interval centre +- reach, cut at the bounds."""
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in (centre - reach, centre + reach))
    return Interval(low, high, DESIGN_BASED, method)


def clopper_pearson(hits: float, trials: float, confidence: float) -> tuple[float, float]:
    """Return the ends of the exact interval of a proportion, each in [0, 1].

    Beta(x, n - x + 1) to Beta(x + 1, n - x) for x hits in n trials. Neither need be whole: with an
    effective sample size for n it is the interval of Korn and Graubard; without trials the range.
    """
    tail, misses = (1 - confidence) / 2, trials - hits
    low = float(scipy.special.betaincinv(hits, misses + 1, tail)) if hits > 0 else 0.0
    high = float(scipy.special.betaincinv(hits + 1, misses, 1 - tail)) if misses > 0 else 1.0
    return low, high
