"""Many systems compared with each other at once: who beats whom.

References:
    C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, section 3.2.3.
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

from evalsampling.arrays import FloatArray
from evalsampling.inference.results import Estimate

_MANY_DEGREES = 1e5
"""Degrees of freedom from which on Student's distribution is taken to be the normal one."""


@dataclasses.dataclass(frozen=True)
class PairTest:
    """Two of many systems compared.

    Attributes:
        system: name of the one.
        against: name of the other.
        value: the difference, None where it is undefined.
        standard_error: of it.
        p_value: two-sided, of this pair alone; None where the labels allow no claim.
        bonferroni: times the number of pairs, at most 1.
        tukey: by the studentized range of all systems.
        low: lower end of the interval that holds together with those of all pairs; None where a
            file has none, as it is infinite.
        high: upper end, likewise.
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
        """Whether the value is surely above 0."""
        return self.low is not None and self.low > 0

    @property
    def is_below(self) -> bool:
        """Whether the value is surely below 0."""
        return self.high is not None and self.high < 0


@dataclasses.dataclass(frozen=True)
class Contest:
    """A measure of many systems, compared pair by pair.

    Attributes:
        measure: its name.
        systems: their names.
        confidence: that all intervals hold together.
        range_p_value: Tukey's, of the hypothesis that all systems are alike; None where the labels
            of some pair allow no claim.
        pairs: each system with every later one.
    """

    measure: str
    systems: tuple[str | None, ...]
    confidence: float
    range_p_value: float | None
    pairs: tuple[PairTest, ...]

    def beaten_by(self, system: str | None) -> tuple[str | None, ...]:
        """Return the systems whose value is surely lower, whatever else is tested here."""
        beaten = []
        for pair in self.pairs:
            if pair.is_above and pair.system == system:
                beaten.append(pair.against)
            if pair.is_below and pair.against == system:
                beaten.append(pair.system)
        return tuple(beaten)


def hold_contest(found: Sequence[Estimate], draws: int) -> Contest:
    """Return the comparison of many systems, given the difference of each pair by itself.

    Args:
        found: design-based estimates of the differences of one measure on the pool, at least one.
        draws: whose row has a label.
    """
    confidence = found[0].confidence
    named = ((one.target.system, one.target.against) for one in found)
    systems = tuple(dict.fromkeys(itertools.chain.from_iterable(named)))
    known = [one.significance for one in found if one.significance is not None]
    degrees = [one.degrees for one in known if one.degrees is not None]
    fewest = min(degrees, default=math.inf)
    reach = critical_range(confidence, len(systems), fewest) / math.sqrt(2)
    range_p_value = None
    if len(known) == len(found) and all(one.p_value is not None for one in known):
        difference = np.array([one.value for one in found], dtype=np.float64)
        error = np.array([one.standard_error for one in found], dtype=np.float64)
        range_p_value = tukey_range_test(difference, error, len(systems), draws)
    return Contest(
        found[0].target.measure,
        systems,
        confidence,
        range_p_value,
        tuple(_pair(one, len(found), len(systems), reach, fewest) for one in found),
    )


def _pair(one: Estimate, pairs: int, k: int, reach: float, degrees: float) -> PairTest:
    target, value, error = one.target, one.value, one.standard_error
    low, high = target.bounds
    p_value = None if one.significance is None else one.significance.p_value
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
    """Return the p-value of the hypothesis that k systems are alike, by the range of their values.

    P(Q > sqrt(2 n) rho / S), Q the studentized range of k values with (n - 1) (k - 1) degrees of
    freedom, rho the greatest difference and S^2 the mean of n times the squared errors.

    Args:
        difference: shape (pairs,): of all pairs.
        error: shape (pairs,): their standard errors.
        k: number of systems.
        draws: n.
    """
    spread = math.sqrt(float(np.mean(error**2)))
    if spread == 0:
        return 0.0 if np.any(difference) else 1.0
    statistic = math.sqrt(2) * float(np.abs(difference).max()) / spread
    return range_tail(statistic, k, (draws - 1) * (k - 1))


def range_tail(statistic: float, k: int, degrees: float) -> float:
    """Return the probability that the studentized range of k values is greater."""
    return float(scipy.stats.studentized_range.sf(statistic, k, _known_degrees(degrees)))


def critical_range(confidence: float, k: int, degrees: float) -> float:
    """Return the quantile of the studentized range of k values."""
    if k == 2:
        return math.sqrt(2) * float(scipy.special.stdtrit(degrees, (1 + confidence) / 2))

    return float(scipy.stats.studentized_range.ppf(confidence, k, _known_degrees(degrees)))


def _known_degrees(degrees: float) -> float:
    return math.inf if degrees >= _MANY_DEGREES else max(degrees, 1.0)
