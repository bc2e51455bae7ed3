"""The importance-weighted estimator, its variance, and the intervals that go with it."""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.stats.intervals import Interval, korn_graubard, wald, whole_range

FloatArray = npt.NDArray[np.float64]

FEWEST_EVIDENCE = 10
"""Rows that must carry an estimate before an interval narrower than its range is given."""

_ROUNDING = 1e-7
"""A standard error below this share of the terms it is the difference of is rounding error: the
variance is computed to 16 digits, so its root to 8."""


@dataclasses.dataclass(frozen=True)
class WeightedRisk:
    """Mean of weighted losses and the covariance of that mean.

    Attributes:
        mean: R^, shape (d,).
        covariance: of R^, shape (d, d).
        draws: N.
        answered: draws whose row has a label, the others having weight 0.
    """

    mean: FloatArray
    covariance: FloatArray
    draws: int
    answered: int


@dataclasses.dataclass(frozen=True)
class Estimate:
    """An estimate of one measure.

    Attributes:
        measure: its name.
        value: estimate, None where it is undefined.
        standard_error: of the estimate, None where it is undefined.
        confidence: level of the intervals.
        intervals: at least one; the first is the default.
        reason: why the value is undefined, else None.
        warnings: what a reader must know before trusting the interval.
    """

    measure: str
    value: float | None
    standard_error: float | None
    confidence: float
    intervals: tuple[Interval, ...]
    reason: str | None = None
    warnings: tuple[str, ...] = ()


def weighted_risk(weights: FloatArray, losses: FloatArray) -> WeightedRisk:
    """Estimate the risk by R^ = (1/N) sum_j w_j l_j ([MR] eq. 1).

    The covariance is that of the mean of the weighted terms w_j l_j, with N - 1.

    Args:
        weights: shape (N,): w = 1 / (M q) of each draw, repeats included.
        losses: shape (N, d): loss of each draw.
    """
    draws = len(weights)
    terms = weights[:, None] * losses
    mean = terms.mean(axis=0) if draws else np.zeros(losses.shape[1])
    centred = terms - mean
    covariance = centred.T @ centred / (max(draws - 1, 1) * max(draws, 1))
    return WeightedRisk(mean, covariance, draws, int(np.count_nonzero(weights)))


def estimate_measure(
    name: str,
    bounds: tuple[float, float],
    value: float,
    jacobian: FloatArray,
    risk: WeightedRisk,
    evidence: int,
    evidence_name: str,
    confidence: float,
) -> Estimate:
    """Turn an estimated risk into an estimated measure with intervals, by the delta method.

    The default is the Korn-Graubard interval, the plain Wald interval stands beside it. Where
    fewer than `FEWEST_EVIDENCE` rows carry the estimate, or its variance is estimated to be
    zero, the data allow no claim: the default is then the whole range of the measure, with a
    warning in words.

    Args:
        name: of the measure.
        bounds: of the measure.
        value: g(R^), NaN if undefined.
        jacobian: of g at R^, shape (1, d).
        risk: R^ and its covariance.
        evidence: distinct labelled rows that carry the estimate.
        evidence_name: what these are, in words.
        confidence: in (0, 1).
    """
    if risk.draws == 0:
        nothing = whole_range(bounds, "no labels")
        return Estimate(name, None, None, confidence, (nothing,), "no labels yet")
    if not np.isfinite(value):
        reason = f"{name} is undefined (0/0): no {evidence_name} among the labelled rows"
        nothing = whole_range(bounds, "undefined")
        return Estimate(name, None, None, confidence, (nothing,), reason, (reason,))
    standard_error = float(np.sqrt(max((jacobian @ risk.covariance @ jacobian.T).item(), 0.0)))
    if standard_error <= _ROUNDING * float((np.abs(jacobian) @ np.abs(risk.mean)).item()):
        standard_error = 0.0
    warnings = []
    if not bounds[0] <= value <= bounds[1]:
        warnings.append(
            f"{name}: the weighted estimate {value:.4g} lies outside its range and was cut; "
            "more labels will mend that"
        )
        value = min(max(value, bounds[0]), bounds[1])
    plain = wald(value, standard_error, confidence, bounds)
    if standard_error == 0:
        default = whole_range(bounds, "zero variance")
        warnings.append(
            f"{name}: no labelled row contradicts this value, so its variance is estimated to be "
            "zero; the interval is the whole range of the measure"
        )
    elif evidence < FEWEST_EVIDENCE:
        default = whole_range(bounds, f"few {evidence_name}")
        warnings.append(
            f"{name}: only {evidence} {evidence_name} seen, fewer than {FEWEST_EVIDENCE}; "
            "the interval is the whole range of the measure"
        )
    else:
        default = korn_graubard(value, standard_error, risk.answered, confidence)
    intervals = (default, plain)
    return Estimate(name, value, standard_error, confidence, intervals, None, tuple(warnings))


def census(
    name: str, bounds: tuple[float, float], value: float, confidence: float, evidence_name: str
) -> Estimate:
    """Return the exact value of a measure all of whose rows have labels.

    Args:
        name: of the measure.
        bounds: of the measure.
        value: g at the risk of the whole pool, NaN if undefined.
        confidence: in (0, 1).
        evidence_name: what the measure needs, in words.
    """
    if not np.isfinite(value):
        reason = f"{name} is undefined (0/0): the pool has no {evidence_name}"
        return Estimate(name, None, None, confidence, (whole_range(bounds, "undefined"),), reason)
    exact = Interval(value, value, "design-based", "census")
    return Estimate(name, value, 0.0, confidence, (exact,))


def unsupported(
    name: str, bounds: tuple[float, float], confidence: float, sampled_for: str
) -> Estimate:
    """Return the missing estimate of a measure that the draws say nothing about."""
    reason = (
        f"{name} cannot be estimated from rows drawn for {sampled_for}: "
        "rows that add to it had no chance of being drawn"
    )
    nothing = whole_range(bounds, "no support")
    return Estimate(name, None, None, confidence, (nothing,), reason, (reason,))
