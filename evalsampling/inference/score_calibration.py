"""Calibration of scores on the labels so far, before the next rows are drawn by them.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, section 4.5
    (one-dimensional logistic or isotonic regression on the decision function value).
    R. E. Barlow, D. J. Bartholomew, J. M. Bremner and H. D. Brunk, *Statistical Inference under
    Order Restrictions*, Wiley 1972, section 1.2 (pool adjacent violators).
"""

import copy
import dataclasses
from typing import Protocol

import numpy as np
import scipy

from evalsampling.errors import InputError
from evalsampling.inference.anticipation import calibrated_prior
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History

CALIBRATIONS = ("logistic", "isotonic")
"""Names of the calibrations that a spec may ask for."""

_LEAST = 1e-9
"""Least probability of a class, so that no row is out of reach."""

_ROUNDING = 1e-6
"""How far the probabilities of a cell may sum up to something else than 1."""


class OwnModel(Protocol):
    """A function of cells and labels; of the same ones it must return the same.

    Both are copies: what it writes into them changes nothing else.
    """

    def __call__(self, cells: CellTable, labels: FloatArray) -> FloatArray:
        """Return P(label | cell), shape (cells, classes), rows summing to 1.

        ``labels``, shape (cells, classes), are those of each class so far. Which rows of a cell
        have labels does not depend on the labels, so they have no weights. Of a stochastic oracle
        an answer counts once; several to a question share one.
        """


Calibration = str | OwnModel | None
"""A name in `CALIBRATIONS`, a model of the user's own, or None for the scores as they are."""

PSEUDO_LABELS = 30.0
"""Weight of the logistic fit in isotonic regression, in labels spread evenly over the pool.

Without such pseudo-labels, adjacent cells without a labelled positive would get the rate 0.
Pseudo-labels at the uncalibrated probabilities would do harm where these are overconfident (see
docs/active_risk.md)."""


def check_calibration(calibration: Calibration) -> None:
    """Check that a calibration is a function, or the name of one."""
    if calibration is not None and not callable(calibration) and calibration not in CALIBRATIONS:
        names = ", ".join(CALIBRATIONS)
        raise ValueError(f"calibration must be {names} or module:object, got {calibration!r}")


def recalibrated(
    table: CellTable, history: History, calibration: Calibration, system: int = 0
) -> FloatArray:
    """Return the probability of each class in each cell, shape (cells, classes), rows summing to 1.

    It is the prior without a calibration, and without labels unless an own model says otherwise.
    The predictions of a system enter the logistic regression.
    """
    if calibration is not None and not isinstance(calibration, str):
        return probabilities("sampler.calibration", calibration, table, history)
    if calibration is None or not len(history.labelled):
        return table.prior
    fit = calibrated_prior if calibration == "logistic" else isotonic_prior
    return fit(table, history.seen(len(table), table.classes), system)


def recalibrated_table(
    table: CellTable, history: History, calibration: Calibration, system: int = 0
) -> CellTable:
    """Return the cells with their prior calibrated: see `recalibrated`."""
    prior = recalibrated(table, history, calibration, system)
    return table if prior is table.prior else dataclasses.replace(table, prior=prior)


def isotonic_prior(table: CellTable, seen: FloatArray, system: int = 0) -> FloatArray:
    """Return the probability of each class in each cell, by isotonic regression on the prior.

    The least-squares fit to the labels and to `PSEUDO_LABELS` more at the rates of the logistic
    regression. It needs no weights: which row of a cell has a label does not depend on the label.
    """
    smooth = calibrated_prior(table, seen, system)
    pseudo = PSEUDO_LABELS * table.count / table.rows
    weight = seen.sum(axis=1) + pseudo
    rate = np.empty((len(table), table.classes))
    for c in range(table.classes):
        place = np.unique(table.prior[:, c], return_inverse=True)[1]  # equal priors, equal rates
        hits = np.bincount(place, seen[:, c] + pseudo * smooth[:, c])
        weights = np.bincount(place, weight)
        rate[:, c] = scipy.optimize.isotonic_regression(hits / weights, weights=weights).x[place]
    total = rate.sum(axis=1, keepdims=True)
    return np.where(total > 0, rate / np.where(total > 0, total, 1.0), 1 / table.classes)


def probabilities(key: str, model: OwnModel, table: CellTable, history: History) -> FloatArray:
    """Return the probability of each label in each cell by an own model; messages name the key."""
    labels = history.seen(len(table), table.classes)
    own = copy.deepcopy(dataclasses.replace(table))  # Without what is remembered of the cells.
    try:
        values = np.asarray(model(own, labels), dtype=np.float64)
    except Exception as error:  # Whatever a function of somebody else raises.
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{key}: the model failed: {text}") from error
    problem = _problem(values, (len(table), table.classes))
    if problem:
        raise InputError(f"{key}: {problem}")
    floored: FloatArray = np.maximum(values, _LEAST)
    return floored / floored.sum(axis=1, keepdims=True)


def _problem(values: FloatArray, shape: tuple[int, int]) -> str:
    """Return why values are no probabilities of cells, in words; empty if they are."""
    if values.shape != shape:
        return f"the model must return an array of shape {shape}, got {values.shape}"
    wrong = ~((values >= 0) & (values <= 1 + _ROUNDING))  # NaN is not.
    if wrong.any():
        cell = int(np.flatnonzero(wrong.any(axis=1))[0])
        worst = values[cell][wrong[cell]][0]
        return f"the model must return probabilities from 0 to 1, got {worst} in cell {cell}"
    sums = values.sum(axis=1)
    cell = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[cell] - 1) > _ROUNDING:
        return f"the probabilities of a cell must sum up to 1, got {sums[cell]:.6g} in cell {cell}"
    return ""
