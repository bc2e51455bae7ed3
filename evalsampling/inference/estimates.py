"""Estimates of measures on the pool or on a part of it: estimator, intervals, and one choice.

Of each number of a measure (`_on_domain`):

1. If every row that matters has a label, or labels decide nothing, the value is *exact*.
2. The *design-based* estimate is by the weights of labelled rows and the delta method
   (`by_weights`). Its interval is that of `default_method`: the whole range, with a warning, if
   labels allow no claim, because of a gap in the evidence, or as no labelled row contradicts the
   value. Behind it stand intervals asked for by name (`interval_methods`), and the band of a curve.
3. The *model-based* one is by draws of all labels (`model_based`), if there is a model of them
   that labels do not contradict.
4. `choose` says which interval comes first, the default one. It is the model-based one with
   `FEWEST_EVIDENCE` labelled rows of the scarcest share, if the draws are informative
   (`DrawnRange.is_informative`). Of precision, accuracy and other means of rows that are known it
   must also be the narrower one, and labels of two classes: there the design misses nothing, and a
   curve of one class does not know which of several others a row may be of. Where labels of a
   cluster are alike it need not: of two rough intervals the narrower misses more often. Last
   stands, of a difference, the interval that holds whenever one looks (`anytime`).

The default interval holds the value, and the measure's bound as long as no label excludes it.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from evalsampling.inference.anytime import Gamble, gamble_on
from evalsampling.inference.domains import Domain, ReportedDomains, known_value
from evalsampling.inference.estimand import Estimand
from evalsampling.inference.evidence import (
    FEWEST_EVIDENCE,
    NARROW,
    Evidence,
    Gap,
    SharesSeen,
    UnseenSide,
)
from evalsampling.inference.extremes import extreme_of, levels
from evalsampling.inference.inputs import EstimationInput
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
from evalsampling.inference.intervals import ANYTIME, SIMULTANEOUS, Interval, whole_range
from evalsampling.inference.linearisation import Linearisation
from evalsampling.inference.model_based import DrawnNumber, by_model
from evalsampling.inference.random_answers import with_random_answers
from evalsampling.inference.ratio_bias import biases, less_bias
from evalsampling.inference.regions import Ellipsoid, f_ellipsoid, simultaneous_bands
from evalsampling.inference.results import DEFINITION, Estimate, Target, census, undefined
from evalsampling.inference.sample import (
    WeightedSample,
    cluster_effect,
    design_effect,
    effective_size,
    largest_share,
)
from evalsampling.inference.significance import Significance, two_sided_p_value
from evalsampling.inference.unsearched import Unsearched
from evalsampling.measures.base import Measure, check_returns
from evalsampling.measures.extremes import Extreme
from evalsampling.measures.on_cells import cells_adding_to
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.history import Votes
from evalsampling.stats.outputs import Outputs

BANDS = "approximate-multiplier-bootstrap"
"""Method of the bands: their simultaneous coverage is below nominal (see docs/methods.md)."""

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


def estimate_measure(
    measure: Measure, inputs: EstimationInput, scope: ReportedDomains, aimed_at: bool
) -> list[Estimate]:
    """Return the estimates of one measure on every domain of a scope."""
    if isinstance(measure, Extreme):
        return [_extreme(measure, inputs, scope, aimed_at)]
    check_returns(measure.plain, inputs.outputs, inputs.label)
    adding = cells_adding_to(measure, inputs.table)
    estimates: list[Estimate] = []
    for domain in scope.domains_of(measure):
        estimand = Estimand(measure, inputs, domain, aimed_at)
        left = int(estimand.unlabelled[adding].sum())
        unlabelled = None if inputs.stochastic else left
        for estimate in _on_domain(estimand, scope, adding, left):
            estimates.append(dataclasses.replace(estimate, unlabelled=unlabelled))
    return estimates


def _on_domain(
    estimand: Estimand, scope: ReportedDomains, adding: BoolArray, left: int
) -> list[Estimate]:
    """Return the estimates on one domain, where ``left`` rows that may add have no label."""
    inputs, domain, confidence = estimand.inputs, estimand.domain, estimand.inputs.confidence
    measure, table = estimand.measure, estimand.inputs.table
    targets = scope.targets(measure, domain)
    if inputs.all_known(adding, domain):
        exact = known_value(measure, table, inputs.history, domain).tolist()
        needed = measure.undefined_without
        return [census(*pair, confidence, needed) for pair in zip(targets, exact, strict=True)]
    if not estimand.is_pool and not estimand.inside.any():
        reason = inputs.sample.empty_because or f"no labelled row where {domain.title}"
        return [undefined(t, confidence, "no labels", reason) for t in targets]
    sample, evidence = inputs.sample, estimand.evidence
    value, influence = estimand.linearised
    rows = int(domain.rows(table)[adding].sum())
    open_share = left / max(rows, 1) if measure.is_of_known_rows else 0.0
    of_design = by_weights(
        targets, value, influence, sample, evidence, confidence, scope.methods, open_share
    )
    bands = estimand.is_pool and scope.bands_seed is not None
    if bands and len(targets) > 1:
        seed = [scope.bands_seed or 0, len(inputs.history.labelled)]
        of_design = _with_bands(of_design, estimand, seed)
    fixed = estimand.by_definition
    if of_design[0].value is not None and fixed is not None:
        return [census(targets[0], fixed, confidence, measure.undefined_without, DEFINITION)]
    of_model = by_model(of_design, estimand, bands)
    if len(targets) > 1 or not estimand.is_pool:
        return list(map(choose, of_design, of_model))
    is_value = targets[0].against is None and of_design[0].value is not None
    return [
        choose(
            of_design[0],
            of_model[0],
            gamble_on(measure, inputs) if scope.anytime else None,
            estimand.unsearched if is_value else None,
        )
    ]


def _extreme(
    measure: Extreme, inputs: EstimationInput, scope: ReportedDomains, aimed_at: bool
) -> Estimate:
    """Return the estimate of the least or greatest of slices, on the pool: `inference.extremes`."""
    parts, alone = measure.parts, ReportedDomains(systems=scope.systems, anytime=False)
    near, far = (
        [
            estimate
            for part in parts
            for estimate in estimate_measure(
                part, dataclasses.replace(inputs, confidence=level), alone, aimed_at
            )
        ]
        for level in levels(inputs.confidence, len(parts))
    )
    (target,) = alone.targets(measure, Domain())
    return extreme_of(measure, target, near, far, inputs.confidence)


def by_weights(
    targets: Sequence[Target],
    value: FloatArray,
    influence: FloatArray,
    sample: WeightedSample,
    evidence: Sequence[Evidence],
    confidence: float,
    methods: Sequence[str] = (),
    open_share: float = 1.0,
) -> list[Estimate]:
    """Return the design-based estimates of numbers, by the delta method.

    `value`: g(R^), shape (m,), NaN where undefined. `influence`: Dg(R^) l of the rows, shape (n,
    m). `open_share`: see `SampledNumber`.
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
        unseen, in_clusters = support.unseen, None if effect is None else float(effect[i])
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
            open_share,
            unseen.reach if unseen else 0.0,
        )
        gap = _NO_VARIANCE if number.error == 0 else support.gap
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
                notes=_notes(number, float(value[i]), in_clusters, unseen),
                effective_size=size,
                design_effect=design_effect(number.error, float(unit[i]), len(weight)),
                largest_share=largest_share(number.terms),
                largest_weight=heaviest,
                cluster_effect=in_clusters,
                bias=support.bias,
                significance=_test(number, gap or unseen) if is_compared else None,
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
    low, high = interval.low - number.reach, interval.high + number.reach
    low, high = max(low, bounds[0]), min(high, bounds[1])
    interval = dataclasses.replace(interval, low=low, high=high)
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
    expected = 2 * number.z * number.expected_error
    width = interval.high - interval.low
    is_one_row = interval.method == "student" and largest_share(number.terms) > DOMINANT
    if width >= (NARROW_AND_SYMMETRIC if is_one_row else NARROW) * expected:
        return None
    low, high = number.bounds
    likely = min(expected, high - low)
    return (
        f"its interval is {width:.2g} wide, where scores and labels make {likely:.2g} likely. "
        "Rows that weigh much are hardly ever drawn, and few or none have a label: do not rely on "
        "it"
    )


def _notes(
    number: SampledNumber, value: float, effect: float | None, unseen: UnseenSide | None
) -> tuple[str, ...]:
    """Return notes on a value that was cut, labels alike in clusters, and a side not seen."""
    notes = []
    if number.value != value:
        cut = f"the weighted estimate {value:.4g} lies outside its range and was cut"
        notes.append(f"{cut}; more labels will mend that")
    if effect is not None and effect >= NOTED_EFFECT:
        factor = f"{effect:.2g} times that of rows by themselves"
        notes.append(f"labels of a cluster are alike, so that its variance is {factor}")
    if unseen is not None:
        notes.append(unseen.words)
    return tuple(f"{number.target.title}: {note}" for note in notes)


def _test(number: SampledNumber, gap: Gap | UnseenSide | None) -> Significance:
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


def _with_bands(
    estimates: Sequence[Estimate], estimand: Estimand, seed: Sequence[int]
) -> list[Estimate]:
    """Return the estimates, each with its simultaneous interval."""
    value, influence = estimand.linearised
    gaps = estimand.shares.gaps(fewest_of_each=FEWEST_EVIDENCE)
    solid = [each.claims and gap is None for each, gap in zip(estimates, gaps, strict=True)]
    contributions = estimand.inputs.sample.contributions(influence)
    contributions = np.where(np.isfinite(contributions), contributions, 0.0)
    low, high = np.array([each.target.bounds for each in estimates], dtype=np.float64).T
    bands = simultaneous_bands(
        np.where(solid, value, np.nan),
        contributions,
        estimand.inputs.confidence,
        (low, high),
        np.random.Generator(np.random.PCG64(list(seed))),
    )
    return [
        each.with_interval(Interval(low, high, SIMULTANEOUS, BANDS))
        for each, low, high in zip(estimates, bands.low.tolist(), bands.high.tolist(), strict=True)
    ]


def choose(
    design: Estimate,
    model: DrawnNumber,
    gamble: Gamble | None = None,
    unsearched: Unsearched | None = None,
) -> Estimate:
    """Return the estimate of a number with all its intervals, the default one first."""
    target, design = design.target, model.design  # That of a ratio is of its logarithm.
    intervals, by_model, bounds = list(design.intervals), model.interval, design.target.bounds
    leads = by_model is not None and leads_design(model, by_model)
    if by_model is not None:
        intervals.insert(0 if leads else len(intervals), by_model)
    if leads:
        intervals += model.band
    tested = model.test if leads else design.significance
    if gamble is not None:
        intervals.append(Interval(*gamble.interval(design.confidence, bounds), ANYTIME, "betting"))
        tested = dataclasses.replace(tested or Significance(None), anytime_p_value=gamble.p_value())
    estimate = dataclasses.replace(
        design,
        value=model.value,
        standard_error=model.error,
        intervals=tuple(intervals),
        significance=tested,
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
    is_narrower = model.is_binary and interval.high - interval.low < design.high - design.low
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


def take_nil(measure: Measure, inputs: EstimationInput, scope: ReportedDomains) -> list[Estimate]:
    """Return the exact difference, 0 on every domain, of systems with the same predictions."""
    needed = measure.undefined_without
    targets = scope.all_targets([measure])
    return [census(target, 0.0, inputs.confidence, needed) for target in targets]


def refuse(
    measure: Measure, method: str, reason: str, scope: ReportedDomains, confidence: float
) -> list[Estimate]:
    """Return undefined estimates of a measure that cannot be estimated: why, in short and long."""
    targets = scope.all_targets([measure])
    return [undefined(target, confidence, method, reason, warn=True) for target in targets]


def point_estimate(measure: Measure, inputs: EstimationInput) -> FloatArray:
    """Return the values g(R^) of a measure on the pool, no intervals: (m,), NaN if undefined."""
    weight = inputs.sample.weight
    if inputs.sample.empty_because is not None:
        return np.full(len(measure.components), np.nan)
    if inputs.correct_bias or inputs.response is not None:
        return Estimand(measure, inputs).linearised[0]
    if inputs.self_normalised and inputs.covers_pool and len(weight):
        weight = weight / weight.sum()
    return measure.value(Linearisation(measure, inputs).risk(weight))


def estimate_region(measure: Measure, inputs: EstimationInput) -> Ellipsoid:
    """Return the joint design-based confidence region of [MR] section 3 of a measure's components.

    Of the sampler `calibrated` its centre is the difference estimator. If all rows that matter have
    labels, the region is the exact value.
    """
    if inputs.all_known(cells_adding_to(measure, inputs.table), Domain()):
        exact = known_value(measure, inputs.table, inputs.history, Domain())
        none = np.zeros((len(exact), len(exact)))
        return f_ellipsoid(exact, none, inputs.sample.draws, inputs.confidence)
    estimand = Estimand(measure, inputs)
    targets = [Target(c.name, c.bounds, threshold=c.threshold) for c in measure.components]
    sample, (value, influence) = inputs.sample, estimand.linearised
    for each in by_weights(targets, value, influence, sample, estimand.evidence, inputs.confidence):
        if not each.claims:
            raise ValueError("; ".join(each.warnings) or each.reason or each.measure)
    covariance = sample.covariance(influence)
    terms = sample.draws if sample.cluster is None else sample.units
    return f_ellipsoid(value, covariance, terms, inputs.confidence)


def estimate_from_inclusion(
    measure: Measure,
    outputs: Outputs,
    label: IntArray,
    inclusion: FloatArray,
    confidence: float = 0.95,
    correct_bias: bool = False,
    stochastic: bool = False,
    methods: Sequence[str] = (),
    systems: tuple[str | None, ...] = (None,),
) -> list[Estimate]:
    """Return the estimates of the components of a measure, by the ratio estimator.

    [Y] *Sample Efficient Model Evaluation*, 2021, eq. 18, 28 and 24. Rows outside the sample are
    not needed, so no interval is model-based and no estimate a census. Outputs and class codes are
    those of n sampled rows, ``inclusion`` the probability of each, in (0, 1].

    `stochastic`: whether answers about the same row may differ. The variance is then that of [Y]
    eq. 27, of one answer a row without its second term: too large, never too small.
    """
    votes, questions = Votes.of_labels(label), np.arange(len(label))
    n = max(float(np.sum(1 / inclusion)), 1.0)
    sample = WeightedSample.without_replacement(questions, inclusion, n).clustered(outputs.cluster)
    if stochastic:
        unknown = np.full(len(label), np.inf)
        sample = with_random_answers(sample, votes, inclusion, questions, unknown)
    risk = measure.mean_loss(outputs, label, sample.weight)
    influence = measure.influence(outputs, label, risk)
    influence = influence - sample.weight @ influence
    everywhere = np.ones(len(label), dtype=np.bool_)
    bias_of_parts = biases(measure, outputs, votes, sample, everywhere, normalised=True)
    value = less_bias(measure.value(risk), bias_of_parts) if correct_bias else measure.value(risk)
    shares, cluster = measure.shares(outputs, label), sample.cluster
    units = (questions, False) if cluster is None else (cluster, True)
    gaps = SharesSeen(len(measure.components), shares, shares, *units).gaps()
    evidence = [
        Evidence(measure.undefined_without, gap, bias=bias)
        for gap, bias in zip(gaps, bias_of_parts, strict=True)
    ]
    targets = ReportedDomains(systems=systems).targets(measure, Domain())
    open_share = float(measure.is_of_known_rows)
    return by_weights(targets, value, influence, sample, evidence, confidence, methods, open_share)
