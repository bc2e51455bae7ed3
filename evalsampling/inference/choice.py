"""The estimate of a number: its intervals, and the choice of the default one among them.

A number has a design-based interval, and a model-based one if there is a model of the labels.
Behind them stand those requested by name (`interval_methods`), the bands of a curve, and of a
difference the one that holds whenever one looks (`anytime`). `choose` says which comes first.

1. *Design-based* (`by_design`), by `default_method`. The whole range, with a warning, if labels
   allow no claim: because of a gap in the evidence, or as no labelled row contradicts the value.
2. *Model-based* (`model_based`), if there is a model of the labels that they do not contradict: it
   comes before the design-based one with `FEWEST_EVIDENCE` labelled rows of the scarcest share, if
   the draws are informative (`DrawnRange.is_informative`). Of precision, accuracy and other means
   of rows that are known it must also be the narrower one: there the design misses nothing. Where
   labels of a cluster are alike it need not: of two rough intervals the narrower misses more often.
3. The default interval holds the value, and the measure's bound as long as no label excludes it.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import scipy

from evalsampling.inference import model_based
from evalsampling.inference.anytime import BETTING, Gamble
from evalsampling.inference.anytime import KIND as ANYTIME
from evalsampling.inference.class_rates import ClassRates
from evalsampling.inference.clusters import cluster_effect
from evalsampling.inference.evidence import FEWEST_EVIDENCE, NARROW, Evidence, Gap
from evalsampling.inference.interval_methods import (
    BY_NAME,
    IntervalMethod,
    SampledNumber,
    by_beta,
    by_korn_graubard,
    by_log_student,
    by_logit,
    by_student,
)
from evalsampling.inference.intervals import Interval, whole_range
from evalsampling.inference.model_based import DrawnNumber
from evalsampling.inference.results import (
    EXACT,
    Estimate,
    ReportedInterval,
    Target,
    census,
    undefined,
)
from evalsampling.inference.sample import (
    WeightedSample,
    design_effect,
    effective_size,
    largest_share,
)
from evalsampling.inference.significance import Significance, two_sided_p_value
from evalsampling.inference.unsearched import Unsearched
from evalsampling.stats.arrays import FloatArray

NARROW_AND_SYMMETRIC = 0.5
"""`NARROW` for a symmetric interval if one row has more than `DOMINANT` of the variance."""

DOMINANT = 0.2
"""Share of the variance above which a single row decides how wide an interval is."""

FAR_OFF = 0.2
"""Distance of a value from the median of draws, as a share of its range, that brings a note."""

NOTED_EFFECT = 1.1
"""Effect of clusters on a variance from which on it is noted."""

_NO_VARIANCE = Gap(
    "zero variance",
    "no labelled row contradicts this value, so its variance is estimated to be zero",
)

_ROUNDING = 1e-7
"""A standard error below this share of the terms it is the difference of is rounding error: the
variance is computed to 16 digits, so its root to 8."""

ASSUMES: Mapping[str, str] = {
    model_based.KIND: "holds if positives become likelier as the score rises, but for a few that "
    "score like negatives",
    "design-based": "rests on how rows were drawn; it knows nothing of positives of a kind that "
    "has no label",
}
"""Kinds of intervals, in the order of reports, each with its assumptions in words."""

_OF_STRATA = (
    "holds for rows drawn alike among all that are predicted alike; no score and no `hidden` "
    "enters it"
)
"""What the model of `ClassRates` assumes."""


def choose(
    design: Estimate,
    model: DrawnNumber | None = None,
    gamble: Gamble | None = None,
    unsearched: Unsearched | None = None,
) -> Estimate:
    """Return the estimate of a number with all its intervals, the default one first."""
    model, target = model or DrawnNumber(design), design.target
    design = model.design
    intervals, by_model, bounds = list(design.intervals), model.interval, design.target.bounds
    leads = by_model is not None and leads_design(model, by_model)
    if by_model is not None:
        intervals.insert(0 if leads else len(intervals), by_model)
    if leads:
        intervals += model.band
    if gamble is not None:
        intervals.append(Interval(*gamble.interval(design.confidence, bounds), ANYTIME, BETTING))
    estimate = dataclasses.replace(
        design,
        value=model.value,
        standard_error=model.error,
        intervals=tuple(intervals),
        significance=_tests(model.test if leads else design.significance, gamble),
        warnings=() if leads else design.warnings,
        notes=(*design.notes, *model.notes, *(_far_off(model) if leads else ())),
        reliable=(intervals[0].low, intervals[0].high) != bounds if leads else design.reliable,
        sensitivity=model.sensitivity if leads else (),
        without_unmet=model.without_unmet if leads else None,
        unsearched=unsearched,
    )
    return estimate if design.target == target else estimate.rescaled(np.exp, target.bounds)


def leads_design(model: DrawnNumber, interval: Interval) -> bool:
    """Return whether a model-based interval comes before the design-based one."""
    design = model.design
    is_narrower = interval.high - interval.low < design.high - design.low
    shares_clusters = (design.cluster_effect or 1.0) > 1
    is_needed = not model.of_known_rows or is_narrower or shares_clusters
    is_needed |= not (design.claims and design.reliable)
    return is_needed and model.evidence >= FEWEST_EVIDENCE and model.known is not None


def _far_off(model: DrawnNumber) -> list[str]:
    """Return a note if a value that claims nothing is far from what the model makes likely."""
    value, drawn, (least, greatest) = model.value, model.known, model.design.target.bounds
    if value is None or drawn is None or model.design.claims:
        return []
    if abs(value - drawn.median) <= FAR_OFF * (greatest - least):
        return []
    return [
        f"{model.design.target.title}: {value:.4g} is the value of the labelled rows, and too few "
        f"of a kind are among them. Scores and labels make about {drawn.median:.4g} likely: go by "
        "the interval"
    ]


def _tests(tested: Significance | None, gamble: Gamble | None) -> Significance | None:
    """Return the test that goes with the first interval, with that of a gamble, if there is one."""
    if gamble is None:
        return tested
    return dataclasses.replace(tested or Significance(None), anytime_p_value=gamble.p_value())


def by_weights(
    targets: Sequence[Target],
    value: FloatArray,
    influence: FloatArray,
    sample: WeightedSample,
    evidence: Sequence[Evidence],
    confidence: float,
    methods: Sequence[str] = (),
) -> list[Estimate]:
    """Return the design-based estimates of numbers, by the delta method.

    `value`: g(R^), shape (m,), NaN where undefined. `influence`: Dg(R^) l of the rows, shape (n,
    m).
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
    effect = cluster_effect(sample, influence, confidence)
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
            estimates.append(
                undefined(target, confidence, "undefined", reason, warn=True, bias=support.bias)
            )
            continue
        number = SampledNumber(
            target,
            min(max(float(value[i]), target.bounds[0]), target.bounds[1]),
            float(error[i]),
            terms[:, i],
            sample.answered,
            confidence,
            None if latest is None else float(np.sqrt(latest[i])),
            support.expected_error,
            sample.units,
        )
        gap = support.gap
        if number.error == 0:
            gap = _NO_VARIANCE
        default, warnings = by_design(number, gap)
        asked = (BY_NAME[name](number) for name in methods)
        others = (each for each in asked if each is not None and each.method != default.method)
        is_compared = target.against is not None
        estimates.append(
            Estimate(
                target,
                number.value,
                number.error,
                confidence,
                (default, *others),
                warnings=warnings,
                reliable=not warnings,
                notes=(*_cut(number, float(value[i])), *_alike(number, effect, i)),
                effective_size=size,
                design_effect=design_effect(number.error, float(unit[i]), len(weight)),
                largest_share=largest_share(number.terms),
                largest_weight=heaviest,
                cluster_effect=None if effect is None else float(effect[i]),
                bias=support.bias,
                significance=_test(number, gap) if is_compared else None,
            )
        )
    return estimates


def by_design(number: SampledNumber, gap: Gap | None) -> tuple[Interval, tuple[str, ...]]:
    """Return the design-based interval of a number, and why it is not to be relied on, if so."""
    title, bounds = number.target.title, number.bounds
    if gap is not None:
        words = f"{title}: {gap.words}; the interval is the whole range of the measure"
        return whole_range(bounds, gap.method), (words,)
    interval = default_method(number)(number)
    assert interval is not None, "there is an error"
    doubt = doubt_about(interval, number)
    if doubt is None and (interval.low, interval.high) == bounds:
        doubt = "its interval is the whole range of the measure: it takes more labels"
    return interval, () if doubt is None else (f"{title}: {doubt}",)


def default_method(number: SampledNumber) -> IntervalMethod:
    """Return the method of the design-based interval of a number with a standard error.

    Ratios of two systems, and mean squared errors, have no upper bound; shares of pairs of a row
    and a label are of more than the draws; bounds of correlations are symmetric about 0.
    """
    low, high = number.bounds
    if (low, high) == (0.0, np.inf) and number.value > 0:
        return by_log_student
    if number.target.against is not None or not np.isfinite([low, high]).all():
        return by_student
    if number.target.of_pairs:
        return by_beta
    if (low, high) == (0.0, 1.0):
        return by_korn_graubard
    is_correlation = low == -high and abs(number.value) < high
    return by_logit if is_correlation else by_student


def doubt_about(interval: Interval, number: SampledNumber) -> str | None:
    """Return why an interval is not reliable, in words; None if it is.

    A symmetric interval, as losses have, ignores that a few extreme rows may make up most of a
    mean: if one labelled row decides its width, that must be nearer the expected one.
    """
    if number.expected_error is None:
        return None
    reach = float(scipy.special.ndtri((1 + number.confidence) / 2))
    expected = 2 * reach * number.expected_error
    width = interval.high - interval.low
    is_one_row = interval.method == "student" and largest_share(number.terms) > DOMINANT
    if width >= (NARROW_AND_SYMMETRIC if is_one_row else NARROW) * expected:
        return None
    return (
        f"its interval is {width:.2g} wide, where scores and labels make {expected:.2g} likely. "
        "Rows that weigh much are hardly ever drawn, and few or none have a label: do not rely on "
        "it"
    )


def _cut(number: SampledNumber, value: float) -> tuple[str, ...]:
    """Return a note if an estimated value was cut to the bounds of its number."""
    if number.value == value:
        return ()
    return (
        f"{number.target.title}: the weighted estimate {value:.4g} lies outside its range and was "
        "cut; more labels will mend that",
    )


def _alike(number: SampledNumber, effect: FloatArray | None, place: int) -> tuple[str, ...]:
    """Return a note if labels of a cluster are seen to be alike."""
    if effect is None or effect[place] < NOTED_EFFECT:
        return ()
    return (
        f"{number.target.title}: labels of a cluster are alike, so that its variance is "
        f"{effect[place]:.2g} times that of rows by themselves",
    )


def _test(number: SampledNumber, gap: Gap | None) -> Significance:
    """Return the test of equality of two systems, without a p-value of a ratio of 0."""
    value = number.value
    if gap is not None:
        return Significance(None)
    statistic = value / number.error
    if number.target.null:  # a ratio: the difference of logarithms
        if value <= 0:
            return Significance(None, degrees=number.degrees)
        statistic = np.log(value) * value / number.error
    return Significance(two_sided_p_value(statistic, number.degrees), degrees=number.degrees)


def _without_rounding(number: FloatArray, rounding: FloatArray) -> FloatArray:
    """Return numbers that are at least 0, and 0 where they are no more than rounding error."""
    return np.where(number <= rounding, 0.0, number)


def rested_on(intervals: Iterable[Interval | ReportedInterval]) -> dict[str, str]:
    """Return what intervals assume, in words, by kind; exact numbers assume nothing."""
    return assumed(each for each in intervals if each.method not in EXACT)


def assumed(intervals: Iterable[Interval | ReportedInterval]) -> dict[str, str]:
    """Return the assumptions of the kinds of some intervals, in words, by kind, if any."""
    methods = {interval.kind: interval.method for interval in intervals}
    words = {kind: words for kind, words in ASSUMES.items() if kind in methods}
    if methods.get(model_based.KIND, "").startswith(ClassRates.method):
        words[model_based.KIND] = _OF_STRATA
    return words
