"""Estimates of measures with the influence of each labelled row, which variances need."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.inference.domains import Domain
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.known_totals import CalibratedWeights, calibrate
from evalsampling.measures.base import Measure
from evalsampling.measures.expected_labels import influence_moments
from evalsampling.measures.on_cells import (
    LARGEST_MATRIX,
    bounding_outputs,
    each_label,
    expected_risk,
    model_risk,
)
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable


def linearise(
    measure: Measure,
    inputs: EstimationInput,
    domain: Domain,
    inside: npt.NDArray[np.bool_],
    calibrate: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Return the estimate g(R^), shape (m,), and the influence of each labelled row, shape (n, m).

    The influence is 0 outside the domain. R^ of a domain is the weighted sum over its rows, divided
    by its known share of the pool. If every row could be drawn, it is divided by the estimate of
    this share instead, whose error is correlated with that of the numerator; self-normalised
    weights of the whole pool are treated alike. With ``calibrate``, weights are moved to reproduce
    the known means of the losses. With a model, see `_by_model`.
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
    """Return the standard error of `linearise` that rates of the classes predict, shape (m,).

    A variance estimated from labels reflects only the labels in the sample. Here each labelled row
    counts with the mean of its influence over the labels that it might have had. Calibration of
    weights to known totals is ignored.

    Args:
        measure: the measure that is estimated.
        inputs: the labelled rows and their weights.
        domain: the part of the pool.
        inside: shape (n,): whether a labelled row is in that part.
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
    """The terms whose weighted sum is the linear part of an estimate: (Dg(risk) l - centre) factor.

    Attributes:
        risk: R^, shape (d,).
        centre: shape (n, m), or (1, m) if it is the same for all labelled rows.
        factor: shape (n,): factor of each labelled row, 0 outside the domain.
    """

    risk: FloatArray
    centre: FloatArray
    factor: FloatArray

    def added(self, influence: FloatArray) -> FloatArray:
        """Return the term of each labelled row, shape (n, m), given its Dg(risk) l."""
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
    """Return the factors that turn the pool's weights of labelled rows into the domain's: (n,)."""
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
    """Return the difference estimate, cut at the measure's bounds, and each row's influence.

    The estimate from weights alone replaces it where it is undefined, and where its variance, or
    its squared distance from the range, is larger than the variance of a uniform number in the
    range. That happens when the model is far off in cells whose rows have large weights.
    """
    terms = _terms(measure, inputs, domain, inside)
    value = measure.value(terms.risk)
    influence = terms.added(_influence(measure, inputs, terms.risk))
    low, high = np.transpose([component.bounds for component in measure.components])
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

    It is the model's total over the cells plus the weighted sum of the differences between labels
    and model (Särndal, Swensson and Wretman, *Model Assisted Survey Sampling*, 1992, eq. 6.3.4).
    In other words, rows that the weights of their cell do not account for get the model's labels.
    If weights account for more rows than a cell has, the estimate may leave the measure's range.

    Args:
        measure: the measure that is estimated.
        inputs: the labelled rows, their weights and the model's rates.
        domain: the part of the pool.
        factor: shape (n,): factor of the weight of each labelled row.
    """
    assert inputs.response is not None
    table, response = inputs.table, inputs.response
    cell, weight = inputs.history.cell[inputs.sample.question], inputs.sample.weight * factor
    rows = domain.rows(table)
    share = rows / max(int(rows.sum()), 1) - np.bincount(cell, weight, len(table))
    risk = sampled_risk(measure, inputs, weight)
    if table.expected is not None:
        risk = risk + expected_risk(measure, table, share)
        centre = influence_moments(measure, table.outputs, table.expected, risk)[0]
    else:
        risk = risk + model_risk(measure, table, share[:, None] * response)
        centre = np.einsum("cy,cym->cm", response, influence_by_cell(measure, table, risk))
    return _Terms(risk, centre[cell], factor)


def influence_by_cell(measure: Measure, table: CellTable, risk: FloatArray) -> FloatArray:
    """Return the mean influence of a row of each cell with each label, 0 where undefined.

    Args:
        measure: the measure, with its g and l.
        table: the cells.
        risk: R^, the point at which the derivative of g is taken.

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
    """Yield, for each part, the mean influence of a row of each cell, by class: (n, m, cells) each.

    It is `influence_by_cell` at the n risks of the part. Losses are computed once for all risks,
    unless that takes matrices that are too large.

    Args:
        measure: the measure, with its g and l.
        table: the cells.
        parts: risks at which the derivatives of g are taken, shape (n, d) each, at least one part.
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
        slopes = measure.jacobians(risks).reshape(-1, d)
        influences = [_as_numbers(slopes @ loss.T) for loss in losses]
        yield [influence.reshape(len(risks), m, len(table)) for influence in influences]


def _as_numbers(influence: FloatArray) -> FloatArray:
    """Return influences with 0 where they are undefined."""
    # Most have none that are undefined: to test that is far faster than to make a copy.
    return influence if np.isfinite(influence).all() else np.nan_to_num(influence)


def variance_of_any(measure: Measure) -> FloatArray:
    """Return the variance of a uniform number in the range of each component, shape (m,).

    For an unbounded range it is infinite.
    """
    low, high = np.transpose([component.bounds for component in measure.components])
    return np.asarray((high - low) ** 2 / 12)


def _calibrate_weights(
    measure: Measure, inputs: EstimationInput, domain: Domain, inside: npt.NDArray[np.bool_]
) -> CalibratedWeights:
    """Return weights calibrated to the losses that need no label, whose means are known."""
    table, columns = inputs.table, list(measure.known)
    share = domain.rows(table) / table.rows
    if table.expected is not None:
        mean = expected_risk(measure, table, share)[columns]
    else:
        mass = np.zeros((len(table), table.classes))
        mass[:, 0] = share
        mean = model_risk(measure, table, mass)[columns]
    losses = inputs.votes.mean(measure.loss(inputs.outputs, inputs.label)[:, columns])
    losses = losses * inside[:, None]
    return calibrate(inputs.sample.weight, losses, mean)
