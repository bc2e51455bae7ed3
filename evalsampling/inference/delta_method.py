"""Estimates with design-based intervals by the delta method, or the reason why there are none."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy

from evalsampling.inference.evidence import Gap
from evalsampling.inference.intervals import (
    Interval,
    degrees_of_freedom,
    korn_graubard,
    log_student,
    logit,
    student,
    wald,
    whole_range,
    wilson,
)
from evalsampling.inference.results import Estimate, Target, undefined
from evalsampling.inference.sample import WeightedSample
from evalsampling.inference.significance import Significance, two_sided_p_value
from evalsampling.inference.weights import design_effect, effective_size, largest_share

FloatArray = npt.NDArray[np.float64]

NARROW = 0.15
"""Share of the expected width below which an interval is not to be relied on."""

NARROW_AND_SYMMETRIC = 0.5
"""The same for a symmetric interval where one row has more than `DOMINANT` of the variance."""

DOMINANT = 0.2
"""Share of the variance from which on one row decides how wide an interval is."""

_ROUNDING = 1e-7
"""A standard error below this share of the terms it is the difference of is rounding error: the
variance is computed to 16 digits, so its root to 8."""


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What is known, beside the weighted rows themselves, of how far an estimate is to be trusted.

    Attributes:
        name: rows without which the number is undefined, in words: "positives".
        gap: why the labels allow no claim; None if they do.
        expected_error: standard error that scores and labels make expect; None if that is unknown.
    """

    name: str
    gap: Gap | None = None
    expected_error: float | None = None


@dataclasses.dataclass(frozen=True)
class Moments:
    """What the weighted rows say of one number.

    Attributes:
        value: estimate, NaN where undefined.
        error: standard error; 0 where it is no more than rounding.
        terms: shape (n,): squared contributions of the rows to it.
        latest_error: the same under the latest proposal, if there is one.
        unit_variance: that one random row would have.
    """

    value: float
    error: float
    terms: FloatArray
    latest_error: float | None
    unit_variance: float


def estimate(
    targets: Sequence[Target],
    value: FloatArray,
    influence: FloatArray,
    sample: WeightedSample,
    evidence: Sequence[Evidence],
    confidence: float,
) -> list[Estimate]:
    """Turn an estimated risk into estimates with intervals, by the delta method.

    The default is the Korn-Graubard interval for measures in [0, 1], Fisher's z (the normal one on
    the logit scale) for correlations, whose bounds lie evenly about 0, Student's on the logarithmic
    scale for what is above 0 and has no upper bound, as ratios of two systems and mean squared
    errors, and Student's for all others, differences of two systems among
    them; the others stand beside it. Comparisons have a p-value, by Student's test.
    Where the labels allow no claim, because of a gap in the evidence or because the variance is
    estimated to be zero, the default is the whole range of the measure, with a warning in words.

    Args:
        targets: m numbers.
        value: g(R^), shape (m,), NaN where undefined.
        influence: Dg(R^) l of the rows of the sample, shape (n, m).
        sample: n rows with their weights.
        evidence: of each target.
        confidence: in (0, 1).
    """
    if not sample.draws:
        reason = sample.empty_because or "no labels yet"
        return [undefined(t, confidence, "no labels", reason) for t in targets]
    size, heaviest = effective_size(sample.weight), largest_share(sample.weight)
    estimates = []
    for target, of_one, known in zip(
        targets, _moments(value, influence, sample), evidence, strict=True
    ):
        if not np.isfinite(of_one.value):
            reason = f"{target.title} is undefined (0/0): no {known.name} among the labelled rows"
            estimates.append(undefined(target, confidence, "undefined", reason, warn=True))
            continue
        one = _with_intervals(target, of_one, sample.answered, known, confidence)
        effect = design_effect(of_one.error, of_one.unit_variance, len(sample.question))
        estimates.append(
            dataclasses.replace(
                one,
                effective_size=size,
                design_effect=effect,
                largest_share=largest_share(of_one.terms),
                largest_weight=heaviest,
            )
        )
    return estimates


def cautious_errors(
    influence: FloatArray,
    sample: WeightedSample,
    evidence: Sequence[Evidence],
    confidence: float,
) -> list[float]:
    """Return standard errors that make up for how little the estimated ones rest on.

    Where few rows carry a variance it is itself uncertain: the error is larger by Student's
    quantile over the normal one, as Korn and Graubard have it for few degrees of freedom. And where
    rows that weigh much were not met it is too small: it is no less than what scores and labels
    make expect.

    Args:
        influence: Dg(R^) l of the rows of the sample, shape (n, m).
        sample: n rows with their weights.
        evidence: of each of m numbers.
        confidence: in (0, 1).
    """
    level = (1 + confidence) / 2
    squares = sample.contributions(influence).T ** 2
    error = np.sqrt(np.maximum(sample.variance(influence), 0.0))
    degrees = np.array([degrees_of_freedom(of_one, max(sample.answered, 1)) for of_one in squares])
    error = error * scipy.special.stdtrit(degrees, level) / scipy.special.ndtri(level)
    return np.fmax(error, [one.expected_error or 0.0 for one in evidence]).tolist()


def _moments(value: FloatArray, influence: FloatArray, sample: WeightedSample) -> list[Moments]:
    """Return what the weighted rows say of each number."""
    scale = np.maximum(sample.mean(np.abs(influence)), np.abs(value))
    error = np.sqrt(np.maximum(sample.variance(influence), 0.0))
    error = np.where(error <= _ROUNDING * scale, 0.0, error)
    latest = sample.latest_variance(influence)
    terms = sample.contributions(influence) ** 2
    # The variance that one random row would have, of the weighted sample's own estimate.
    unit = sample.mean(influence**2) - sample.mean(influence) ** 2
    return [
        Moments(
            value=float(value[i]),
            error=float(error[i]),
            terms=terms[:, i],
            latest_error=None if latest is None else float(np.sqrt(latest[i])),
            unit_variance=float(unit[i]),
        )
        for i in range(len(value))
    ]


def _with_intervals(
    target: Target, moments: Moments, draws: int, evidence: Evidence, confidence: float
) -> Estimate:
    """Return an estimate with every interval there is and what to know before trusting them."""
    bounds, value = target.bounds, moments.value
    warnings = []
    if not bounds[0] <= value <= bounds[1]:
        warnings.append(
            f"{target.title}: the weighted estimate {value:.4g} lies outside its range and was "
            "cut; more labels will mend that"
        )
        value = min(max(value, bounds[0]), bounds[1])
    of_value = tuple(warnings)
    gap, doubt, tested = _gap(moments, evidence), None, None
    intervals = _intervals(target, value, moments, draws, confidence)
    if target.against is not None:
        tested = Significance(None)
        if not gap:
            degrees = degrees_of_freedom(moments.terms, draws)
            tested = Significance(_p_value(target, moments, degrees), degrees=degrees)
    if gap:
        intervals = [whole_range(bounds, gap.method), *intervals]
        warnings.append(
            f"{target.title}: {gap.words}; the interval is the whole range of the measure"
        )
    else:
        doubt = _doubt(intervals[0], moments, evidence, confidence)
        warnings += [f"{target.title}: {doubt}"] if doubt else []
    claims = (intervals[0].low, intervals[0].high) != bounds
    if not (claims or warnings):
        words = "its interval is the whole range of the measure: it takes more labels"
        warnings.append(f"{target.title}: {words}")
    return Estimate(
        target=target,
        value=value,
        standard_error=moments.error,
        confidence=confidence,
        intervals=tuple(intervals),
        warnings=tuple(warnings),
        reliable=claims and not (gap or doubt),
        of_value=of_value,
        significance=tested,
    )


def _p_value(target: Target, moments: Moments, degrees: float) -> float | None:
    """Return that of the hypothesis that two systems are alike."""
    if not target.null:
        return two_sided_p_value(moments.value / moments.error, degrees)
    if moments.value <= 0:
        return None
    return two_sided_p_value(np.log(moments.value) * moments.value / moments.error, degrees)


def _gap(moments: Moments, evidence: Evidence) -> Gap | None:
    """Return why the labels allow no claim, if they do not."""
    if moments.error == 0:
        words = "no labelled row contradicts this value, so its variance is estimated to be zero"
        return Gap("zero variance", words)
    return evidence.gap


def _doubt(
    interval: Interval, moments: Moments, evidence: Evidence, confidence: float
) -> str | None:
    """Return why an interval is not to be relied on, in words, if it is not.

    A symmetric interval, as losses have, does not know that a few rows far off make up most of a
    mean: where one row that was met decides its width, it has to be nearer the expected one.
    """
    if evidence.expected_error is None:
        return None
    expected = 2 * float(scipy.special.ndtri((1 + confidence) / 2)) * evidence.expected_error
    width = interval.high - interval.low
    is_one_row = interval.method == "student" and largest_share(moments.terms) > DOMINANT
    if width >= (NARROW_AND_SYMMETRIC if is_one_row else NARROW) * expected:
        return None
    return (
        f"its interval is {width:.2g} wide, scores and labels make expect {expected:.2g}: rows "
        "that weigh much are hardly ever drawn, and none or few were met, so do not rely on it"
    )


def _intervals(
    target: Target, value: float, moments: Moments, draws: int, confidence: float
) -> list[Interval]:
    """Return every interval there is, the default first; only Wald's if there is no variance."""
    bounds, error = target.bounds, moments.error
    plain = [wald(value, error, confidence, bounds)]
    if moments.latest_error is not None:
        latest = wald(value, moments.latest_error, confidence, bounds)
        plain.append(dataclasses.replace(latest, method="wald-latest-proposal"))
    if error == 0:
        return plain
    degrees = degrees_of_freedom(moments.terms, draws)
    robust = student(value, error, confidence, bounds, degrees)
    if bounds == (0.0, np.inf) and value > 0:
        return [log_student(value, error, confidence, degrees), robust, *plain]
    if target.against is not None:
        return [robust, *plain]
    if not np.isfinite(bounds).all():
        return [robust, *plain]
    on_logits = logit(value, error, confidence, bounds)
    if bounds != (0.0, 1.0):
        is_correlation = bounds[0] == -bounds[1] and abs(value) < bounds[1]
        return [*([on_logits, robust] if is_correlation else [robust, on_logits]), *plain]
    return [
        korn_graubard(value, error, draws, confidence),
        on_logits,
        wilson(value, error, draws, confidence),
        robust,
        *plain,
    ]
