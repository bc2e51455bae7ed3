"""Estimates: a value with its intervals and what a reader must know before trusting them."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.inference.intervals import (
    Interval,
    degrees_of_freedom,
    korn_graubard,
    logit,
    student,
    wald,
    whole_range,
    wilson,
)
from evalsampling.inference.sample import WeightedSample
from evalsampling.inference.weights import design_effect, effective_size, largest_share

FloatArray = npt.NDArray[np.float64]

FEWEST_EVIDENCE = 10
"""Rows that must carry an estimate before an interval narrower than its range is given."""

DOMINANT = 0.5
"""Share of the variance that a single row may have before a warning says so."""

_ROUNDING = 1e-7
"""A standard error below this share of the terms it is the difference of is rounding error: the
variance is computed to 16 digits, so its root to 8."""


@dataclasses.dataclass(frozen=True)
class Target:
    """The one number an estimate is about.

    Attributes:
        measure: its name.
        bounds: least and greatest value, infinite where there is none.
        system: name of the system, None if the evaluation has one that needs no name.
        threshold: score threshold, if it belongs to one.
        slice: ``column=value`` of the rows it is about, None for the whole pool.
    """

    measure: str
    bounds: tuple[float, float] = (0.0, 1.0)
    system: str | None = None
    threshold: float | None = None
    slice: str | None = None

    @property
    def title(self) -> str:
        """Everything that tells it from other numbers, in words."""
        text = self.measure
        text += "" if self.threshold is None else f" at {self.threshold:.6g}"
        text += "" if self.system is None else f" of {self.system}"
        return text + ("" if self.slice is None else f" where {self.slice}")


@dataclasses.dataclass(frozen=True)
class Estimate:
    """An estimate of one number.

    Attributes:
        target: what it is an estimate of.
        value: estimate, None where it is undefined.
        standard_error: of the estimate, None where it is undefined.
        confidence: level of the intervals.
        intervals: at least one; the first is the default.
        reason: why the value is undefined, else None.
        warnings: what a reader must know before trusting the interval.
        effective_size: labels that would do as well if all weights were equal (Kish).
        design_effect: variance over that of as many labels of rows drawn alike.
        largest_share: share of the variance that comes from a single row, at most.
        largest_weight: share of the weights of all labelled rows that a single one has, at most.
    """

    target: Target
    value: float | None
    standard_error: float | None
    confidence: float
    intervals: tuple[Interval, ...]
    reason: str | None = None
    warnings: tuple[str, ...] = ()
    effective_size: float | None = None
    design_effect: float | None = None
    largest_share: float | None = None
    largest_weight: float | None = None

    @property
    def measure(self) -> str:
        """Name of the measure."""
        return self.target.measure

    @property
    def claims(self) -> bool:
        """Whether the default interval claims anything: whether it is not the whole range."""
        return (self.intervals[0].low, self.intervals[0].high) != self.target.bounds


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The rows that carry an estimate.

    Attributes:
        rows: how many distinct ones have a label.
        name: what they are, in words: "positives".
    """

    rows: int
    name: str


def estimate(
    targets: Sequence[Target],
    value: FloatArray,
    influence: FloatArray,
    sample: WeightedSample,
    evidence: Evidence,
    confidence: float,
) -> list[Estimate]:
    """Turn an estimated risk into estimates with intervals, by the delta method.

    The default is the Korn-Graubard interval for measures in [0, 1], Student's for others; the
    others stand beside it. Where fewer than `FEWEST_EVIDENCE` rows carry the estimate, or its
    variance is estimated to be zero, the data allow no claim: the default is then the whole
    range of the measure, with a warning in words.

    Args:
        targets: m numbers.
        value: g(R^), shape (m,), NaN where undefined.
        influence: Dg(R^) l of the rows of the sample, shape (n, m).
        sample: n rows with their weights.
        evidence: for all of the targets.
        confidence: in (0, 1).
    """
    if not sample.draws:
        return [undefined(t, confidence, "no labels", "no labels yet") for t in targets]
    scale = np.maximum(sample.mean(np.abs(influence)), np.abs(value))
    error = np.sqrt(np.maximum(sample.variance(influence), 0.0))
    error = np.where(error <= _ROUNDING * scale, 0.0, error)
    latest = sample.latest_variance(influence)
    terms = sample.contributions(influence) ** 2
    # The variance that one random row would have, of the weighted sample's own estimate.
    unit = sample.mean(influence**2) - sample.mean(influence) ** 2
    size, heaviest = effective_size(sample.weight), largest_share(sample.weight)
    return [
        _estimate_one(
            target,
            value=float(value[i]),
            error=float(error[i]),
            terms=terms[:, i],
            latest=None if latest is None else float(np.sqrt(latest[i])),
            unit_variance=float(unit[i]),
            sample=sample,
            size=size,
            heaviest=heaviest,
            evidence=evidence,
            confidence=confidence,
        )
        for i, target in enumerate(targets)
    ]


def _estimate_one(
    target: Target,
    value: float,
    error: float,
    terms: FloatArray,
    latest: float | None,
    unit_variance: float,
    sample: WeightedSample,
    size: float,
    heaviest: float,
    evidence: Evidence,
    confidence: float,
) -> Estimate:
    name, bounds = target.title, target.bounds
    if not np.isfinite(value):
        reason = f"{name} is undefined (0/0): no {evidence.name} among the labelled rows"
        return undefined(target, confidence, "undefined", reason, warn=True)
    warnings = []
    if not bounds[0] <= value <= bounds[1]:
        warnings.append(
            f"{name}: the weighted estimate {value:.4g} lies outside its range and was cut; "
            "more labels will mend that"
        )
        value = min(max(value, bounds[0]), bounds[1])
    dominant = largest_share(terms)
    if error == 0:
        default = [whole_range(bounds, "zero variance")]
        warnings.append(
            f"{name}: no labelled row contradicts this value, so its variance is estimated to be "
            "zero; the interval is the whole range of the measure"
        )
    elif evidence.rows < FEWEST_EVIDENCE:
        default = [whole_range(bounds, f"few {evidence.name}")]
        warnings.append(
            f"{name}: only {evidence.rows} {evidence.name} seen, fewer than {FEWEST_EVIDENCE}; "
            "the interval is the whole range of the measure"
        )
    else:
        default = []
        if dominant > DOMINANT:
            warnings.append(
                f"{name}: one labelled row has {100 * dominant:.0f} % of the variance; the "
                "interval is not to be trusted until others like it are met"
            )
    usual = _intervals(value, error, terms, sample.answered, bounds, confidence)
    if latest is not None:
        by_latest = wald(value, latest, confidence, bounds)
        usual.append(dataclasses.replace(by_latest, method="wald-latest-proposal"))
    return Estimate(
        target=target,
        value=value,
        standard_error=error,
        confidence=confidence,
        intervals=(*default, *usual),
        warnings=tuple(warnings),
        effective_size=size,
        design_effect=design_effect(error, unit_variance, len(sample.question)),
        largest_share=dominant,
        largest_weight=heaviest,
    )


def _intervals(
    value: float,
    error: float,
    terms: FloatArray,
    draws: int,
    bounds: tuple[float, float],
    confidence: float,
) -> list[Interval]:
    """Return every interval there is, the default first; only Wald's if there is no variance."""
    plain = wald(value, error, confidence, bounds)
    if error == 0:
        return [plain]
    robust = student(value, error, confidence, bounds, degrees_of_freedom(terms, draws))
    if bounds != (0.0, 1.0):
        bounded = np.isfinite(bounds).all()
        return [robust, *([logit(value, error, confidence, bounds)] if bounded else []), plain]
    return [
        korn_graubard(value, error, draws, confidence),
        logit(value, error, confidence, bounds),
        wilson(value, error, draws, confidence),
        robust,
        plain,
    ]


def undefined(
    target: Target, confidence: float, method: str, reason: str, warn: bool = False
) -> Estimate:
    """Return the estimate of a number the data say nothing about."""
    nothing = whole_range(target.bounds, method)
    return Estimate(target, None, None, confidence, (nothing,), reason, (reason,) if warn else ())


def census(target: Target, value: float, confidence: float, evidence_name: str) -> Estimate:
    """Return the exact value of a number all of whose rows have labels.

    Args:
        target: what it is.
        value: g at the risk of the whole pool, NaN if undefined.
        confidence: in (0, 1).
        evidence_name: what the measure needs, in words.
    """
    if not np.isfinite(value):
        reason = f"{target.title} is undefined (0/0): the pool has no {evidence_name}"
        return undefined(target, confidence, "undefined", reason)
    exact = Interval(value, value, "design-based", "census")
    return Estimate(target, value, 0.0, confidence, (exact,))


def brief(estimates: Sequence[Estimate], most: int = 3) -> list[str]:
    """Return the warnings of estimates, those of a curve's many points summed up."""
    found: dict[str, list[str]] = {}
    for one in estimates:
        for warning in one.warnings:
            # A kind of warning is told by its first words, numbers apart.
            words = warning.replace(one.target.title, "").strip(": ").split()[:2]
            key = " ".join([one.target.measure, *(w for w in words if not w.isdecimal())])
            found.setdefault(key, []).append(warning)
    lines = []
    for warnings in found.values():
        lines.extend(warnings[:1] if len(warnings) > most else warnings)
        if len(warnings) > most:
            lines[-1] += f" (and {len(warnings) - 1} more of its kind)"
    return lines


def widest_half(estimates: Sequence[Estimate]) -> float | None:
    """Return half the width of the widest default interval on the whole pool.

    Returns:
        At least 0; None if an end is unknown, or a single row has most of the variance of an
        estimate, so that its interval is not to be relied on.
    """
    whole = [one for one in estimates if one.target.slice is None]
    if any((one.largest_share or 0) > DOMINANT for one in whole):
        return None
    halves = [(one.intervals[0].high - one.intervals[0].low) / 2 for one in whole]
    return max(halves) if all(map(math.isfinite, halves)) else None


def as_json(estimate: Estimate) -> dict[str, Any]:
    """Return the object that stands for an estimate in `estimate --json`."""
    target, default = estimate.target, estimate.intervals[0]
    told = {
        "measure": target.measure,
        "system": target.system,
        "against": None,
        "slice": target.slice,
        "threshold": target.threshold,
        "value": estimate.value,
        "standard_error": estimate.standard_error,
        "low": default.low,
        "high": default.high,
        "confidence": estimate.confidence,
        "method": default.method,
        "intervals": [dataclasses.asdict(interval) for interval in estimate.intervals],
        "reason": estimate.reason,
        "effective_size": estimate.effective_size,
        "design_effect": estimate.design_effect,
        "largest_share": estimate.largest_share,
        "largest_weight": estimate.largest_weight,
    }
    return finite(told)


def finite(result: Any) -> Any:
    """Return a result, nested as it may be, with None for every number that JSON does not have."""
    if isinstance(result, dict):
        return {key: finite(value) for key, value in result.items()}
    if isinstance(result, list | tuple):
        return [finite(value) for value in result]
    return None if isinstance(result, float) and not np.isfinite(result) else result
