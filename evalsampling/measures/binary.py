"""Measures of hard predictions: f is "predicted positive", y "is positive".

Losses and mappings are those of [MR] table 1, where it has the measure. 0/0 is NaN.
"""

import dataclasses
from typing import Annotated, ClassVar

import numpy as np

from evalsampling.measures.base import (
    PREDICTION,
    Mean,
    Measure,
    Ratio,
    Share,
    divide,
    set_own,
    takes_columns,
)
from evalsampling.spec.parameters import check_parameters
from evalsampling.spec.values import Meta, Proportion
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.outputs import Outputs

ROUNDING = 1e-12
"""A share this close to 1 differs from it by rounding only: no pool has 1e12 rows."""


def is_inside(share: FloatArray) -> BoolArray:
    """Return whether shares, maybe complex, lie strictly between 0 and 1 up to rounding."""
    return np.asarray((np.real(share) > 0) & (np.real(share) < 1 - ROUNDING))


@dataclasses.dataclass(frozen=True)
class Accuracy(Measure):
    """Accuracy, of any number of classes: l = [1 if y differs from f], g(R) = 1 - R.

    [MR] table 1. Always defined.
    """

    system: int = 0
    name = "accuracy"
    looks_at = PREDICTION
    label_kinds = frozenset({"classes", "sets"})
    affine = True

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        return (outputs.prediction[:, [self.system]] != label[:, None]).astype(np.float64)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        everything = np.ones(len(label), dtype=bool)
        right = outputs.prediction[:, self.system] == label
        return (Share("accuracy", "labels", everything, right, "right prediction", "error"),)

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        return 1 - risk


@dataclasses.dataclass(frozen=True)
class Binary(Measure):
    """Base of measures for a positive class. The evidence is the rows that its name says.

    Attributes:
        positive: code of the positive class.
        made_of: names in `_SHARES` of the shares that the measure is a function of.
    """

    made_of: ClassVar[tuple[str, ...]] = ()

    positive: int = 1
    system: int = 0
    evidence_name = "positives"
    looks_at = PREDICTION

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return self._kinds(outputs, label)[self.evidence_name]

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        rows = self._kinds(outputs, label)
        return tuple(
            Share(name, among, rows[among], rows[hits], hit, miss)
            for name in self.made_of
            for among, hits, hit, miss in [_SHARES[name]]
        )

    def _flags(self, outputs: Outputs, label: IntArray) -> tuple[BoolArray, BoolArray]:
        """Return f and y, each of shape (n,)."""
        return outputs.prediction[:, self.system] == self.positive, label == self.positive

    def _kinds(self, outputs: Outputs, label: IntArray) -> dict[str, BoolArray]:
        """Return which rows are of each kind that `_SHARES` names, shape (n,) each."""
        f, y = self._flags(outputs, label)
        predicted = {"predicted positives": f, "predicted negatives": ~f}
        return {"positives": y, "negatives": ~y, **predicted}


_SHARES = {
    "recall": ("positives", "predicted positives", "true positive", "false negative"),
    "specificity": ("negatives", "predicted negatives", "true negative", "false positive"),
    "precision": ("predicted positives", "positives", "true positive", "false positive"),
    "npv": ("predicted negatives", "negatives", "true negative", "false negative"),
}
"""For each share: its rows, which of them are hits, and the words for a hit and for a miss."""


@dataclasses.dataclass(frozen=True)
class FBeta(Binary, Ratio):
    """F_beta = TP / (alpha PP + (1 - alpha) P), alpha = 1 / (1 + beta^2).

    l = [y f, alpha f + (1 - alpha) y], g(R) = R1 / R2 ([MR] table 1, [Y] eq. 3). Undefined if no
    row adds to the denominator. Alpha is what [Y] calls so and [AE] eq. 3.26 eta: 0 is recall, 1
    precision, 1/2 F1.

    References:
        [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021.
        [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012.

    Attributes:
        beta: weight of recall against precision, from 0.001 to 1000.
        alpha: weight of precision in the harmonic mean, in [0, 1], in place of beta.
    """

    beta: Annotated[float, Meta(ge=1e-3, le=1e3, description="between 0.001 and 1000")] = 1.0
    alpha: Proportion | None = None
    made_of = ("recall", "precision")

    def __post_init__(self) -> None:
        check_parameters(self)
        shown = f"beta={self.beta:.12g}"
        if self.alpha is not None:
            if self.beta != 1:
                raise ValueError("it takes beta or alpha, not both")
            shown = f"alpha={self.alpha:g}"
        set_own(self, name="f1" if self.weight_of_precision == 0.5 else f"f_beta({shown})")

    @property
    def weight_of_precision(self) -> float:
        """Alpha, given as such or by beta."""
        return 1 / (1 + self.beta**2) if self.alpha is None else self.alpha

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        f, y = self._flags(outputs, label)
        alpha = self.weight_of_precision
        return np.stack([y & f, alpha * f + (1 - alpha) * y], axis=1, dtype=np.float64)


class ShareOfRows(Binary, Ratio):
    """Base of measures that are one share, of hits or of misses: g(R) = R1 / R2."""

    of_misses: ClassVar[bool] = False

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return whether a row counts among those of the share, and whether it is one: (n, 2)."""
        (share,) = self.shares(outputs, label)
        counts = share.rows & (share.hits != self.of_misses)
        return np.stack([counts, share.rows], axis=1, dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class Precision(ShareOfRows):
    """Precision TP / PP: l = [y f, f], g(R) = R1 / R2 ([MR] table 1)."""

    name = "precision"
    made_of = ("precision",)
    is_of_known_rows = True
    evidence_name = "predicted positives"


@dataclasses.dataclass(frozen=True)
class Recall(ShareOfRows):
    """Recall TP / P: l = [y f, y], g(R) = R1 / R2 ([MR] table 1)."""

    name = "recall"
    made_of = ("recall",)


@dataclasses.dataclass(frozen=True)
class Specificity(ShareOfRows):
    """Specificity TN / N: l = [(1 - y) (1 - f), 1 - y], g(R) = R1 / R2."""

    name = "specificity"
    made_of = ("specificity",)
    evidence_name = "negatives"


@dataclasses.dataclass(frozen=True)
class FalsePositiveRate(ShareOfRows):
    """False positive rate FP / N: l = [(1 - y) f, 1 - y], g(R) = R1 / R2."""

    name = "false_positive_rate"
    greater_is_better = False
    made_of = ("specificity",)
    evidence_name = "negatives"
    of_misses = True


@dataclasses.dataclass(frozen=True)
class NegativePredictiveValue(ShareOfRows):
    """Negative predictive value TN / PN: l = [(1 - y) (1 - f), 1 - f], g(R) = R1 / R2."""

    name = "npv"
    made_of = ("npv",)
    is_of_known_rows = True
    evidence_name = "predicted negatives"


@dataclasses.dataclass(frozen=True)
class Prevalence(Binary, Mean):
    """Share of positives: l = [y], g(R) = R. It depends on no system."""

    name = "prevalence"
    of_system = False

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        return (Share(self.name, self.evidence_name, self.evidence(outputs, label)),)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        return (label == self.positive).astype(np.float64)[:, None]


class Margins(Binary):
    """A measure of both margins and the true positives: l = [y f, y, f]."""

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        f, y = self._flags(outputs, label)
        return np.stack([y & f, y, f], axis=1, dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class BalancedAccuracy(Margins):
    """Mean of recall and specificity: g(R) = (R1 + R2 (1 - R2 - R3)) / (2 R2 (1 - R2)).

    [MR] table 1. Undefined without positives or without negatives.
    """

    name = "balanced_accuracy"
    undefined_without = "positives, or no negatives"
    made_of = ("recall", "specificity")

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        hit, y, f = risk[:1], risk[1:2], risk[2:]
        return divide(hit + y * (1 - y - f), np.where(is_inside(y), 2 * y * (1 - y), 0.0))


@dataclasses.dataclass(frozen=True)
class MatthewsCorrelation(Margins):
    """Matthews correlation: g(R) = (R1 - R2 R3) / sqrt(R2 R3 (1 - R2) (1 - R3)).

    [MR] table 1. Undefined if all labels, or all predictions, are the same.
    """

    name = "mcc"
    undefined_without = "positives, no negatives, no predicted positives or no predicted negatives"
    made_of = ("recall", "specificity", "precision", "npv")
    bounds = (-1.0, 1.0)

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        hit, y, f = risk[:1], risk[1:2], risk[2:]
        margins = np.where(is_inside(y) & is_inside(f), y * f * (1 - y) * (1 - f), 0.0)
        return divide(hit - y * f, np.sqrt(margins))


@dataclasses.dataclass(frozen=True)
class FowlkesMallows(Margins):
    """Geometric mean of precision and recall: g(R) = R1 / sqrt(R2 R3).

    [MR] table 1. Undefined without positives or without predicted positives.
    """

    name = "fowlkes_mallows"
    scale_free = True
    undefined_without = "positives, or no predicted positives"
    made_of = ("recall", "precision")

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        hit, y, f = risk[:1], risk[1:2], risk[2:]
        is_defined = (np.real(y) > 0) & (np.real(f) > 0)
        return divide(hit, np.sqrt(np.where(is_defined, y * f, 0.0)))
