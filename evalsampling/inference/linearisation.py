"""Estimates of measures with the influence of each labelled row: all that variances need."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.arrays import FloatArray
from evalsampling.inference.domains import Domain
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.known_totals import CalibratedWeights, calibrate
from evalsampling.measures.base import Measure
from evalsampling.measures.on_cells import (
    LARGEST_MATRIX,
    bounding_outputs,
    each_label,
    model_risk,
)
from evalsampling.stats.cells import CellTable


def linearise(
    measure: Measure,
    inputs: EstimationInput,
    domain: Domain,
    inside: npt.NDArray[np.bool_],
    calibrate: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Return g(R^), shape (m,), and what each row adds to it, shape (n, m), 0 outside the domain.

    R^ of a domain is that of its rows over its known share of the pool; where every row had a
    chance, over the estimate of this share, which errs along with the numerator; so are
    self-normalised weights of the whole pool. With
    ``calibrate``, weights are moved to reproduce the known means of the losses. Where there is a
    model, see `_by_model`.
    """
    weight = inputs.sample.weight
    if calibrate and len(weight):
        factor = _factor(inputs, domain, inside)
        calibrated = _calibrate_weights(measure, inputs, domain, inside)
        risk = sampled_risk(measure, inputs, calibrated.weight * factor)
        influence = _influence(measure, inputs, risk) * factor[:, None]
        return measure.value(risk), calibrated.residuals(influence)
    if inputs.response is not None:
        return _by_model(measure, inputs, domain, inside)
    terms = _terms(measure, inputs, domain, inside)
    return measure.value(terms.risk), terms.added(_influence(measure, inputs, terms.risk))


def expected_error(
    measure: Measure,
    inputs: EstimationInput,
    domain: Domain,
    inside: npt.NDArray[np.bool_],
    rate: FloatArray,
) -> FloatArray:
    """Return the standard error that rates of the classes make expect of `linearise`, shape (m,).

    A variance estimated from labels knows only of those that were met. Here each labelled row
    counts with the mean of what it would add with each label that it might have had. Weights moved
    to known totals are taken as they were.

    Args:
        measure: what is estimated.
        inputs: from what.
        domain: on what part of the pool.
        inside: shape (n,): labelled rows of that part.
        rate: shape (cells, classes): rates of the classes, summing to 1.
    """
    terms = _terms(measure, inputs, domain, inside)
    question = inputs.sample.question
    outputs, chance = inputs.history.outputs.take(question), rate[inputs.history.cell[question]]
    mean = square = np.zeros((len(question), len(measure.components)))
    for y in range(chance.shape[1]):
        label = np.full(len(question), y, dtype=np.int64)
        added = terms.added(measure.influence(outputs, label, terms.risk))
        mean, square = mean + chance[:, y : y + 1] * added, square + chance[:, y : y + 1] * added**2
    return np.sqrt(np.maximum(inputs.sample.variance_of(mean, square), 0.0))


@dataclasses.dataclass(frozen=True)
class _Terms:
    """What the linear part of an estimate is the weighted sum of: (Dg(risk) l - centre) factor.

    Attributes:
        risk: R^, shape (d,).
        centre: shape (n, m), or (1, m) if that of all labelled rows is the same.
        factor: shape (n,): of each labelled row, 0 outside the domain.
    """

    risk: FloatArray
    centre: FloatArray
    factor: FloatArray

    def added(self, influence: FloatArray) -> FloatArray:
        """Return what each labelled row adds, shape (n, m), given Dg(risk) l of it."""
        return np.asarray((influence - self.centre) * self.factor[:, None])


def _terms(
    measure: Measure, inputs: EstimationInput, domain: Domain, inside: npt.NDArray[np.bool_]
) -> _Terms:
    """Return the linear part of an estimate from weights, or of the difference estimator."""
    weight, factor = inputs.sample.weight, _factor(inputs, domain, inside)
    if inputs.response is not None:
        return _differences(measure, inputs, domain, factor)
    of_share = domain.count is not None or inputs.self_normalised
    if not (of_share and inputs.covers_pool and np.any(weight @ factor)):
        risk = sampled_risk(measure, inputs, weight * factor)
        return _Terms(risk, np.zeros((1, len(measure.components))), factor)
    factor = factor / (weight @ factor)
    risk = sampled_risk(measure, inputs, weight * factor)
    return _Terms(risk, ((weight * factor) @ _influence(measure, inputs, risk))[None], factor)


def _factor(inputs: EstimationInput, domain: Domain, inside: npt.NDArray[np.bool_]) -> FloatArray:
    """Return what the pool's weights of labelled rows are multiplied by on a domain: (n,)."""
    return np.asarray(inside * (inputs.table.rows / max(int(domain.rows(inputs.table).sum()), 1)))


def sampled_risk(measure: Measure, inputs: EstimationInput, weight: FloatArray) -> FloatArray:
    """Return the weighted sum of losses, shape (d,), given the weight of each labelled row."""
    return measure.mean_loss(inputs.outputs, inputs.label, inputs.votes.spread(weight))


def _influence(measure: Measure, inputs: EstimationInput, risk: FloatArray) -> FloatArray:
    """Return Dg(risk) l of each labelled row, shape (n, m), the mean over its answers."""
    return inputs.votes.mean(measure.influence(inputs.outputs, inputs.label, risk))


def _by_model(
    measure: Measure, inputs: EstimationInput, domain: Domain, inside: npt.NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return the difference estimator, or the end of the range that it lies beyond.

    Where it errs by more than any number in the range would, as it does when the model is far off
    in cells whose rows weigh much, or has no value at a risk that no labels can have, that of the
    weights alone.
    """
    terms = _terms(measure, inputs, domain, inside)
    value = measure.value(terms.risk)
    influence = terms.added(_influence(measure, inputs, terms.risk))
    low, high = np.transpose([one.bounds for one in measure.components])
    within = np.clip(value, low, high)
    square = np.maximum((value - within) ** 2, inputs.sample.variance(influence))
    useless = np.isnan(value) | (square > variance_of_any(measure))
    if not useless.any():
        return within, influence
    alone = dataclasses.replace(inputs, response=None)
    of_weights, its_influence = linearise(measure, alone, domain, inside)
    return np.where(useless, of_weights, within), np.where(useless, its_influence, influence)


def _differences(
    measure: Measure, inputs: EstimationInput, domain: Domain, factor: FloatArray
) -> _Terms:
    """Return the linear part of the difference estimator.

    The model's total over the cells, and the weighted sum of what the labels differ from it
    (Särndal, Swensson and Wretman, *Model Assisted Survey Sampling*, 1992, eq. 6.3.4). Put in
    another way: rows that the weights of their cell do not account for have the model's labels.
    Where weights account for more rows than a cell has, it may leave the range of the measure.

    Args:
        measure: what is estimated.
        inputs: from what.
        domain: on what part of the pool.
        factor: shape (n,): what the weights of labelled rows are multiplied by.
    """
    assert inputs.response is not None
    table, response = inputs.table, inputs.response
    cell, weight = inputs.history.cell[inputs.sample.question], inputs.sample.weight * factor
    rows = domain.rows(table)
    share = rows / max(int(rows.sum()), 1) - np.bincount(cell, weight, len(table))
    risk = sampled_risk(measure, inputs, weight)
    risk = risk + model_risk(measure, table, share[:, None] * response)
    centre = np.einsum("cy,cym->cm", response, influence_by_cell(measure, table, risk))
    return _Terms(risk, centre[cell], factor)


def influence_by_cell(measure: Measure, table: CellTable, risk: FloatArray) -> FloatArray:
    """Return the mean influence of a row of each cell with each label, 0 where undefined.

    Args:
        measure: g and l.
        table: the cells.
        risk: where the derivative of g is taken.

    Returns:
        Shape (cells, classes, m).
    """
    views = bounding_outputs(measure, table)
    by_label = [
        sum(table.mean_by_cell(measure.influence(view, y, risk)) for view in views) / len(views)
        for y in each_label(table)
    ]
    return np.nan_to_num(np.stack(by_label, axis=1))


def influences_by_cell(
    measure: Measure, table: CellTable, parts: Sequence[FloatArray]
) -> Iterator[Sequence[FloatArray]]:
    """Yield what `influence_by_cell` is at the risks of each part: of each class, (n, m, cells).

    Losses are worked out once for all risks, unless that takes matrices that are too large.

    Args:
        measure: g and l.
        table: the cells.
        parts: of shape (n, d), at least one: risks where the derivatives of g are taken.
    """
    m, d = len(measure.components), parts[0].shape[1]
    if max(len(table.outputs), len(parts[0]) * m) * d > LARGEST_MATRIX:
        for risks in parts:
            by_risk = np.stack([influence_by_cell(measure, table, risk) for risk in risks])
            yield list(np.transpose(by_risk, (2, 0, 3, 1)))
        return
    views = bounding_outputs(measure, table)
    losses = [
        np.sum([table.mean_by_cell(measure.loss(view, y)) for view in views], axis=0) / len(views)
        for y in each_label(table)
    ]
    for risks in parts:
        slopes = np.concatenate([measure.jacobian(risk) for risk in risks])
        found = [_as_numbers(slopes @ loss.T) for loss in losses]
        yield [influence.reshape(len(risks), m, len(table)) for influence in found]


def _as_numbers(influence: FloatArray) -> FloatArray:
    """Return influences with 0 where they are undefined, which to look for is far faster."""
    return influence if np.isfinite(influence).all() else np.nan_to_num(influence)


def variance_of_any(measure: Measure) -> FloatArray:
    """Return the variance of a number anywhere in the range of each component, shape (m,).

    Of a range without an end it is infinite.
    """
    low, high = np.transpose([one.bounds for one in measure.components])
    return np.asarray((high - low) ** 2 / 12)


def _calibrate_weights(
    measure: Measure, inputs: EstimationInput, domain: Domain, inside: npt.NDArray[np.bool_]
) -> CalibratedWeights:
    """Calibrate to the label-free losses: 0 outside the domain, their means are known."""
    table, known = inputs.table, list(measure.known)
    mass = np.zeros((len(table), table.classes))
    mass[:, 0] = domain.rows(table) / table.rows
    mean = model_risk(measure, table, mass)[known]
    losses = inputs.votes.mean(measure.loss(inputs.outputs, inputs.label)[:, known])
    losses = losses * inside[:, None]
    return calibrate(inputs.sample.weight, losses, mean)
