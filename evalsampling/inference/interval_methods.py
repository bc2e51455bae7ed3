"""Design-based intervals of a single number, by the name of their method.

A method is a function of a `SampledNumber`: of an estimate, its standard error and the way rows
were drawn, and of no model of the labels. It returns an interval, or None if the method does not
apply to the number. `estimates` has the default one.

References:
    E. L. Korn and B. I. Graubard, *Confidence intervals for proportions with small expected
    number of positive counts estimated from survey data*, Survey Methodology 24, 1998.
    E. B. Wilson, *Probable inference, the law of succession, and statistical inference*,
    JASA 22, 1927.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import scipy

from evalsampling.errors import InputError
from evalsampling.inference.intervals import (
    DESIGN_BASED,
    Interval,
    beta,
    clopper_pearson,
    degrees_of_freedom,
    symmetric,
    whole_range,
)
from evalsampling.inference.results import Target
from evalsampling.stats.arrays import FloatArray

_LARGEST_REACH = 700.0
"""Largest exponent whose exponential is a finite number."""


@dataclasses.dataclass(frozen=True)
class SampledNumber:
    """The estimate of one number from weighted rows, with its standard error."""

    target: Target  # the number
    value: float  # estimated value, within the bounds
    error: float  # standard error, at least 0; 0 if it is only rounding error
    terms: FloatArray  # (n,): squared contributions of the rows, or clusters, to the error
    draws: int  # number of draws whose row has a label
    confidence: float  # confidence of the interval, in (0, 1)
    # standard error under the latest proposal, None if there is none
    latest_error: float | None = None
    # standard error predicted from scores and labels, None if it is unknown
    expected_error: float | None = None
    # number of independent terms where rows share clusters; None for the draws
    units: int | None = None
    # share without a label of the rows that the number is a mean over; 0 of F1 and the like
    open_share: float = 1.0
    # how far rows that labels hardly tell of may move the number, by which its interval is longer
    reach: float = 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest possible value, infinite if unbounded."""
        return self.target.bounds

    @property
    def is_share(self) -> bool:
        """Whether the number lies in [0, 1] and has an error."""
        return self.error > 0 and self.bounds == (0.0, 1.0)

    @functools.cached_property
    def degrees(self) -> float:
        """Degrees of freedom of the variance, at least 1."""
        return degrees_of_freedom(self.terms, max(self.units or self.draws, 1))

    @property
    def z(self) -> float:
        """The normal quantile of the confidence."""
        return float(scipy.special.ndtri((1 + self.confidence) / 2))

    @property
    def t(self) -> float:
        """Student's quantile of the confidence."""
        return float(scipy.special.stdtrit(self.degrees, (1 + self.confidence) / 2))

    @property
    def cautious_error(self) -> float:
        """A standard error that allows for the uncertainty of the estimated one.

        It is stretched as Student's quantile is (Korn and Graubard), and at least `expected_error`:
        it is too small while rows with large weights have no label.
        """
        return max(self.error * self.t / self.z, self.expected_error or 0.0)


IntervalMethod = Callable[[SampledNumber], Interval | None]
"""A function that returns an interval of a number, None if it does not apply to the number."""


def by_korn_graubard(number: SampledNumber) -> Interval | None:
    """Return the Clopper-Pearson interval with the effective size of the design, of shares.

    With that size n and x = n value it is Beta(x, n - x + 1) to Beta(x + 1, n - x). Where n is
    above the number of draws x is half a draw's worth less and more: so it holds in each finite
    population that a simple random sample is drawn from.
    """
    if not number.is_share:
        return None
    value, size = _effective_size(number)
    beyond = max(size / number.draws - 1, 0.0) / 2
    low, _ = clopper_pearson(max(size * value - beyond, 0.0), size, number.confidence)
    _, high = clopper_pearson(min(size * value + beyond, size), size, number.confidence)
    return Interval(low, high, DESIGN_BASED, "korn-graubard")


def by_logit(number: SampledNumber) -> Interval | None:
    """Return the normal interval on the logit scale, mapped back: it never leaves the bounds.

    Of numbers that have two bounds and are no difference of systems. With p = (value - low) / (high
    - low) of standard error s, the ends are expit(logit p -+ z s / (p (1 - p))), mapped back; for
    bounds (-1, 1) this is Fisher's z. For a value at a bound it is the whole range.
    """
    (least, greatest), value = number.bounds, number.value
    width = greatest - least
    if not number.error or number.target.against is not None or not np.isfinite(width):
        return None
    share = (value - least) / width
    if not 0 < share < 1:
        return whole_range(number.bounds, "logit at a bound")
    centre = float(scipy.special.logit(share))
    reach = number.z * number.error / (width * share * (1 - share))
    low, high = (
        least + width * float(scipy.special.expit(end)) for end in (centre - reach, centre + reach)
    )
    return Interval(low, high, DESIGN_BASED, "logit")


def by_wilson(number: SampledNumber) -> Interval | None:
    """Return Wilson's score interval with the effective size of the design, of shares.

    With that size n it is all p with |value - p| <= z sqrt(p (1 - p) / n).
    """
    if not number.is_share:
        return None
    (value, size), z = _effective_size(number), number.z
    centre = (size * value + z**2 / 2) / (size + z**2)
    reach = z * math.sqrt(size * value * (1 - value) + z**2 / 4) / (size + z**2)
    return symmetric(centre, reach, (0.0, 1.0), "wilson")


def _effective_size(number: SampledNumber) -> tuple[float, float]:
    """Return a share, cut to [0, 1], and the effective sample size of the design.

    The size n = value (1 - value) / error^2 is that of the simple random sample with the same
    variance. Of a mean over known rows it is at most that of the draws if they were one: their
    number by `open_share` (Cochran, 1977, eq. 2.20). Where draws share clusters, n is multiplied by
    the squared ratio of Student's quantiles with one degree less than draws and than clusters (Korn
    and Graubard, eq. 3).
    """
    value, draws, clusters = min(max(number.value, 0.0), 1.0), number.draws, number.units
    size = value * (1 - value) / number.error**2
    if clusters is not None and clusters < draws:
        degrees = np.array([draws - 1, max(clusters - 1, 1)])
        of_draws, of_clusters = scipy.special.stdtrit(degrees, (1 + number.confidence) / 2)
        size *= float(of_draws / of_clusters) ** 2
    return value, min(size, draws / number.open_share if number.open_share else math.inf)


def by_log_student(number: SampledNumber) -> Interval | None:
    """Return Student's interval on the log scale, value exp(+- t error / value), if above 0."""
    if not number.error or number.bounds != (0.0, np.inf) or number.value <= 0:
        return None
    factor = math.exp(min(number.t * number.error / number.value, _LARGEST_REACH))
    low, high = number.value / factor, number.value * factor
    return Interval(low, high, DESIGN_BASED, "student, logarithm")


def by_student(number: SampledNumber) -> Interval | None:
    """Return the Student interval value +- t error, cut (Cochran, 1977, section 5.4)."""
    if not number.error:
        return None
    return symmetric(number.value, number.t * number.error, number.bounds, "student")


def by_wald(number: SampledNumber) -> Interval:
    """Return the normal interval value +- z error, cut at the bounds, of every number."""
    return symmetric(number.value, number.z * number.error, number.bounds, "wald")


def by_latest_proposal(number: SampledNumber) -> Interval | None:
    """Return Wald's with the error under the latest proposal ([MR] section 3), if there is one."""
    if number.latest_error is None:
        return None
    reach = number.z * number.latest_error
    return symmetric(number.value, reach, number.bounds, "wald-latest-proposal")


def by_beta(number: SampledNumber) -> Interval | None:
    """Return `beta` with the cautious error ([Y] section 2.2), of shares."""
    if not number.is_share:
        return None
    return beta(number.value, number.cautious_error, number.confidence)


BY_NAME: Mapping[str, IntervalMethod] = {
    "korn-graubard": by_korn_graubard,
    "logit": by_logit,
    "wilson": by_wilson,
    "log-student": by_log_student,
    "student": by_student,
    "wald": by_wald,
    "wald-latest-proposal": by_latest_proposal,
    "beta": by_beta,
}
"""All methods."""


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of methods, each once."""
    for name in names:
        if name not in BY_NAME:
            raise InputError(f"no interval method {name!r}: there are {', '.join(BY_NAME)}")
    return tuple(dict.fromkeys(names))
