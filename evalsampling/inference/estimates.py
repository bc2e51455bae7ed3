"""From a weighted sample to estimates of measures, on the pool or on a part of it."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.inference.anticipation import MOST_COMPONENTS, anticipated_error
from evalsampling.inference.anytime import add_anytime
from evalsampling.inference.assumption_light import Searched, assumption_light
from evalsampling.inference.census import is_census, known_value
from evalsampling.inference.delta_method import Evidence, cautious_errors, estimate
from evalsampling.inference.domains import Domain, ReportedDomains
from evalsampling.inference.evidence import (
    FEWEST_EVIDENCE,
    Gap,
    fewest_rows,
    find_gaps,
    find_missing_weight,
)
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.intervals import SIMULTANEOUS, Interval
from evalsampling.inference.linearisation import linearise, sampled_risk
from evalsampling.inference.model_assisted import assist
from evalsampling.inference.own_probabilities import OwnProbabilities
from evalsampling.inference.predictive import Predictive
from evalsampling.inference.ratio_bias import Bias, biases
from evalsampling.inference.regions import (
    Ellipsoid,
    f_ellipsoid,
    simultaneous_bands,
    wald_ellipsoid,
)
from evalsampling.inference.results import Estimate, Target, census, undefined
from evalsampling.measures.base import FloatArray, IntArray, Measure, Share
from evalsampling.measures.calibrated import Calibrated, Requested, measure_of
from evalsampling.measures.on_cells import (
    cells_adding_to,
    known_exactly,
    numbers_of_rows,
    rows_of_cells,
)


def estimate_measure(
    requested: Requested, inputs: EstimationInput, scope: ReportedDomains, aimed_at: bool = True
) -> list[Estimate]:
    """Return the estimates of one measure on every domain of a scope.

    Args:
        requested: what to estimate, no joint measure.
        inputs: from what.
        scope: what to report.
        aimed_at: whether the rows were drawn for this measure.
    """
    table, confidence = inputs.table, inputs.confidence
    measure, calibrate = measure_of(requested), isinstance(requested, Calibrated)
    adding = cells_adding_to(measure, table)
    untold = calibrate and not known_exactly(measure, table)
    estimates: list[Estimate] = []
    for domain in scope.domains_of(requested):
        targets = scope.targets(requested, domain)
        if not inputs.stochastic and is_census(adding, table, inputs.history, domain):
            exact = known_value(measure, table, inputs.history, domain).tolist()
            words = measure.undefined_without
            estimates += [
                census(*one, confidence, words) for one in zip(targets, exact, strict=True)
            ]
            continue
        if untold:
            reason = f"{requested.name}: its known totals cannot be told from the cells"
            estimates += [
                undefined(t, confidence, "unknown totals", reason, warn=True) for t in targets
            ]
            continue
        inside = domain.holds(inputs.history, inputs.sample.question)
        if domain.count is not None and not inside.any():
            reason = inputs.sample.empty_because or f"no labelled row where {domain.title}"
            found = [undefined(t, confidence, "no labels", reason) for t in targets]
            estimates += found
            continue
        value, influence = linearise(measure, inputs, domain, inside, calibrate)
        seen = _Seen.of(measure, inputs, domain, inside)
        evidence = _evidence(requested, inputs, domain, inside, seen, aimed_at)
        known_biases = _biases(requested, inputs, domain, inside)
        value = inputs.options.corrected(value, known_biases)
        found = estimate(targets, value, influence, inputs.sample, evidence, confidence)
        errors = cautious_errors(influence, inputs.sample, evidence, confidence)
        found = inputs.options.completed(found, errors, known_biases)
        if domain.count is None and scope.bands_seed is not None and len(found) > 1:
            seed = [scope.bands_seed, len(inputs.history.labelled)]
            contributions = inputs.sample.contributions(influence)
            gaps = seen.gaps(fewest_of_each=FEWEST_EVIDENCE)
            solid = [one.claims and gap is None for one, gap in zip(found, gaps, strict=True)]
            found = _with_bands(
                found, np.where(solid, value, np.nan), contributions, confidence, seed
            )
        band = domain.count is None and scope.bands_seed is not None
        found = _with_model(found, measure, inputs, domain, inside, seen, band)
        if scope.anytime and domain.count is None and not calibrate and len(found) == 1:
            found = [add_anytime(found[0], measure, inputs)]
        if scope.assumption_light and len(found) == 1 and targets[0].against is None:
            found = [_with_light(found[0], measure, inputs, domain)]
        estimates += found
    return estimates


def _biases(
    requested: Requested, inputs: EstimationInput, domain: Domain, inside: npt.NDArray[np.bool_]
) -> Sequence[Bias | None]:
    """Return the bias of each component on a domain; None of estimates not from weights alone."""
    measure, sample = measure_of(requested), inputs.sample
    if isinstance(requested, Calibrated) or inputs.response is not None:
        return [None] * len(measure.components)
    normalised = (domain.count is not None or inputs.self_normalised) and inputs.covers_pool
    return biases(measure, inputs.outputs, inputs.votes, sample, inside, normalised)


def _with_model(
    found: list[Estimate],
    measure: Measure,
    inputs: EstimationInput,
    domain: Domain,
    inside: npt.NDArray[np.bool_],
    seen: "_Seen",
    band: bool,
) -> list[Estimate]:
    """Add the model-assisted intervals, in front where labels have something to say."""
    if inputs.model is None or not len(inputs.history.labelled):
        return found
    there = inputs.model.within(domain)
    evidence = seen.fewest_rows(there)
    own = OwnProbabilities.of_labelled(measure, inputs, domain, inside)
    return assist(found, measure, inputs.model, there, evidence, band, inputs.combine, own)


def _with_light(
    one: Estimate, measure: Measure, inputs: EstimationInput, domain: Domain
) -> Estimate:
    """Add the assumption-light interval of a measure on a domain, or the reason why it has none."""
    history = inputs.history
    known = domain.labelled(history)
    searched = Searched(
        table=inputs.table,
        rounds=inputs.trials,
        rows=domain.rows(inputs.table),
        cell=history.cell,
        known=known,
        prediction=history.outputs.prediction,
        votes=history.votes(known),
        stochastic=inputs.stochastic,
    )
    default = one.intervals[0] if one.claims else None
    light = assumption_light(measure, searched, inputs.confidence, default)
    if light.interval is None:
        return dataclasses.replace(one, light=light)
    one = dataclasses.replace(one, intervals=(*one.intervals, light.interval), light=light)
    return one.moved_into(light.interval)


def _evidence(
    requested: Requested,
    inputs: EstimationInput,
    domain: Domain,
    inside: npt.NDArray[np.bool_],
    seen: "_Seen",
    aimed_at: bool = True,
) -> list[Evidence]:
    """Return what each component of a measure rests on, on a domain."""
    measure = measure_of(requested)
    gaps = seen.gaps()
    if inputs.covers_pool and domain.count is None and not aimed_at:
        missing = find_missing_weight(inputs.sample, *_rows_it_is_about(measure, inputs))
        gaps = [gap or missing for gap in gaps]
    expected: Sequence[float | None] = [None] * len(gaps)
    if _can_anticipate(requested, inputs, domain):
        assert inputs.chance is not None
        risk = sampled_risk(measure, inputs, inputs.sample.weight)
        prior, draws = inputs.prior(measure.system), inputs.sample.draws
        expected = anticipated_error(
            measure, inputs.table, risk, inputs.chance, prior, seen.unlabelled, draws
        ).tolist()
    return [
        Evidence(measure.undefined_without, gap, error)
        for gap, error in zip(gaps, expected, strict=True)
    ]


@dataclasses.dataclass(frozen=True)
class _Seen:
    """What labels in a domain show of the shares that a measure depends on, and what they leave.

    Attributes:
        measure: it.
        shares: of the labelled rows.
        row: shape (n,): numbers that tell these rows apart.
        open_shares: the same of what rows without a label may be.
        unlabelled: shape (cells,): rows without a label.
    """

    measure: Measure
    shares: Sequence[Share]
    row: IntArray
    open_shares: Sequence[Share]
    unlabelled: IntArray

    @classmethod
    def of(
        cls,
        measure: Measure,
        inputs: EstimationInput,
        domain: Domain,
        inside: npt.NDArray[np.bool_],
    ) -> "_Seen":
        row = inputs.votes.row
        kept = np.flatnonzero(inside[row])
        unlabelled = _unlabelled(inputs, domain, inside)
        return cls(
            measure,
            measure.shares(inputs.outputs.take(kept), inputs.label[kept]),
            np.unique(inputs.row[row[kept]], return_inverse=True)[1].ravel(),
            measure.shares(*rows_of_cells(measure, inputs.table, unlabelled > 0)),
            unlabelled,
        )

    def gaps(self, fewest_of_each: int = 1) -> list[Gap | None]:
        """Return what the labels lack, for each component of the measure."""
        number = len(self.measure.components)
        return find_gaps(self.shares, self.row, number, self.open_shares, fewest_of_each)

    def fewest_rows(self, there: Predictive) -> IntArray:
        """Return the labelled rows of the scarcest share of each component, shape (m,)."""
        number, chosen = len(self.measure.components), self.unlabelled > 0
        expected = numbers_of_rows(self.measure, there.table, chosen, there.expected)
        return fewest_rows(self.shares, self.row, number, self.open_shares, expected)


def _unlabelled(inputs: EstimationInput, domain: Domain, inside: npt.NDArray[np.bool_]) -> IntArray:
    """Return the rows of a domain in each cell that have no label: all, if labels vary."""
    rows = domain.rows(inputs.table)
    if inputs.stochastic:
        return rows
    cell = inputs.history.cell[inputs.sample.question[inside]]
    return rows - np.bincount(cell, minlength=len(rows))


def _rows_it_is_about(
    measure: Measure, inputs: EstimationInput
) -> tuple[npt.NDArray[np.bool_], float]:
    """Return which labelled rows are in cells that may add to a measure, and the cells' share."""
    cells = cells_adding_to(measure, inputs.table)
    share = float(inputs.table.count[cells].sum() / inputs.table.rows)
    return cells[inputs.history.cell[inputs.sample.question]], share


def _can_anticipate(requested: Requested, inputs: EstimationInput, domain: Domain) -> bool:
    """Tell whether the cells say what error to expect: not of parts of the pool."""
    return (
        inputs.chance is not None
        and inputs.sample.draws > 0
        and not inputs.stochastic
        and "grades" not in measure_of(requested).looks_at
        and domain.count is None
        and not isinstance(requested, Calibrated)
        and len(requested.components) <= MOST_COMPONENTS
    )


def take_nil(
    requested: Requested, inputs: EstimationInput, scope: ReportedDomains
) -> list[Estimate]:
    """Return the difference of systems that say the same of every row: 0, on every domain."""
    words = measure_of(requested).undefined_without
    return [
        census(target, 0.0, inputs.confidence, words)
        for domain in scope.domains_of(requested)
        for target in scope.targets(requested, domain)
    ]


def refuse(
    requested: Requested, sampled_for: Measure, scope: ReportedDomains, confidence: float
) -> list[Estimate]:
    """Return the missing estimates of a measure that the draws say nothing about."""
    reason = (
        f"{requested.name} cannot be estimated from rows drawn for {sampled_for.name}: "
        "rows that add to it had no chance of being drawn"
    )
    return [
        undefined(target, confidence, "no support", reason, warn=True)
        for domain in scope.domains_of(requested)
        for target in scope.targets(requested, domain)
    ]


BANDS = "approximate-multiplier-bootstrap"
"""Method of the bands: they hold together less often than they say (see docs/methods.md)."""


def _with_bands(
    estimates: Sequence[Estimate],
    value: FloatArray,
    contributions: FloatArray,
    confidence: float,
    seed: Sequence[int],
) -> list[Estimate]:
    """Add to each estimate the interval that holds together with those of all others."""
    low, high = np.array([one.target.bounds for one in estimates], dtype=np.float64).T
    generator = np.random.Generator(np.random.PCG64(list(seed)))
    contributions = np.where(np.isfinite(contributions), contributions, 0.0)
    bands = simultaneous_bands(value, contributions, confidence, (low, high), generator)
    return [
        dataclasses.replace(
            one, intervals=(*one.intervals, Interval(low, high, SIMULTANEOUS, BANDS))
        )
        for one, low, high in zip(estimates, bands.low.tolist(), bands.high.tolist(), strict=True)
    ]


def point_estimate(measure: Measure, inputs: EstimationInput) -> FloatArray:
    """Return g(R^) on the pool, shape (m,), NaN where undefined; no intervals, so it is fast."""
    weight = inputs.sample.weight
    if inputs.sample.empty_because is not None:
        return np.full(len(measure.components), np.nan)
    if inputs.response is not None:
        return linearise(measure, inputs, Domain(), np.ones(len(weight), dtype=bool))[0]
    if inputs.self_normalised and inputs.covers_pool and len(weight):
        weight = weight / weight.sum()
    return _corrected(measure.value(sampled_risk(measure, inputs, weight)), measure, inputs)


def _corrected(value: FloatArray, measure: Measure, inputs: EstimationInput) -> FloatArray:
    """Return values on the pool, shape (m,), less their biases if these are to be subtracted."""
    if not inputs.options.correct_bias:
        return value
    everywhere = np.ones(len(inputs.sample.question), dtype=bool)
    return inputs.options.corrected(value, _biases(measure, inputs, Domain(), everywhere))


def estimate_region(measure: Measure, inputs: EstimationInput, method: str = "f") -> Ellipsoid:
    """Return the joint region of the components of a measure, by the design.

    It is about the estimate that the draws alone give: of the sampler `calibrated` that is the
    difference estimator, not its mean with the median of the model. With labels of all rows that
    matter it is the exact value alone.

    Args:
        measure: of several components.
        inputs: from what.
        method: "f" for the region of [MR] section 3, "wald" for a covariance as good as known.

    Raises:
        ValueError: if a component is undefined, or its labels allow no claim: then neither do
            they of several components together; or if there is no such method.
    """
    if method not in ("f", "wald"):
        raise ValueError(f"method must be f or wald, got {method!r}")
    table, history = inputs.table, inputs.history
    if not inputs.stochastic and is_census(
        cells_adding_to(measure, table), table, history, Domain()
    ):
        exact = known_value(measure, table, history, Domain())
        return wald_ellipsoid(exact, np.zeros((len(exact), len(exact))), inputs.confidence)
    everywhere = np.ones(len(inputs.sample.question), dtype=bool)
    value, influence = linearise(measure, inputs, Domain(), everywhere)
    value = _corrected(value, measure, inputs)
    targets = [Target(one.name, one.bounds, threshold=one.threshold) for one in measure.components]
    seen = _Seen.of(measure, inputs, Domain(), everywhere)
    evidence = _evidence(measure, inputs, Domain(), everywhere, seen)
    for one in estimate(targets, value, influence, inputs.sample, evidence, inputs.confidence):
        if not one.claims:
            raise ValueError("; ".join(one.warnings) or one.reason or one.measure)
    covariance = inputs.sample.covariance(influence)
    if method == "wald":
        return wald_ellipsoid(value, covariance, inputs.confidence)
    return f_ellipsoid(value, covariance, inputs.sample.draws, inputs.confidence)
