"""Confidence intervals.

References:
    E. L. Korn and B. I. Graubard, *Confidence intervals for proportions with small expected
    number of positive counts estimated from survey data*, Survey Methodology 24, 1998.
"""

import dataclasses

from scipy import special


@dataclasses.dataclass(frozen=True)
class Interval:
    """An interval with what it rests on.

    Attributes:
        low: lower end.
        high: upper end.
        kind: what it rests on: ``design-based`` needs the design alone, no model.
        method: how it was computed.
    """

    low: float
    high: float
    kind: str
    method: str


def wald(
    value: float, standard_error: float, confidence: float, bounds: tuple[float, float]
) -> Interval:
    """Normal interval value +- z standard_error, cut at the bounds of the measure.

    Args:
        value: estimate, finite.
        standard_error: at least 0.
        confidence: in (0, 1).
        bounds: least and greatest value the measure can have.
    """
    reach = float(special.ndtri((1 + confidence) / 2)) * standard_error
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in (value - reach, value + reach))
    return Interval(low, high, "design-based", "wald")


def korn_graubard(value: float, standard_error: float, draws: int, confidence: float) -> Interval:
    """Clopper-Pearson interval with the effective sample size of the design.

    The effective size n = value (1 - value) / standard_error^2 is that of the simple random
    sample with the same variance, and at most the number of draws. The interval is
    Beta(x, n - x + 1) to Beta(x + 1, n - x) with x = n value. (Korn and Graubard also adjust n
    for the degrees of freedom of a clustered design; here each draw is one of its own.)

    Args:
        value: estimate in [0, 1]; values that sampling error carried outside are cut.
        standard_error: greater than 0.
        draws: draws it was estimated from, at least 2.
        confidence: in (0, 1).
    """
    value = min(max(value, 0.0), 1.0)
    size = min(value * (1 - value) / standard_error**2, float(draws))
    tail = (1 - confidence) / 2
    hits = size * value
    misses = size - hits
    low = float(special.betaincinv(hits, misses + 1, tail)) if hits > 0 else 0.0
    high = float(special.betaincinv(hits + 1, misses, 1 - tail)) if misses > 0 else 1.0
    return Interval(low, high, "design-based", "korn-graubard")


def whole_range(bounds: tuple[float, float], reason: str) -> Interval:
    """Everything the measure can be, for data that allow no narrower claim."""
    return Interval(*bounds, "design-based", reason)


def interval_score(interval: Interval, truth: float, confidence: float) -> float:
    """Width plus 2/alpha times the distance by which the interval misses the truth.

    References:
        T. Gneiting and A. E. Raftery, *Strictly proper scoring rules, prediction, and
        estimation*, JASA 102, 2007, eq. 43.
    """
    missed = max(interval.low - truth, 0.0) + max(truth - interval.high, 0.0)
    return (interval.high - interval.low) + 2 / (1 - confidence) * missed
