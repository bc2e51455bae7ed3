"""Estimates of numbers from weighted rows: values and standard errors by the delta method."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.inference import policy
from evalsampling.inference.evidence import Gap
from evalsampling.inference.interval_methods import SampledNumber
from evalsampling.inference.ratio_bias import Bias
from evalsampling.inference.results import Estimate, Target, undefined
from evalsampling.inference.sample import WeightedSample
from evalsampling.inference.significance import Significance, two_sided_p_value
from evalsampling.inference.weights import design_effect, effective_size, largest_share

FloatArray = npt.NDArray[np.float64]

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
        bias: of the value; None where it is not known, or nil by design.
    """

    name: str
    gap: Gap | None = None
    expected_error: float | None = None
    bias: Bias | None = None


def estimate(
    targets: Sequence[Target],
    value: FloatArray,
    influence: FloatArray,
    sample: WeightedSample,
    evidence: Sequence[Evidence],
    confidence: float,
    methods: Sequence[str] = (),
) -> list[Estimate]:
    """Return estimates of numbers with their design-based intervals, by the delta method.

    Which interval is the default says `policy`. Comparisons have a p-value, by Student's test.

    Args:
        targets: m numbers.
        value: g(R^), shape (m,), NaN where undefined.
        influence: Dg(R^) l of the rows of the sample, shape (n, m).
        sample: n rows with their weights.
        evidence: of each target.
        confidence: in (0, 1).
        methods: names of the interval methods that are to stand beside the default.
    """
    if not sample.draws:
        reason = sample.empty_because or "no labels yet"
        return [undefined(t, confidence, "no labels", reason) for t in targets]
    size, heaviest = effective_size(sample.weight), largest_share(sample.weight)
    rounding = _ROUNDING * np.maximum(sample.mean(np.abs(influence)), np.abs(value))
    error = _without_rounding(np.sqrt(np.maximum(sample.variance(influence), 0.0)), rounding)
    latest = sample.latest_variance(influence)
    terms = sample.contributions(influence) ** 2 * (error > 0)
    # The variance that one random row would have, of the weighted sample's own estimate.
    unit = sample.mean(influence**2) - sample.mean(influence) ** 2
    unit = _without_rounding(unit, rounding**2)
    estimates = []
    for i, (target, known) in enumerate(zip(targets, evidence, strict=True)):
        if not np.isfinite(value[i]):
            reason = f"{target.title} is undefined (0/0): no {known.name} among the labelled rows"
            nothing = undefined(target, confidence, "undefined", reason, warn=True)
            estimates.append(dataclasses.replace(nothing, bias=known.bias))
            continue
        number = SampledNumber(
            target,
            float(value[i]),
            float(error[i]),
            terms[:, i],
            sample.answered,
            confidence,
            None if latest is None else float(np.sqrt(latest[i])),
            known.expected_error,
        )
        one = _estimate(number, known, methods)
        effect = design_effect(number.error, float(unit[i]), len(sample.question))
        estimates.append(
            dataclasses.replace(
                one,
                effective_size=size,
                design_effect=effect,
                largest_share=largest_share(number.terms),
                largest_weight=heaviest,
            )
        )
    return estimates


def _without_rounding(number: FloatArray, rounding: FloatArray) -> FloatArray:
    """Return numbers that are at least 0, and 0 where they are no more than rounding error."""
    return np.where(number <= rounding, 0.0, number)


def _estimate(number: SampledNumber, evidence: Evidence, methods: Sequence[str]) -> Estimate:
    """Return the estimate of a number, whose value may lie beyond the bounds: it is cut."""
    target = number.target
    gap = policy.gap_of(number, evidence.gap)
    tested = None
    if target.against is not None:
        tested = Significance(None)
        if gap is None:
            tested = Significance(_p_value(number), degrees=number.degrees)
    found = policy.by_design(number, gap, methods)
    return Estimate(
        target=target,
        value=found.value,
        standard_error=number.error,
        confidence=number.confidence,
        intervals=found.intervals,
        warnings=found.warnings,
        reliable=found.is_sound,
        of_value=found.of_value,
        bias=evidence.bias,
        significance=tested,
    )


def _p_value(number: SampledNumber) -> float | None:
    """Return that of the hypothesis that two systems are alike."""
    if not number.target.null:
        return two_sided_p_value(number.value / number.error, number.degrees)
    if number.value <= 0:
        return None
    return two_sided_p_value(np.log(number.value) * number.value / number.error, number.degrees)
