"""Estimates of measures with the influence of each labelled row: all that variances need."""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.inference.domains import Domain
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.known_totals import CalibratedWeights, calibrate
from evalsampling.measures.base import FloatArray, Measure
from evalsampling.measures.on_cells import bounding_outputs, each_label, model_risk
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
    weight, table = inputs.sample.weight, inputs.table
    factor = inside * (table.rows / max(int(domain.rows(table).sum()), 1))
    if calibrate and len(weight):
        calibrated = _calibrate_weights(measure, inputs, domain, inside)
        risk = sampled_risk(measure, inputs, calibrated.weight * factor)
        influence = _influence(measure, inputs, risk) * factor[:, None]
        return measure.value(risk), calibrated.residuals(influence)
    if inputs.response is not None:
        return _by_model(measure, inputs, domain, inside, weight * factor)
    of_share = domain.count is not None or inputs.self_normalised
    if not (of_share and inputs.covers_pool and np.any(weight @ factor)):
        risk = sampled_risk(measure, inputs, weight * factor)
        return measure.value(risk), _influence(measure, inputs, risk) * factor[:, None]
    factor = factor / (weight @ factor)
    risk = sampled_risk(measure, inputs, weight * factor)
    influence = _influence(measure, inputs, risk)
    return measure.value(risk), (influence - (weight * factor) @ influence) * factor[:, None]


def sampled_risk(measure: Measure, inputs: EstimationInput, weight: FloatArray) -> FloatArray:
    """Return the weighted sum of losses, shape (d,), given the weight of each labelled row."""
    return measure.mean_loss(inputs.outputs, inputs.label, inputs.votes.spread(weight))


def _influence(measure: Measure, inputs: EstimationInput, risk: FloatArray) -> FloatArray:
    """Return Dg(risk) l of each labelled row, shape (n, m), the mean over its answers."""
    return inputs.votes.mean(measure.influence(inputs.outputs, inputs.label, risk))


def _by_model(
    measure: Measure,
    inputs: EstimationInput,
    domain: Domain,
    inside: npt.NDArray[np.bool_],
    weight: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the difference estimator, or the end of the range that it lies beyond.

    Where it errs by more than any number in the range would, as it does when the model is far off
    in cells whose rows weigh much, or has no value at a risk that no labels can have, that of the
    weights alone.
    """
    value, influence = _differences(measure, inputs, domain, weight)
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
    measure: Measure,
    inputs: EstimationInput,
    domain: Domain,
    weight: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return g(R^) and the influence of each row, R^ being the difference estimator.

    The model's total over the cells, and the weighted sum of what the labels differ from it
    (Särndal, Swensson and Wretman, *Model Assisted Survey Sampling*, 1992, eq. 6.3.4). Put in
    another way: rows that the weights of their cell do not account for have the model's labels.
    Where weights account for more rows than a cell has, it may leave the range of the measure.

    Args:
        measure: what is estimated.
        inputs: from what.
        domain: on what part of the pool.
        weight: shape (n,): of the labelled rows, 0 outside the domain, summing to 1 or so.
    """
    assert inputs.response is not None
    table, response = inputs.table, inputs.response
    cell = inputs.history.cell[inputs.sample.question]
    rows = domain.rows(table)
    share = rows / max(int(rows.sum()), 1) - np.bincount(cell, weight, len(table))
    risk = sampled_risk(measure, inputs, weight)
    risk = risk + model_risk(measure, table, share[:, None] * response)
    mean = np.einsum("cy,cym->cm", response, influence_by_cell(measure, table, risk))
    factor = np.divide(weight, inputs.sample.weight)[:, None]
    influence = _influence(measure, inputs, risk)
    return measure.value(risk), (influence - mean[cell]) * factor


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
