"""F_alpha and its averages over classes or labels: one family from recall to precision.

F_alpha = TP / (alpha (TP + FP) + (1 - alpha) (TP + FN)): alpha 0 is recall, 1 precision, 1/2 F1,
and 1 / (1 + beta^2) is F_beta; F_eta is F_alpha. y_c, f_c and tp_c are 1 if the row is of class c,
or has label c, if that is predicted, and if both are.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    equations 2, 90, 91 and 98 to 100.
"""

import dataclasses

import numpy as np

from evalsampling.measures.base import (
    Component,
    Share,
    rows_of_class,
    set_own,
    takes_columns,
)
from evalsampling.measures.binary import Binary
from evalsampling.measures.mean_and_ratio import Ratio, divide
from evalsampling.measures.multiclass import Averaged
from evalsampling.spec.parameters import check_share
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class FAlpha(Binary, Ratio):
    """F_alpha: l = [y f, alpha f + (1 - alpha) y], g(R) = R1 / R2 ([Y] eq. 3).

    Undefined if no row adds to the denominator.

    Attributes:
        alpha: weight of precision in the weighted harmonic mean, in [0, 1].
    """

    alpha: float = 0.5
    made_of = ("recall", "precision")

    def __post_init__(self) -> None:
        """Check alpha, which the name shows."""
        check_share("alpha", self.alpha)
        set_own(self, name=f"f_alpha(alpha={self.alpha:g})")

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return [y f, alpha f + (1 - alpha) y], shape (n, 2)."""
        f, y = self._flags(outputs, label)
        return np.stack([y * f, self.alpha * f + (1 - self.alpha) * y], axis=1)


@dataclasses.dataclass(frozen=True)
class FEta(FAlpha):
    """F_eta, another name of F_alpha: eta is alpha, so that 1/2 is F1, 0 recall and 1 precision.

    ([AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, eq. 3.26.
    There F_1 is precision; elsewhere it is F_beta with beta 1, which is F_eta with eta 1/2.)

    Attributes:
        eta: weight of precision in the weighted harmonic mean, in [0, 1].
    """

    alpha: float = dataclasses.field(default=0.5, init=False)
    eta: float = 0.5

    def __post_init__(self) -> None:
        """Check eta, which the name shows."""
        check_share("eta", self.eta)
        set_own(self, alpha=self.eta, name=f"f_eta(eta={self.eta:g})")


@dataclasses.dataclass(frozen=True)
class _AveragedFAlpha(Averaged):
    """Base of F_alphas of several classes.

    Attributes:
        alpha: weight of precision, in [0, 1].
    """

    alpha: float = 0.5
    _whose = "of a class"

    def __post_init__(self) -> None:
        """Check classes and alpha, which the name shows if it has "f_alpha" in it."""
        super().__post_init__()
        check_share("alpha", self.alpha)
        set_own(self, name=self.name.replace("f_alpha", f"f_alpha(alpha={self.alpha:g})"))

    @property
    def undefined_without(self) -> str:  # type: ignore[override]
        """The rows that the denominator counts, in words that follow "no"."""
        words = {0.0: "labels", 1.0: "predictions"}
        return f"{words.get(self.alpha, 'labels and no predictions')} {self._whose}"


@dataclasses.dataclass(frozen=True)
class MicroFAlpha(_AveragedFAlpha, Ratio):
    """F_alpha of the pooled counts: l = [sum_c tp_c, sum_c alpha f_c + (1 - alpha) y_c].

    ([Y] eq. 90 and 91.) Undefined if none of the averaged classes has what the denominator counts.
    Over all classes it is the accuracy; over some it is not.
    """

    _word = "micro_f_alpha"
    _whose = "of the classes"

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return pooled recall and precision, and the rows of each averaged class."""
        if self.tags is not None:
            return self._pooled_shares(outputs, label)
        if self.sets:
            return super().shares(outputs, label)
        f = outputs.prediction[:, self.system]
        words = ("right prediction", "wrong prediction")
        labelled, predicted = np.isin(label, self._codes), np.isin(f, self._codes)
        return (
            Share("pooled recall", "labels", labelled, f == label, *words),
            Share("pooled precision", "predictions", predicted, f == label, *words),
            *(rows_of_class(label, code, title=self._title(code)) for code in self._codes.tolist()),
        )

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return the pooled counts, shape (n, 2)."""
        hit, f, y = self._counts(outputs, label)
        denominator = self.alpha * f + (1 - self.alpha) * y
        return np.stack([hit.sum(axis=1), denominator.sum(axis=1)], axis=1)


@dataclasses.dataclass(frozen=True)
class PerClassFAlpha(_AveragedFAlpha):
    """F_alpha of each class or label: l = [tp_c (C), alpha f_c + (1 - alpha) y_c (C)].

    A component is undefined if no row adds to its denominator.
    """

    scale_free = True
    _word = "class_f_alpha"

    @property
    def components(self) -> tuple[Component, ...]:
        """One component for each class."""
        return tuple(
            Component(f"{self.name}[{self._title(code)}]", self.bounds, self.system)
            for code in self._codes.tolist()
        )

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return recall and precision of each class, for its component."""
        shares = super().shares(outputs, label)
        per_class = len(shares) // len(self._codes)
        return tuple(
            dataclasses.replace(share, components=(place // per_class, place // per_class + 1))
            for place, share in enumerate(shares)
        )

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return [tp_c (C), alpha f_c + (1 - alpha) y_c (C)], shape (n, 2 C)."""
        hit, f, y = self._counts(outputs, label)
        return np.concatenate([hit, self.alpha * f + (1 - self.alpha) * y], axis=1)

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        """Return F_alpha of each class, shape (C,), NaN where it is undefined."""
        hit, denominator = np.split(risk, 2)
        return divide(hit, denominator)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return Dg, shape (C, 2 C): NaN where `value` is."""
        hit, denominator = np.split(risk, 2)
        by_hit = divide(np.ones_like(hit), denominator)
        by_denominator = -divide(hit, denominator) * by_hit
        result = np.concatenate([np.diag(by_hit), np.diag(by_denominator)], axis=1)
        result[np.isnan(by_hit)] = np.nan
        return result


@dataclasses.dataclass(frozen=True)
class MacroFAlpha(PerClassFAlpha):
    """Mean of the F_alphas of C classes or labels, undefined if one of them is."""

    _word = "macro_f_alpha"
    components = Averaged.components
    shares = Averaged.shares

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        """Return the mean F_alpha, shape (1,)."""
        return super().value(risk).mean(axis=0, keepdims=True)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return Dg, shape (1, 2 C): NaN where `value` is."""
        return super().jacobian(risk).mean(axis=0, keepdims=True)


@dataclasses.dataclass(frozen=True)
class MicroF1(MicroFAlpha):
    """F1 of the pooled counts."""

    alpha: float = dataclasses.field(default=0.5, init=False)
    _word = "micro_f1"


@dataclasses.dataclass(frozen=True)
class MicroPrecision(MicroFAlpha):
    """Precision of the pooled counts."""

    alpha: float = dataclasses.field(default=1.0, init=False)
    _word = "micro_precision"


@dataclasses.dataclass(frozen=True)
class MicroRecall(MicroFAlpha):
    """Recall of the pooled counts."""

    alpha: float = dataclasses.field(default=0.0, init=False)
    _word = "micro_recall"


@dataclasses.dataclass(frozen=True)
class MacroF1(MacroFAlpha):
    """Mean of the F1s of classes or labels.

    As scikit-learn has it, but undefined if a class has neither label nor prediction.
    """

    alpha: float = dataclasses.field(default=0.5, init=False)
    _word = "macro_f1"


@dataclasses.dataclass(frozen=True)
class MacroPrecision(MacroFAlpha):
    """Mean of the precisions of classes or labels."""

    alpha: float = dataclasses.field(default=1.0, init=False)
    _word = "macro_precision"


@dataclasses.dataclass(frozen=True)
class MacroRecall(MacroFAlpha):
    """Mean of the recalls of classes or labels."""

    alpha: float = dataclasses.field(default=0.0, init=False)
    _word = "macro_recall"


@dataclasses.dataclass(frozen=True)
class PerClassF1(PerClassFAlpha):
    """F1 of each class or label."""

    alpha: float = dataclasses.field(default=0.5, init=False)
    _word = "class_f1"


@dataclasses.dataclass(frozen=True)
class PerClassPrecision(PerClassFAlpha):
    """Precision of each class or label."""

    alpha: float = dataclasses.field(default=1.0, init=False)
    _word = "class_precision"


@dataclasses.dataclass(frozen=True)
class PerClassRecall(PerClassFAlpha):
    """Recall of each class or label."""

    alpha: float = dataclasses.field(default=0.0, init=False)
    _word = "class_recall"
