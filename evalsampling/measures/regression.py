"""Measures of predicted numbers: means of the error e = f - y, of its square and its size.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, eq. 3.1 and
    corollary 4.3.
"""

import dataclasses
import math

import numpy as np

from evalsampling.label_spaces.numbers import ERRORS, FIRST, Numbers
from evalsampling.measures.base import Measure, Share
from evalsampling.measures.mean_and_ratio import Mean
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class OfNumbers(Measure):
    """Base of measures of predicted numbers, whose predictive variance is the score.

    An observed label is the code of a number. The labels that a model expects are codes of errors
    in units of the standard deviation (`label_spaces.numbers`).

    Attributes:
        numbers: the range of the labels.
        system: number of the system it is about.
    """

    numbers: Numbers | None = None
    system: int = 0
    looks_at = frozenset({"prediction", "score"})
    label_kinds = frozenset({"numbers"})
    bounds = (0.0, math.inf)

    def __post_init__(self) -> None:
        """Check that the labels have a range, so that they are numbers."""
        if self.numbers is None:
            raise ValueError("it is about numbers: labels.range is missing")

    def error(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return e = f - y of rows, shape (n,)."""
        assert self.numbers is not None
        is_number = label >= FIRST
        deviation = np.sqrt(np.maximum(outputs.score[:, self.system], 0.0))
        expected = ERRORS[np.where(is_number, 0, label)] * deviation
        observed = (outputs.prediction[:, self.system] - label) * self.numbers.step
        return np.where(is_number, observed, expected)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return the rows alone: a mean of numbers has no hits."""
        return (Share("labels", "labels", np.ones(len(label), dtype=bool)),)


@dataclasses.dataclass(frozen=True)
class MeanSquaredError(OfNumbers, Mean):
    """Mean squared error: l = e^2, g(R) = R."""

    name = "mse"

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return e^2, shape (n, 1)."""
        return self.error(outputs, label)[:, None] ** 2


@dataclasses.dataclass(frozen=True)
class RootMeanSquaredError(OfNumbers):
    """Root mean squared error: l = e^2, g(R) = sqrt(R)."""

    name = "rmse"

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return e^2, shape (n, 1)."""
        return self.error(outputs, label)[:, None] ** 2

    def value(self, risk: FloatArray) -> FloatArray:
        """Return sqrt(R), shape (1,)."""
        return np.sqrt(risk)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return 1 / (2 sqrt(R)), shape (1, 1): NaN where R is 0."""
        if risk[0] == 0:
            return np.full((1, 1), np.nan)
        return 0.5 / np.sqrt(risk)[None]


@dataclasses.dataclass(frozen=True)
class MeanAbsoluteError(OfNumbers, Mean):
    """Mean absolute error: l = |e|, g(R) = R."""

    name = "mae"

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return |e|, shape (n, 1)."""
        return np.abs(self.error(outputs, label))[:, None]


@dataclasses.dataclass(frozen=True)
class MeanError(OfNumbers, Mean):
    """Mean error, or bias: l = e, g(R) = R; above 0 if predictions are too large."""

    name = "mean_error"
    bounds = (-math.inf, math.inf)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return e, shape (n, 1)."""
        return self.error(outputs, label)[:, None]
