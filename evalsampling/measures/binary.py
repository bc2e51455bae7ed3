"""Measures of one system for a positive class: f is "predicted positive", y "is positive".

Losses and mappings are those of [MR] table 1.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.measures.base import FloatArray, IntArray


@dataclasses.dataclass(frozen=True)
class _Ratio:
    """A ratio of two risks in [0, 1]: g(R) = R1 / R2."""

    positive: int = 1
    bounds = (0.0, 1.0)

    def value(self, risk: FloatArray) -> float:
        """Return R1 / R2, NaN for 0/0."""
        return float(risk[0] / risk[1]) if risk[1] else np.nan

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return [1 / R2, -R1 / R2^2], NaN where R2 is 0."""
        if not risk[1]:
            return np.full((1, 2), np.nan)
        return np.array([[1 / risk[1], -risk[0] / risk[1] ** 2]])

    def _flags(self, prediction: IntArray, label: IntArray) -> tuple[FloatArray, FloatArray]:
        f = (prediction[:, 0] == self.positive).astype(np.float64)
        return f, (label == self.positive).astype(np.float64)


@dataclasses.dataclass(frozen=True)
class FBeta(_Ratio):
    """F_beta = (1 + beta^2) TP / (beta^2 P + PP): l = [y f, (beta^2 y + f) / (1 + beta^2)].

    Attributes:
        beta: weight of recall against precision, from 0.001 to 1000.
    """

    beta: float = 1.0
    evidence_name = "positives"

    def __post_init__(self) -> None:
        """Check the weight."""
        if isinstance(self.beta, bool) or not isinstance(self.beta, int | float):
            raise ValueError(f"beta must be a number, got {self.beta!r}")
        if not 1e-3 <= self.beta <= 1e3:
            raise ValueError(f"beta must be between 0.001 and 1000, got {self.beta!r}")

    @property
    def name(self) -> str:
        """Return f1, or f_beta with its weight."""
        return "f1" if self.beta == 1 else f"f_beta(beta={self.beta:.12g})"

    def loss(self, prediction: IntArray, label: IntArray) -> FloatArray:
        """Return [y f, (beta^2 y + f) / (1 + beta^2)], shape (n, 2)."""
        f, y = self._flags(prediction, label)
        square = self.beta**2
        return np.stack([y * f, (square * y + f) / (1 + square)], axis=1)

    def evidence(self, prediction: IntArray, label: IntArray) -> npt.NDArray[np.bool_]:
        """Return the positives."""
        return label == self.positive


@dataclasses.dataclass(frozen=True)
class Precision(_Ratio):
    """Precision TP / PP: l = [y f, f]."""

    name = "precision"
    evidence_name = "predicted positives"

    def loss(self, prediction: IntArray, label: IntArray) -> FloatArray:
        """Return [y f, f], shape (n, 2)."""
        f, y = self._flags(prediction, label)
        return np.stack([y * f, f], axis=1)

    def evidence(self, prediction: IntArray, label: IntArray) -> npt.NDArray[np.bool_]:
        """Return the predicted positives."""
        return prediction[:, 0] == self.positive


@dataclasses.dataclass(frozen=True)
class Recall(_Ratio):
    """Recall TP / P: l = [y f, y]."""

    name = "recall"
    evidence_name = "positives"

    def loss(self, prediction: IntArray, label: IntArray) -> FloatArray:
        """Return [y f, y], shape (n, 2)."""
        f, y = self._flags(prediction, label)
        return np.stack([y * f, y], axis=1)

    def evidence(self, prediction: IntArray, label: IntArray) -> npt.NDArray[np.bool_]:
        """Return the positives."""
        return label == self.positive


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """Accuracy, of any number of classes: l = 1[y != f], g(R) = 1 - R."""

    positive: int = 1
    name = "accuracy"
    bounds = (0.0, 1.0)
    evidence_name = "labels"

    def loss(self, prediction: IntArray, label: IntArray) -> FloatArray:
        """Return 1 for each error, shape (n, 1)."""
        return (prediction[:, 0] != label).astype(np.float64)[:, None]

    def value(self, risk: FloatArray) -> float:
        """Return 1 - R."""
        return float(1 - risk[0])

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return [-1]."""
        return np.array([[-1.0]])

    def evidence(self, prediction: IntArray, label: IntArray) -> npt.NDArray[np.bool_]:
        """Return every row."""
        return np.ones(len(label), dtype=bool)
