"""Estimates of measures on the pool or on a part of it, with all their intervals."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from evalsampling.inference.anytime import gamble_on
from evalsampling.inference.choice import by_weights, choose
from evalsampling.inference.domains import Domain, ReportedDomains, known_value
from evalsampling.inference.estimand import Estimand
from evalsampling.inference.evidence import FEWEST_EVIDENCE
from evalsampling.inference.extremes import extreme_of, levels
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.intervals import SIMULTANEOUS, Interval
from evalsampling.inference.linearisation import Linearisation, OwnProbabilities
from evalsampling.inference.model_based import DrawnNumber, by_model
from evalsampling.inference.regions import (
    Ellipsoid,
    f_ellipsoid,
    simultaneous_bands,
)
from evalsampling.inference.results import DEFINITION, Estimate, Target, census, undefined
from evalsampling.measures.base import Measure
from evalsampling.measures.extremes import Extreme
from evalsampling.measures.on_cells import cells_adding_to
from evalsampling.stats.arrays import BoolArray, FloatArray

BANDS = "approximate-multiplier-bootstrap"
"""Method of the bands: their simultaneous coverage is below nominal (see docs/methods.md)."""


def estimate_measure(
    measure: Measure, inputs: EstimationInput, scope: ReportedDomains, aimed_at: bool = True
) -> list[Estimate]:
    """Return the estimates of one measure on every domain of a scope."""
    if isinstance(measure, Extreme):
        return [_extreme(measure, inputs, scope, aimed_at)]
    adding = cells_adding_to(measure, inputs.table)
    return [
        estimate
        for domain in scope.domains_of(measure)
        for estimate in _on_domain(Estimand(measure, inputs, domain, aimed_at), scope, adding)
    ]


def _on_domain(estimand: Estimand, scope: ReportedDomains, adding: BoolArray) -> list[Estimate]:
    """Return the estimates of one measure on one domain; undefined ones give the reason."""
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
    of_design = _by_weights(estimand, targets, scope.methods)
    bands = estimand.is_pool and scope.bands_seed is not None
    if bands and len(targets) > 1:
        seed = [scope.bands_seed or 0, len(inputs.history.labelled)]
        of_design = _with_bands(of_design, estimand, seed)
    fixed = estimand.by_definition
    if of_design[0].value is not None and fixed is not None:
        return [census(targets[0], fixed, confidence, measure.undefined_without, DEFINITION)]
    of_model = _by_model(of_design, estimand, bands)
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


def _by_weights(
    estimand: Estimand, targets: Sequence[Target], methods: Sequence[str] = ()
) -> list[Estimate]:
    """Return the design-based estimate of each component."""
    inputs = estimand.inputs
    return by_weights(
        targets, *estimand.linearised, inputs.sample, estimand.evidence, inputs.confidence, methods
    )


def _with_bands(
    estimates: Sequence[Estimate], estimand: Estimand, seed: Sequence[int]
) -> list[Estimate]:
    """Return the estimates, each with its simultaneous interval."""
    value, influence = estimand.linearised
    gaps = estimand.gaps(fewest_of_each=FEWEST_EVIDENCE)
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


def _by_model(
    estimates: list[Estimate], estimand: Estimand, band: bool
) -> Sequence[DrawnNumber | None]:
    """Return each component by the model of the labels; None without a model or a label."""
    measure, inputs = estimand.measure, estimand.inputs
    if inputs.model is None or not len(inputs.history.labelled):
        return [None] * len(estimates)
    if inputs.model.is_exact and not estimand.is_pool:
        # Rows that are predicted alike are alike in the pool, and may not be in a slice of it.
        return [None] * len(estimates)
    predictive = inputs.model.within(estimand.domain)
    return by_model(
        estimates,
        measure,
        inputs.model,
        predictive,
        estimand.fewest_rows(predictive),
        estimand.expected_error(inputs.model.mean_rates),
        OwnProbabilities.of_labelled(estimand.linearisation),
        band,
        inputs.combine,
    )


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
    for each in _by_weights(estimand, targets):
        if not each.claims:
            raise ValueError("; ".join(each.warnings) or each.reason or each.measure)
    value, influence = estimand.linearised
    covariance = inputs.sample.covariance(influence)
    sample = inputs.sample
    terms = sample.draws if sample.cluster is None else sample.units
    return f_ellipsoid(value, covariance, terms, inputs.confidence)
