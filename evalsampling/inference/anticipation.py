"""The standard error that the scores and the labels make expect, beside the one that was estimated.

A variance estimated from weighted rows knows only of rows that were met. Where positives may hide
among rows that are hardly ever drawn, it is small until one of them is met, and large after. The
scores know better: calibrated by the labels so far, they tell how many such rows to expect.
"""

import numpy as np
import numpy.typing as npt

from evalsampling.arrays import FloatArray, IntArray
from evalsampling.measures.base import Measure
from evalsampling.measures.on_cells import bounding_outputs, each_label, model_risk
from evalsampling.stats.cells import CellTable
from evalsampling.stats.log_odds import expit, logit

_CENTRE = np.array([0.0, 1.0, 0.0])
_PRECISION = 1 / np.array([5.0, 1.0, 2.0]) ** 2
"""Normal prior of intercept, slope and effect of the prediction: scores as they are, but for..."""

MOST_COMPONENTS = 256
"""Most components of a measure for which an error is anticipated: it takes that many a cell."""

_CLIP = 1e-9
_STEPS = 50


def calibrated_prior(table: CellTable, seen: FloatArray, system: int = 0) -> FloatArray:
    """Return the probability of each class in each cell, the prior calibrated by labels.

    One logistic regression for each class, logit p = a + b logit(prior) + c 1[predicted], with the
    normal priors a ~ (0, 5), b ~ (1, 1), c ~ (0, 2) (mean, standard deviation), by its mode. Which
    row of a cell has a label does not depend on the label, so the likelihood needs no weights.

    Args:
        table: the cells.
        seen: shape (cells, classes): labels of each class, see `History.seen`.
        system: whose predictions count.

    Returns:
        Shape (cells, classes), rows summing to 1.
    """
    predicted = table.outputs.prediction[table.first_kind, system]
    chance = np.stack(
        [
            _regress(table.prior[:, c], predicted == c, seen[:, c], seen.sum(axis=1))
            for c in range(table.classes)
        ],
        axis=1,
    )
    return chance / chance.sum(axis=1, keepdims=True)


def _regress(
    prior: FloatArray, predicted: npt.NDArray[np.bool_], hits: FloatArray, rows: FloatArray
) -> FloatArray:
    """Return the calibrated chance of a class in each cell, by Newton's method."""
    slope = logit(np.clip(prior, _CLIP, 1 - _CLIP))
    design = np.stack([np.ones_like(slope), slope, predicted.astype(np.float64)], axis=1)
    coefficient = _CENTRE.copy()
    for _ in range(_STEPS):
        chance = expit(design @ coefficient)
        gradient = design.T @ (hits - rows * chance) - _PRECISION * (coefficient - _CENTRE)
        weighted = design * (rows * chance * (1 - chance))[:, None]
        step = np.linalg.solve(design.T @ weighted + np.diag(_PRECISION), gradient)
        # Steps are kept short: far from the mode the quadratic approximation overshoots.
        coefficient += np.clip(step, -1, 1)
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
    """Return the standard error to expect of rows without a label, of each component: (m,).

    sqrt( (1/N) sum over rows of p^2 sum_y pi(y) (Dg l(x, y))^2 / q ): the variance of N draws,
    but for the square of their mean, which is small beside it where it matters.

    Args:
        measure: what is estimated.
        table: the cells.
        risk: R^, where Dg is taken.
        chance: shape (cells,): q, of one draw to take a given row without a label.
        prior: shape (cells, classes): pi.
        unlabelled: shape (cells,): rows without a label.
        draws: N, at least 1.
    """
    views = bounding_outputs(measure, table)
    share = unlabelled / table.rows
    spread = np.divide(share, table.rows * chance, out=np.zeros(len(table)), where=chance > 0)
    total = np.zeros(len(measure.components))
    for y in each_label(table):
        of_kind = sum(measure.influence(outputs, y, risk) ** 2 for outputs in views)
        squares = table.mean_by_cell(np.asarray(of_kind) / len(views))
        total += (spread * prior[:, y[0]]) @ squares
    return np.sqrt(total / draws)


def draw_moments(
    measure: Measure, table: CellTable, chance: FloatArray, self_normalised: bool = False
) -> tuple[float, float]:
    """Return the value that the prior makes expect, and the deviation of one draw's contribution.

    The root of sum over rows of p^2 / q sum_y pi(y) d^2, less the square of the mean of d, d being
    the influence of the row on the measure; of self-normalised weights d less its mean. Divided by
    the root of the number of draws it is the standard error.

    Args:
        measure: of one component.
        table: the cells.
        chance: shape (cells,): q, of one draw to take a given row.
        self_normalised: whether weights are divided by their sum.
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
        float((weight * table.prior[:, y]) @ table.mean_by_cell(one)) for y, one in terms
    ) / len(views)
    centre = mean if self_normalised else 0.0
    square = sum(
        float((weight * ratio * table.prior[:, y]) @ table.mean_by_cell((one - centre) ** 2))
        for y, one in terms
    ) / len(views)
    variance = square if self_normalised else square - mean**2
    return float(measure.value(risk)[0]), float(np.sqrt(max(variance, 0.0)))
