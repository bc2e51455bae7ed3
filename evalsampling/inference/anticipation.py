"""The standard error of an estimate that calibrated scores predict.

A variance estimated from weighted rows reflects only the rows that were labelled. If positives are
among rows that are hardly ever drawn, it is too small until such a positive is drawn, and large
after. Scores that are calibrated by the labels so far predict how many such rows to expect.
"""

import numpy as np

from evalsampling.measures.base import Measure
from evalsampling.measures.expected_labels import influence_moments
from evalsampling.measures.on_cells import bounding_outputs, each_label, model_risk
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.log_odds import expit, logit

_CENTRE = np.array([0.0, 1.0, 0.0])
_PRECISION = 1 / np.array([5.0, 1.0, 2.0]) ** 2
"""Mean and precision of the normal prior of intercept, slope and effect of the prediction.

Without labels the coefficients are at their prior mean, which leaves the probabilities as they are.
"""

MOST_COMPONENTS = 384
"""Most components of a measure for which an error is predicted: it takes one number a cell each."""

_CLIP = 1e-9
_STEPS = 50


def calibrated_prior(table: CellTable, seen: FloatArray, system: int = 0) -> FloatArray:
    """Return the probability of each class in each cell: the prior, recalibrated on the labels.

    One logistic regression for each class, logit p = a + b logit(prior) + c 1[predicted], at the
    mode of the posterior, with the normal priors a ~ (0, 5), b ~ (1, 1), c ~ (0, 2) (mean, standard
    deviation). It needs no weights: which row of a cell has a label does not depend on the label.
    """
    predicted, rows = table.kinds.prediction[table.kinds.first, system], seen.sum(axis=1)
    slope = logit(np.clip(table.prior, _CLIP, 1 - _CLIP))
    by_class = [
        _regress(slope[:, c], predicted == c, seen[:, c], rows) for c in range(table.classes)
    ]
    chance = np.stack(by_class, axis=1)
    return chance / chance.sum(axis=1, keepdims=True)


def _regress(
    slope: FloatArray, predicted: BoolArray, hits: FloatArray, rows: FloatArray
) -> FloatArray:
    """Return the calibrated probability of one class in each cell, by Newton's method: (cells,)."""
    design = np.stack([np.ones_like(slope), slope, predicted.astype(np.float64)], axis=1)
    coefficient, information = _CENTRE.copy(), np.diag(_PRECISION)
    for _ in range(_STEPS):
        chance = expit(design @ coefficient)
        gradient = design.T @ (hits - rows * chance) - _PRECISION * (coefficient - _CENTRE)
        weighted = design * (rows * chance * (1 - chance))[:, None]
        step = np.linalg.solve(design.T @ weighted + information, gradient)
        # Steps are kept short: far from the mode the quadratic approximation overshoots.
        coefficient += np.minimum(np.maximum(step, -1), 1)
        if np.abs(step).max() < 1e-6:
            break
    return np.clip(expit(design @ coefficient), _CLIP, 1 - _CLIP)


def anticipated_error(
    measure: Measure,
    table: CellTable,
    risk: FloatArray,
    chance: FloatArray,
    prior: FloatArray,
    unlabelled: IntArray,
    draws: int,
) -> FloatArray:
    """Return the standard error of each component of a measure that a model predicts, shape (m,).

    sqrt( (1/N) sum over unlabelled rows of p^2 sum_y pi(y) (Dg l(x, y))^2 / q ): the root of the
    variance of N draws without the squared mean, which is small where rare positives dominate.

    `risk`: R^, at which Dg is taken. `chance`: q, the probability that one draw takes a given
    unlabelled row, shape (cells,), as `unlabelled`. `prior`: pi, shape (cells, classes).
    """
    share = unlabelled / table.rows
    spread = np.divide(share, table.rows * chance, out=np.zeros(len(table)), where=chance > 0)
    if table.kinds.expected is not None:
        mean, variance = influence_moments(measure, table.kinds, table.kinds.expected, risk)
        return np.asarray(np.sqrt(spread @ (mean**2 + variance) / draws))
    views = bounding_outputs(measure, table)
    total = np.zeros(len(measure.components))
    for y in each_label(table):
        of_kind = sum(measure.influence(outputs, y, risk) ** 2 for outputs in views)
        squares = table.kinds.by_cell(np.asarray(of_kind) / len(views))
        total += (spread * prior[:, y[0]]) @ squares
    return np.sqrt(total / draws)


def draw_moments(
    measure: Measure, table: CellTable, chance: FloatArray, self_normalised: bool
) -> tuple[float, float]:
    """Return the value of a measure by the prior, and the standard deviation of one draw.

    The variance is the sum over rows of p^2 / q sum_y pi(y) d^2, minus the squared mean of d, the
    influence of a row; with self-normalised weights d is centred first. The chance q that one draw
    takes a given row has the shape (cells,).
    """
    mass = table.prior * table.count[:, None]
    risk = model_risk(measure, table, mass) / table.rows
    views = bounding_outputs(measure, table)
    weight = table.count / table.rows
    ratio = np.divide(1 / table.rows, chance, out=np.zeros(len(table)), where=chance > 0)
    terms = [
        (y[0], np.nan_to_num(measure.influence(view, y, risk)[:, 0]))
        for view in views
        for y in each_label(table)
    ]
    mean = sum(
        float((weight * table.prior[:, y]) @ table.kinds.by_cell(influence))
        for y, influence in terms
    ) / len(views)
    centre = mean if self_normalised else 0.0
    square = sum(
        float((weight * ratio * table.prior[:, y]) @ table.kinds.by_cell((influence - centre) ** 2))
        for y, influence in terms
    ) / len(views)
    variance = square if self_normalised else square - mean**2
    return float(measure.value(risk)[0]), float(np.sqrt(max(variance, 0.0)))
