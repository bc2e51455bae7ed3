"""Estimates of numbers from weighted rows: values and standard errors by the delta method."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from evalsampling.inference import policy
from evalsampling.inference.evidence import Gap
from evalsampling.inference.interval_methods import SampledNumber
from evalsampling.inference.ratio_bias import Bias
from evalsampling.inference.results import Estimate, Target, census, undefined
from evalsampling.inference.sample import WeightedSample
from evalsampling.inference.significance import Significance, two_sided_p_value
from evalsampling.inference.weights import design_effect, effective_size, largest_share
from evalsampling.stats.arrays import FloatArray

_ROUNDING = 1e-7
"""A standard error below this share of the terms it is the difference of is rounding error: the
variance is computed to 16 digits, so its root to 8."""


@dataclasses.dataclass(frozen=True)
class Evidence:
    """Support for an estimate, or doubts about it, besides the weighted rows.

    Attributes:
        name: rows without which the number is undefined, in words: "positives".
        gap: why the labels allow no claim; None if they do.
        expected_error: standard error predicted from scores and labels; None if it is unknown.
        bias: bias of the value; None if it is unknown, or zero by design.
        is_hopeless: whether the number is undefined whatever the labels of the pool.
    """

    name: str
    gap: Gap | None = None
    expected_error: float | None = None
    bias: Bias | None = None
    is_hopeless: bool = False


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

    `policy` chooses the default interval. Comparisons have a p-value, by Student's test.

    Args:
        targets: the m numbers.
        value: g(R^), shape (m,), NaN where undefined.
        influence: Dg(R^) l of the rows of the sample, shape (n, m).
        sample: n rows with their weights.
        evidence: evidence for each target.
        confidence: in (0, 1).
        methods: names of the methods of further intervals.
    """
    if not sample.draws:
        reason = sample.empty_because or "no labels yet"
        return [
            census(target, math.nan, confidence, support.name)
            if support.is_hopeless
            else undefined(target, confidence, "no labels", reason)
            for target, support in zip(targets, evidence, strict=True)
        ]
    weight = sample.by_question(sample.weight)
    size, heaviest = effective_size(weight), largest_share(weight)
    rounding = _ROUNDING * np.maximum(sample.mean(np.abs(influence)), np.abs(value))
    error = _without_rounding(np.sqrt(np.maximum(sample.variance(influence), 0.0)), rounding)
    latest = sample.latest_variance(influence)
    terms = sample.by_question(sample.contributions(influence) ** 2) * (error > 0)
    # The variance that a single random row would have, estimated from the weighted sample.
    unit = sample.mean(influence**2) - sample.mean(influence) ** 2
    unit = _without_rounding(unit, rounding**2)
    estimates = []
    for i, (target, support) in enumerate(zip(targets, evidence, strict=True)):
        if support.is_hopeless:
            estimates.append(census(target, math.nan, confidence, support.name))
            continue
        if not np.isfinite(value[i]):
            reason = f"{target.title} is undefined (0/0): no {support.name} among the labelled rows"
            missing = undefined(target, confidence, "undefined", reason, warn=True)
            estimates.append(dataclasses.replace(missing, bias=support.bias))
            continue
        number = SampledNumber(
            target,
            float(value[i]),
            float(error[i]),
            terms[:, i],
            sample.answered,
            confidence,
            None if latest is None else float(np.sqrt(latest[i])),
            support.expected_error,
        )
        gap = policy.gap_of(number, support.gap)
        estimates.append(
            dataclasses.replace(
                policy.by_design(number, gap, methods),
                effective_size=size,
                design_effect=design_effect(number.error, float(unit[i]), len(weight)),
                largest_share=largest_share(number.terms),
                largest_weight=heaviest,
                bias=support.bias,
                significance=None if target.against is None else _significance(number, gap),
            )
        )
    return estimates


def _without_rounding(number: FloatArray, rounding: FloatArray) -> FloatArray:
    """Return numbers that are at least 0, and 0 where they are no more than rounding error."""
    return np.where(number <= rounding, 0.0, number)


def _significance(number: SampledNumber, gap: Gap | None) -> Significance:
    """Return the test of equality of two systems, without a p-value of a ratio of at most 0."""
    if gap is not None:
        return Significance(None)
    statistic = number.value / number.error
    if number.target.null:  # a ratio: the difference of logarithms
        if number.value <= 0:
            return Significance(None, degrees=number.degrees)
        statistic = np.log(number.value) * number.value / number.error
    return Significance(two_sided_p_value(statistic, number.degrees), degrees=number.degrees)
