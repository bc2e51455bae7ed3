"""Simultaneous comparisons of many systems: which systems beat which.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, section 3.2.3.
    Its range statistic is printed without the root of 2 n, and multiplied where it is to be
    divided by the standard deviation.
    P. A. Games and J. F. Howell, *Pairwise multiple comparison procedures with unequal n's and/or
    variances*, Journal of Educational Statistics 1, 1976: each pair its own standard error.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np
import scipy

from evalsampling.inference.results import Estimate
from evalsampling.stats.arrays import FloatArray

_MANY_DEGREES = 1e5
"""Degrees of freedom above which Student's distribution is replaced by the normal."""


@dataclasses.dataclass(frozen=True)
class PairTest:
    """The comparison of two of many systems: difference, p-values and simultaneous interval.

    Attributes:
        system: name of the first system.
        against: name of the second system.
        value: first system's value minus the second's, None if it is undefined.
        standard_error: standard error of the difference.
        p_value: two-sided p-value of this pair alone; None if the labels allow no claim.
        bonferroni: `p_value` times the number of pairs, at most 1.
        tukey: p-value by the studentized range of all systems.
        low: lower end of the interval that holds together with those of all pairs; None if it was
            read from a file, where infinite ends are missing.
        high: upper end of that interval; None as for `low`.
    """

    system: str | None
    against: str | None
    value: float | None
    standard_error: float | None
    p_value: float | None
    bonferroni: float | None
    tukey: float | None
    low: float | None
    high: float | None

    @property
    def is_above(self) -> bool:
        """Whether the whole simultaneous interval is above 0."""
        return self.low is not None and self.low > 0

    @property
    def is_below(self) -> bool:
        """Whether the whole simultaneous interval is below 0."""
        return self.high is not None and self.high < 0


@dataclasses.dataclass(frozen=True)
class Contest:
    """A measure of many systems, compared pair by pair.

    Attributes:
        measure: name of the measure.
        systems: names of the systems.
        confidence: probability that all intervals hold together.
        range_p_value: Tukey's p-value of the hypothesis that all systems are equal; None if the
            labels of some pair allow no claim.
        pairs: the comparison of each system with every later system.
    """

    measure: str
    systems: tuple[str | None, ...]
    confidence: float
    range_p_value: float | None
    pairs: tuple[PairTest, ...]

    def beaten_by(self, system: str | None) -> tuple[str | None, ...]:
        """Return the systems that a system beats by the simultaneous intervals of all pairs."""
        beaten = []
        for pair in self.pairs:
            if pair.is_above and pair.system == system:
                beaten.append(pair.against)
            if pair.is_below and pair.against == system:
                beaten.append(pair.system)
        return tuple(beaten)


def hold_contest(differences: Sequence[Estimate], draws: int) -> Contest:
    """Return the comparison of many systems, given the estimated difference of each pair.

    Args:
        differences: design-based estimates of the differences of one measure on the pool, at least
            one.
        draws: number of draws whose row has a label.
    """
    confidence = differences[0].confidence
    names = ((pair.target.system, pair.target.against) for pair in differences)
    systems = tuple(dict.fromkeys(itertools.chain.from_iterable(names)))
    tests = [pair.significance for pair in differences if pair.significance is not None]
    degrees = [test.degrees for test in tests if test.degrees is not None]
    fewest = min(degrees, default=math.inf)
    reach = critical_range(confidence, len(systems), fewest) / math.sqrt(2)
    range_p_value = None
    if len(tests) == len(differences) and all(test.p_value is not None for test in tests):
        values = np.array([pair.value for pair in differences], dtype=np.float64)
        errors = np.array([pair.standard_error for pair in differences], dtype=np.float64)
        range_p_value = tukey_range_test(values, errors, len(systems), draws)
    return Contest(
        differences[0].target.measure,
        systems,
        confidence,
        range_p_value,
        tuple(_pair(pair, len(differences), len(systems), reach, fewest) for pair in differences),
    )


def _pair(difference: Estimate, pairs: int, k: int, reach: float, degrees: float) -> PairTest:
    """Return the comparison of one of some pairs of k systems.

    Its simultaneous interval reaches ``reach`` standard errors to either side.
    """
    target, value, error = difference.target, difference.value, difference.standard_error
    low, high = target.bounds
    p_value = None if difference.significance is None else difference.significance.p_value
    if p_value is None or value is None or error is None:
        return PairTest(target.system, target.against, value, error, None, None, None, low, high)
    tukey = range_tail(math.sqrt(2) * abs(value) / error, k, degrees) if error else p_value
    return PairTest(
        target.system,
        target.against,
        value,
        error,
        p_value,
        min(1.0, p_value * pairs),
        tukey,
        max(low, value - reach * error),
        min(high, value + reach * error),
    )


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
    return float(scipy.stats.studentized_range.sf(statistic, k, _effective_degrees(degrees)))


def critical_range(confidence: float, k: int, degrees: float) -> float:
    """Return the quantile of the studentized range of k values at a level of confidence."""
    if k == 2:
        return math.sqrt(2) * float(scipy.special.stdtrit(degrees, (1 + confidence) / 2))
    return float(scipy.stats.studentized_range.ppf(confidence, k, _effective_degrees(degrees)))


def _effective_degrees(degrees: float) -> float:
    """Return degrees of freedom, at least 1, and infinite from `_MANY_DEGREES` on."""
    return math.inf if degrees >= _MANY_DEGREES else max(degrees, 1.0)
