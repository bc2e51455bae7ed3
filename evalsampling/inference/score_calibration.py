"""Scores turned into probabilities by the labels so far, before rows are drawn by them.

References:
    C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, section 4.5
    (one-dimensional logistic or isotonic regression on the decision function value).
    R. E. Barlow, D. J. Bartholomew, J. M. Bremner and H. D. Brunk, *Statistical Inference under
    Order Restrictions*, Wiley 1972, section 1.2 (pool adjacent violators).
"""

import dataclasses

import numpy as np
import scipy

from evalsampling.arrays import FloatArray
from evalsampling.inference.anticipation import calibrated_prior
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History

CALIBRATIONS = ("logistic", "isotonic")
"""What a spec may ask for."""

PSEUDO_LABELS = 30.0
"""Labels that the logistic fit counts for in isotonic regression, spread evenly over the pool.

Without any, a run of cells without a positive would be taken to have none. Pseudo-labels as the
scores say would do harm where these are too sure of themselves (see docs/active_risk.md)."""


def check_calibration(calibration: str | None) -> None:
    """Check the name of a calibration.

    Raises:
        ValueError: there is none of it.
    """
    if calibration is not None and calibration not in CALIBRATIONS:
        known = " or ".join(CALIBRATIONS)
        raise ValueError(f"calibration must be {known}, got {calibration!r}")


def recalibrated(
    table: CellTable, history: History, calibration: str | None, system: int = 0
) -> FloatArray:
    """Return the probability of each class in each cell, shape (cells, classes), rows summing to 1.

    The prior as it is without a calibration, or without a label.

    Args:
        table: the cells.
        history: rounds and labels so far.
        calibration: of `CALIBRATIONS`, or None.
        system: whose predictions count in the logistic regression.
    """
    if calibration is None or not len(history.labelled):
        return table.prior
    fit = calibrated_prior if calibration == "logistic" else isotonic_prior
    return fit(table, history.seen(len(table), table.classes), system)


def recalibrated_table(
    table: CellTable, history: History, calibration: str | None, system: int = 0
) -> CellTable:
    """Return the cells with their prior calibrated: see `recalibrated`."""
    prior = recalibrated(table, history, calibration, system)
    return table if prior is table.prior else dataclasses.replace(table, prior=prior)


def isotonic_prior(table: CellTable, seen: FloatArray, system: int = 0) -> FloatArray:
    """Return the prior after an isotonic regression of labels on it, for each class.

    The rate of a class in a cell is the least-squares fit, increasing with the cell's prior of the
    class, to the labels and to `PSEUDO_LABELS` more that are as the logistic regression says. Which
    row of a cell has a label does not depend on the label, so the fit needs no weights of the
    design.

    Args:
        table: the cells.
        seen: shape (cells, classes): labels of each class, see `History.seen`.
        system: whose predictions count in the logistic regression.

    Returns:
        Shape (cells, classes), rows summing to 1.
    """
    smooth = calibrated_prior(table, seen, system)
    pseudo = PSEUDO_LABELS * table.count / table.rows
    weight = seen.sum(axis=1) + pseudo
    rate = np.stack(
        [
            _increasing(table.prior[:, c], seen[:, c] + pseudo * smooth[:, c], weight)
            for c in range(table.classes)
        ],
        axis=1,
    )
    total = rate.sum(axis=1, keepdims=True)
    return np.where(total > 0, rate / np.where(total > 0, total, 1.0), 1 / table.classes)


def _increasing(prior: FloatArray, hits: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the isotonic fit to hits / weight; cells of the same prior have the same value."""
    _, place = np.unique(prior, return_inverse=True)
    weights = np.bincount(place, weight)
    fit = scipy.optimize.isotonic_regression(np.bincount(place, hits) / weights, weights=weights)
    return np.asarray(fit.x[place], dtype=np.float64)
