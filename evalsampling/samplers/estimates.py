"""From a weighted sample to estimates of measures, on the pool or on a part of it."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.measures.base import FloatArray, IntArray, Measure
from evalsampling.measures.calibrated import Calibrated
from evalsampling.samplers.variance import model_risk
from evalsampling.stats.calibration import calibrate
from evalsampling.stats.cells import CellTable
from evalsampling.stats.estimation import Estimate, Evidence, Target, census, estimate
from evalsampling.stats.history import History
from evalsampling.stats.intervals import Interval
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.regions import Ellipsoid, f_ellipsoid, simultaneous_bands
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


@dataclasses.dataclass(frozen=True)
class _Rows:
    """The labelled rows that an estimate rests on."""

    outputs: Outputs
    label: IntArray
    sample: WeightedSample
    inside: npt.NDArray[np.bool_]
    scale: float


def estimate_measure(
    measure: Measure,
    table: CellTable,
    history: History,
    sample: WeightedSample,
    confidence: float,
    scope: Scope,
    complete: bool,
) -> list[Estimate]:
    """Estimate one measure on every domain of a scope.

    Args:
        measure: what to estimate.
        table: the cells.
        history: rounds and labels.
        sample: its labelled rows with their weights.
        confidence: in (0, 1).
        scope: what to report.
        complete: whether all rows that can add to the measure have a label.
    """
    estimates: list[Estimate] = []
    for domain in scope.domains:
        targets = scope.targets(measure, domain)
        if complete:
            known = history.labelled
            known = known[domain.holds(history, known)]
            outputs, label = history.outputs.take(known), history.label[known]
            weight = np.full(len(known), 1 / max(int(domain.rows(table).sum()), 1))
            value = measure.value(measure.mean_loss(outputs, label, weight))
            estimates += [
                census(target, float(v), confidence, measure.evidence_name)
                for target, v in zip(targets, value, strict=True)
            ]
            continue
        rows = _rows(table, history, sample, domain)
        value, influence = _linearise(measure, table, domain, rows)
        carries = measure.evidence(rows.outputs, rows.label) & rows.inside
        evidence = Evidence(int(carries.sum()), measure.evidence_name)
        found = estimate(targets, value, influence, sample, evidence, confidence)
        if scope.bands_seed is not None and len(found) > 1 and sample.draws:
            seed = [scope.bands_seed, len(history)]
            found = _with_bands(found, value, sample.contributions(influence), confidence, seed)
        estimates += found
    return estimates


def _with_bands(
    estimates: Sequence[Estimate],
    value: FloatArray,
    contributions: FloatArray,
    confidence: float,
    seed: Sequence[int],
) -> list[Estimate]:
    """Add to each estimate the interval that holds together with those of all others."""
    bounds = estimates[0].target.bounds
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


def point_estimate(measure: Measure, history: History, sample: WeightedSample) -> FloatArray:
    """Return g(R^) on the pool, shape (m,), NaN where undefined; no intervals, so it is fast."""
    outputs, label = history.outputs.take(sample.question), history.label[sample.question]
    return measure.value(measure.mean_loss(outputs, label, sample.weight))


def estimate_region(
    measure: Measure,
    table: CellTable,
    history: History,
    sample: WeightedSample,
    confidence: float,
) -> Ellipsoid:
    """Return the joint region of the components of a measure ([MR] section 3).

    Raises:
        ValueError: if a component is undefined.
    """
    domain = Domain()
    rows = _rows(table, history, sample, domain)
    value, influence = _linearise(measure, table, domain, rows)
    return f_ellipsoid(value, sample.covariance(influence), sample.draws, confidence)


def _rows(table: CellTable, history: History, sample: WeightedSample, domain: Domain) -> _Rows:
    inside = domain.holds(history, sample.question)
    return _Rows(
        outputs=history.outputs.take(sample.question),
        label=history.label[sample.question],
        sample=sample,
        inside=inside,
        scale=table.rows / max(int(domain.rows(table).sum()), 1),
    )


def _linearise(
    measure: Measure, table: CellTable, domain: Domain, rows: _Rows
) -> tuple[FloatArray, FloatArray]:
    """Return g(R^), shape (m,), and Dg(R^) l of the rows, shape (n, m), 0 outside the domain."""
    factor = rows.scale * rows.inside
    if not isinstance(measure, Calibrated) or not len(rows.label):
        risk = measure.mean_loss(rows.outputs, rows.label, rows.sample.weight * factor)
        influence = measure.influence(rows.outputs, rows.label, risk) * factor[:, None]
        return measure.value(risk), influence
    # The label-free losses, 0 outside the domain, have known means over the pool.
    known = list(measure.known)
    mass = np.zeros((len(table), table.classes))
    mass[:, 0] = domain.rows(table) / table.rows
    mean = model_risk(measure, table, mass)[known]
    losses = measure.loss(rows.outputs, rows.label)[:, known] * rows.inside[:, None]
    calibrated = calibrate(rows.sample.weight, losses, mean)
    risk = measure.mean_loss(rows.outputs, rows.label, calibrated.weight * factor)
    influence = measure.influence(rows.outputs, rows.label, risk) * factor[:, None]
    return measure.value(risk), calibrated.residuals(influence)
