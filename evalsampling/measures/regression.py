"""Measures of predicted numbers: means of the error e = f - y, its square and size, and R^2.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, eq. 3.1 and
    corollary 4.3; [TR] N. Marchant and B. Rubinstein, arXiv:2006.06963, table 2.
"""

import dataclasses
import math

import numpy as np

from evalsampling.label_spaces.numbers import ERRORS, FIRST, Numbers
from evalsampling.measures.base import (
    PREDICTION,
    Mean,
    Measure,
    Share,
    divide,
    set_own,
    takes_columns,
)
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.outputs import Outputs

_ROUNDING = 1e-12
"""A variance of labels below this share of their mean square is rounding error: it is computed to
16 digits, of sums of many rows."""


@dataclasses.dataclass(frozen=True)
class OfNumbers(Measure):
    """Base of measures of predicted numbers, whose predictive variance is the score.

    An observed label is the code of a number. The labels that a model expects are codes of errors
    in units of the standard deviation (`label_spaces.numbers`): of each of several systems, from
    which the errors of the others follow (`ComparedNumbers`).
    """

    numbers: Numbers | None = None
    system: int = 0
    looks_at = frozenset({"prediction", "score"})
    label_kinds = frozenset({"numbers"})
    bounds = (0.0, math.inf)
    greater_is_better: bool | None = False

    def __post_init__(self) -> None:
        if self.numbers is None:
            raise ValueError("it is about numbers: labels.range is missing")
        if not self.numbers.has_score:  # the variances of a cell's rows are known by their mean
            set_own(self, looks_at=PREDICTION)

    def error(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return e = f - y of rows, shape (n,)."""
        assert self.numbers is not None
        predicted, is_number = outputs.prediction[:, self.system], label >= FIRST
        error = np.where(is_number, 0, label)
        ahead: FloatArray = np.zeros(len(label))
        if self.numbers.has_score:
            variance = outputs.score[:, self.system]
        else:
            model, error = np.divmod(error, len(ERRORS))
            rows = np.arange(len(label))
            apart = predicted - outputs.prediction[rows, model]
            ahead = np.asarray(apart * self.numbers.step, dtype=np.float64)
            variance = outputs.score[rows, model]
        expected = ahead + ERRORS[error] * np.sqrt(np.maximum(variance, 0.0))
        observed = (predicted - label) * self.numbers.step
        return np.where(is_number, observed, expected)

    def adds(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows have an error, or by a label that is expected may have one: (n,)."""
        return np.any(self.loss(outputs, label) != 0, axis=1) | (label < FIRST)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return the rows alone: a mean of numbers has no hits."""
        return (Share("labels", "labels", np.ones(len(label), dtype=bool)),)


@dataclasses.dataclass(frozen=True)
class MeanSquaredError(OfNumbers, Mean):
    """Mean squared error: l = e^2, g(R) = R."""

    name = "mse"

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        return self.error(outputs, label)[:, None] ** 2


@dataclasses.dataclass(frozen=True)
class RootMeanSquaredError(OfNumbers):
    """Root mean squared error: l = e^2, g(R) = sqrt(R)."""

    name = "rmse"
    loss = MeanSquaredError.loss

    def value(self, risk: FloatArray) -> FloatArray:
        return np.sqrt(risk)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        if risk[0] == 0:
            return np.full((1, 1), np.nan)
        return 0.5 / np.sqrt(risk)[None]


@dataclasses.dataclass(frozen=True)
class MeanAbsoluteError(OfNumbers, Mean):
    """Mean absolute error: l = |e|, g(R) = R."""

    name = "mae"

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        return np.abs(self.error(outputs, label))[:, None]


@dataclasses.dataclass(frozen=True)
class MeanError(OfNumbers, Mean):
    """Mean error, or bias: l = e, g(R) = R; above 0 if predictions are too large."""

    name = "mean_error"
    incomparable = "the difference is that of the mean predictions, which needs no labels"
    bounds = (-math.inf, math.inf)
    greater_is_better = None

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        return self.error(outputs, label)[:, None]


@dataclasses.dataclass(frozen=True)
class CoefficientOfDetermination(OfNumbers):
    """R^2 = 1 - sum (y - f)^2 / sum (y - mean y)^2: the share of the labels' variance explained.

    l = [e^2, y, y^2, 1], g(R) = 1 - R1 / (R3 - R2^2 / R4). The 1 makes it a ratio of sums, so that
    weights that do not sum to 1 leave it as it is, and so does the number that y is measured from:
    the least of the range. [TR] table 2 has the mean of (f - mean y)^2 over the variance of y,
    which is R^2 of least-squares fits only.

    Of a label that is expected only the error is known: its loss is [e^2, 0, 0, 0]. So R^2 drives
    no sampling.
    """

    name = "r2"
    driven_by = "mse"
    incomparable = "systems have the same labels, so compare mse"
    bounds = (-math.inf, 1.0)
    scale_free = True
    greater_is_better = True
    undefined_without = "labels that differ"

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        assert self.numbers is not None
        is_number = label >= FIRST
        number = np.where(is_number, label - FIRST, 0) * self.numbers.step
        return np.stack([self.error(outputs, label) ** 2, number, number**2, is_number], axis=1)

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        return 1 - divide(risk[:1], _spread(risk))


def _spread(risk: FloatArray) -> FloatArray:
    """Return R3 - R2^2 / R4, shape (1,) or (1, n): 0 where it is no more than rounding error."""
    spread = risk[2:3] - divide(risk[1:2] ** 2, risk[3:4], 0.0)
    return np.where(spread > _ROUNDING * risk[2:3], spread, 0.0)
