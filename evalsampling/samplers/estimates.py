"""From a weighted sample to estimates of measures, on the pool or on a part of it."""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.measures.base import FloatArray, IntArray, Measure
from evalsampling.measures.calibrated import Calibrated
from evalsampling.samplers.variance import known_exactly, model_risk
from evalsampling.stats.calibration import CalibratedWeights, calibrate
from evalsampling.stats.cells import CellTable
from evalsampling.stats.estimation import (
    Estimate,
    Evidence,
    Target,
    census,
    estimate,
    undefined,
)
from evalsampling.stats.history import History
from evalsampling.stats.intervals import Interval
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.regions import (
    Ellipsoid,
    f_ellipsoid,
    simultaneous_bands,
    wald_ellipsoid,
)
from evalsampling.stats.sample import WeightedSample


@dataclasses.dataclass(frozen=True)
class Domain:
    """The whole pool, or the rows with one value of a slice column.

    Attributes:
        title: ``column=value``, None for the whole pool.
        column: number of the slice column.
        value: code of the value in it.
        count: shape (cells,): rows of the domain in each cell; None for the whole pool.
    """

    title: str | None = None
    column: int = 0
    value: int = 0
    count: IntArray | None = None

    def holds(self, history: History, question: IntArray) -> npt.NDArray[np.bool_]:
        """Return which questions are about a row of the domain, shape (n,)."""
        if self.count is None:
            return np.ones(len(question), dtype=bool)
        return history.slice[question, self.column] == self.value

    def rows(self, table: CellTable) -> IntArray:
        """Return the rows of the domain in each cell, shape (cells,)."""
        return table.count if self.count is None else self.count


@dataclasses.dataclass(frozen=True)
class Scope:
    """What is reported of each measure.

    Attributes:
        domains: at least one.
        systems: names of the systems, None for one that needs no name.
        bands_seed: of the simultaneous bands of curves; None for none, which is faster.
    """

    domains: tuple[Domain, ...] = (Domain(),)
    systems: tuple[str | None, ...] = (None,)
    bands_seed: int | None = None

    def of(self, measure: Measure) -> tuple[Domain, ...]:
        """Return the domains that a measure is reported for."""
        if len(measure.components) <= MOST_IN_SLICES:
            return self.domains
        return tuple(domain for domain in self.domains if domain.count is None)

    def targets(self, measure: Measure, domain: Domain) -> list[Target]:
        """Return what a measure's components are on a domain."""
        return [
            Target(
                measure=component.name,
                bounds=component.bounds,
                system=self.systems[component.system],
                threshold=component.threshold,
                slice=domain.title,
            )
            for component in measure.components
        ]


WHOLE_POOL = Scope()
"""One system, no slices, no bands."""


MOST_IN_SLICES = 64
"""Components beyond which a measure is reported for the whole pool alone: curves."""


@dataclasses.dataclass(frozen=True)
class Material:
    """All that an estimate is made from.

    Attributes:
        table: the cells.
        history: rounds and labels.
        sample: the labelled rows with their weights.
        confidence: in (0, 1).
        covers: whether every row of the pool always had a chance, whatever its label.
    """

    table: CellTable
    history: History
    sample: WeightedSample
    confidence: float
    covers: bool = False

    @functools.cached_property
    def outputs(self) -> Outputs:
        """Outputs of the labelled rows."""
        return self.history.outputs.take(self.sample.question)

    @functools.cached_property
    def label(self) -> IntArray:
        """Labels of the labelled rows."""
        return self.history.label[self.sample.question]

    @functools.cached_property
    def row(self) -> IntArray:
        """Numbers that tell the rows of the pool apart, of each labelled question."""
        question = self.sample.question
        places = np.stack([self.history.cell[question], self.history.rank[question]], axis=1)
        return np.unique(places, axis=0, return_inverse=True)[1].ravel()

    def distinct(self, chosen: npt.NDArray[np.bool_]) -> int:
        """Return how many rows of the pool are behind some of the labelled questions."""
        return len(np.unique(self.row[chosen]))


def estimate_measure(measure: Measure, material: Material, scope: Scope) -> list[Estimate]:
    """Estimate one measure on every domain of a scope.

    Args:
        measure: what to estimate, no joint one.
        material: from what.
        scope: what to report.
    """
    table, confidence = material.table, material.confidence
    if isinstance(measure, Calibrated) and not known_exactly(measure, table):
        reason = f"{measure.name}: its known totals cannot be told from the cells"
        return _undefined(measure, scope, confidence, "unknown totals", reason)
    estimates: list[Estimate] = []
    for domain in scope.of(measure):
        targets = scope.targets(measure, domain)
        inside = domain.holds(material.history, material.sample.question)
        if domain.count is not None and not inside.any():
            reason = f"no labelled row where {domain.title}"
            estimates += [undefined(t, confidence, "no labels", reason) for t in targets]
            continue
        value, influence = _linearise(measure, material, domain, inside)
        groups = measure.evidence_groups(material.outputs, material.label) & inside[:, None]
        rows = min((material.distinct(group) for group in groups.T), default=0)
        evidence = Evidence(rows, measure.evidence_name)
        found = estimate(targets, value, influence, material.sample, evidence, confidence)
        if domain.count is None and scope.bands_seed is not None and len(found) > 1:
            seed = [scope.bands_seed, len(material.history.labelled)]
            contributions = material.sample.contributions(influence)
            found = _with_bands(found, value, contributions, confidence, seed)
        estimates += found
    return estimates


def take_census(measure: Measure, material: Material, scope: Scope) -> list[Estimate]:
    """Return the values of a measure all of whose rows have labels, on every domain."""
    table, history = material.table, material.history
    estimates: list[Estimate] = []
    for domain in scope.of(measure):
        known = history.labelled
        known = known[domain.holds(history, known)]
        outputs, label = history.outputs.take(known), history.label[known]
        weight = np.full(len(known), 1 / max(int(domain.rows(table).sum()), 1))
        value = measure.value(measure.mean_loss(outputs, label, weight))
        estimates += [
            census(target, float(v), material.confidence, measure.evidence_name)
            for target, v in zip(scope.targets(measure, domain), value, strict=True)
        ]
    return estimates


def refuse(
    measure: Measure, sampled_for: Measure, scope: Scope, confidence: float
) -> list[Estimate]:
    """Return the missing estimates of a measure that the draws say nothing about."""
    reason = (
        f"{measure.name} cannot be estimated from rows drawn for {sampled_for.name}: "
        "rows that add to it had no chance of being drawn"
    )
    return _undefined(measure, scope, confidence, "no support", reason)


def _undefined(
    measure: Measure, scope: Scope, confidence: float, method: str, reason: str
) -> list[Estimate]:
    return [
        undefined(target, confidence, method, reason, warn=True)
        for domain in scope.of(measure)
        for target in scope.targets(measure, domain)
    ]


def _with_bands(
    estimates: Sequence[Estimate],
    value: FloatArray,
    contributions: FloatArray,
    confidence: float,
    seed: Sequence[int],
) -> list[Estimate]:
    """Add to each estimate the interval that holds together with those of all others."""
    bounds = estimates[0].target.bounds  # those of a curve are all alike
    generator = np.random.Generator(np.random.PCG64(list(seed)))
    contributions = np.where(np.isfinite(contributions), contributions, 0.0)
    bands = simultaneous_bands(value, contributions, confidence, bounds, generator)
    return [
        dataclasses.replace(
            one,
            intervals=(*one.intervals, Interval(low, high, "simultaneous", "multiplier-bootstrap")),
        )
        for one, low, high in zip(estimates, bands.low.tolist(), bands.high.tolist(), strict=True)
    ]


def point_estimate(measure: Measure, material: Material) -> FloatArray:
    """Return g(R^) on the pool, shape (m,), NaN where undefined; no intervals, so it is fast."""
    weight = material.sample.weight
    return measure.value(measure.mean_loss(material.outputs, material.label, weight))


def estimate_region(measure: Measure, material: Material, method: str = "f") -> Ellipsoid:
    """Return the joint region of the components of a measure.

    Args:
        measure: of several components.
        material: from what.
        method: "f" for the region of [MR] section 3, "wald" for a covariance as good as known.

    Raises:
        ValueError: if a component is undefined.
    """
    everywhere = np.ones(len(material.sample.question), dtype=bool)
    value, influence = _linearise(measure, material, Domain(), everywhere)
    covariance = material.sample.covariance(influence)
    if method == "wald":
        return wald_ellipsoid(value, covariance, material.confidence)
    return f_ellipsoid(value, covariance, material.sample.draws, material.confidence)


def _linearise(
    measure: Measure, material: Material, domain: Domain, inside: npt.NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return g(R^), shape (m,), and what each row adds to it, shape (n, m), 0 outside the domain.

    R^ of a domain is that of its rows over its known share of the pool; where every row had a
    chance, over the estimate of this share, which errs along with the numerator.
    """
    outputs, label, weight = material.outputs, material.label, material.sample.weight
    table = material.table
    factor = inside * (table.rows / max(int(domain.rows(table).sum()), 1))
    if isinstance(measure, Calibrated) and len(label):
        calibrated = _calibrated(measure, material, domain, inside)
        risk = measure.mean_loss(outputs, label, calibrated.weight * factor)
        influence = measure.influence(outputs, label, risk) * factor[:, None]
        return measure.value(risk), calibrated.residuals(influence)
    if domain.count is None or not material.covers:
        risk = measure.mean_loss(outputs, label, weight * factor)
        return measure.value(risk), measure.influence(outputs, label, risk) * factor[:, None]
    factor = factor / (weight @ factor)
    risk = measure.mean_loss(outputs, label, weight * factor)
    influence = measure.influence(outputs, label, risk)
    return measure.value(risk), (influence - (weight * factor) @ influence) * factor[:, None]


def _calibrated(
    measure: Calibrated, material: Material, domain: Domain, inside: npt.NDArray[np.bool_]
) -> CalibratedWeights:
    """Calibrate to the label-free losses: 0 outside the domain, their means are known."""
    table, known = material.table, list(measure.known)
    mass = np.zeros((len(table), table.classes))
    mass[:, 0] = domain.rows(table) / table.rows
    mean = model_risk(measure, table, mass)[known]
    losses = measure.loss(material.outputs, material.label)[:, known] * inside[:, None]
    return calibrate(material.sample.weight, losses, mean)
