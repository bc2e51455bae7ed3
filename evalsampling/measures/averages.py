"""F measures of several classes or labels: micro, macro and weighted averages, and one of each.

F_alpha = TP / (alpha (TP + FP) + (1 - alpha) (TP + FN)): alpha 0 is recall, 1 precision, 1/2 F1,
and 1 / (1 + beta^2) is F_beta. y_c, f_c and tp_c are 1 if the row is of class c, or has label c, if
that is predicted, and if both are.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    equations 2, 90, 91 and 98 to 102.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.label_spaces.sets import Sets, Tags
from evalsampling.measures.base import (
    PREDICTION,
    Component,
    Measure,
    Ratio,
    Share,
    divide,
    rows_of_class,
    set_own,
    takes_columns,
)
from evalsampling.measures.binary import FBeta
from evalsampling.spec.parameters import check_parameters
from evalsampling.spec.values import Proportion
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.derivatives import partial_derivatives
from evalsampling.stats.outputs import Outputs

ALPHA: Mapping[str, float] = {"recall": 0.0, "f1": 0.5, "precision": 1.0}
"""Weight of precision in the measures that are F_alphas, by name."""

_RECALL = ("true positive", "false negative")
_PRECISION = ("true positive", "false positive")
"""Words for hits and misses of these shares."""

_ROWS_AT_A_TIME = 1 << 13
"""Rows of many labels whose losses are computed at a time, to bound the memory they take."""


@dataclasses.dataclass(frozen=True)
class Averaged(Measure):
    """Base of averages over classes. The evidence is the labels of the rarest of them.

    Attributes:
        classes: number of classes, at least 2.
        over: distinct classes averaged over: a spec lists them by name, Python by their codes; all
            if None.
        sets: the space of labels of which a row may have several, which are the classes then;
            None if a row is of one class.
        titles: what each class is called in results and warnings; its code if not given.
    """

    classes: int
    system: int = 0
    over: tuple[int, ...] | None = None
    sets: Sets | None = None
    titles: tuple[str, ...] = ()
    evidence_name = "labels of the rarest class"
    undefined_without = "labels and no predictions of a class"
    looks_at = PREDICTION
    label_kinds = frozenset({"classes", "sets", "tags"})
    average: ClassVar[str] = ""
    """How a spec asks for it: the ``average`` of a measure."""
    _word: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.classes < 2:
            raise ValueError(f"{self._word} needs at least 2 classes, got {self.classes}")
        if self.over is not None and (
            not isinstance(self.over, tuple)
            or not self.over
            or len(set(self.over)) < len(self.over)
            or not set(self.over) <= set(range(self.classes))
        ):
            raise ValueError(
                f"over must hold distinct class codes below {self.classes}, got {self.over!r}"
            )
        over = "" if self.over is None else f"(over={'+'.join(map(self._title, self.over))})"
        set_own(self, name=self._word + over)

    @property
    def components(self) -> tuple[Component, ...]:
        return (self._component(of_pairs=self._is_tagged),)

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return np.asarray(self._holds(label).any(axis=1))

    def mean_loss(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        if not self._is_tagged or len(label) <= _ROWS_AT_A_TIME:
            return super().mean_loss(outputs, label, weight)
        starts = range(0, len(label), _ROWS_AT_A_TIME)
        rows = [np.arange(begin, min(begin + _ROWS_AT_A_TIME, len(label))) for begin in starts]
        return np.sum([weight[of] @ self.loss(outputs.take(of), label[of]) for of in rows], axis=0)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return recall and precision of each averaged class, pooled for means of many labels."""
        f, y = self._predicted(outputs).astype(np.bool_), self._holds(label)
        titles = list(map(self._title, self._codes.tolist()))
        if self._is_tagged and len(self.components) == 1:
            each = zip(titles, (f | y).T, strict=True)
            return (
                *self._pooled_shares(outputs, label),
                *(Share(f"label {of}", f"rows with or predicted label {of}", rows)
                  for of, rows in each),
            )  # fmt: skip
        kind = "class" if self.sets is None else "label"
        predicted = "predicted rows of" if self.sets is None else "rows predicted"
        shares = []
        for title, hits, rows in zip(titles, f.T, y.T, strict=True):
            of = f"{kind} {title}"
            shares += [
                Share(f"recall of {of}", f"rows of {of}", rows, hits, *_RECALL),
                Share(f"precision of {of}", f"{predicted} {of}", hits, rows, *_PRECISION),
            ]
        return tuple(shares)

    @property
    def family(self) -> str:
        """The measure of one class that it averages, as a spec names it."""
        alpha = getattr(self, "alpha", 0.5)
        return next((name for name, weight in ALPHA.items() if weight == alpha), "f_beta")

    @property
    def _is_tagged(self) -> bool:
        """Whether labels are too many for a code of each set."""
        return isinstance(self.sets, Tags)

    @functools.cached_property
    def _codes(self) -> IntArray:
        return np.arange(self.classes) if self.over is None else np.array(self.over)

    def _title(self, code: int) -> str:
        return self.titles[code] if self.titles else str(code)

    def _counts(
        self, outputs: Outputs, label: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return tp_c, f_c and y_c of the averaged classes, maybe expected: (n, classes) each."""
        f = self._predicted(outputs).astype(np.float64)
        if label.ndim == 3:
            held, hit = label[:, 0].astype(np.float64), label[:, 1 + self.system]
            return hit[:, self._codes].astype(np.float64), f, held[:, self._codes]
        y = self._holds(label).astype(np.float64)
        return y * f, f, y

    def _predicted(self, outputs: Outputs) -> npt.NDArray[Any]:
        """Return whether rows are predicted each averaged class, shape (n, classes)."""
        if outputs.tags is not None:
            return np.asarray(outputs.tags[:, self.system][:, self._codes])
        return self._holds(outputs.prediction[:, self.system])

    def _holds(self, code: IntArray) -> BoolArray:
        """Return whether rows are of each averaged class, shape (n, classes)."""
        if code.ndim == 3:
            return code[:, 0][:, self._codes] > 0
        if self.sets is not None:
            return self.sets.holds(code)[:, self._codes]
        return np.asarray(code[:, None] == self._codes)

    def _pooled_shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return the rows that pooled counts of many labels rest on: losses differ by row."""
        f, y = self._predicted(outputs).astype(np.bool_), self._holds(label)
        return (
            Share("pooled recall", "rows with labels", np.any(y, axis=1)),
            Share("pooled precision", "rows with predictions", np.any(f, axis=1)),
            Share("true positives", "rows with a true positive", np.any(y & f, axis=1)),
            Share("errors", "rows with an error", np.any(y != f, axis=1)),
        )


@dataclasses.dataclass(frozen=True)
class _AveragedF(Averaged):
    """Base of F measures of several classes.

    Attributes:
        alpha: weight of precision, in [0, 1].
    """

    alpha: Proportion = 0.5
    _whose = "of a class"

    @property
    def _word(self) -> str:  # type: ignore[override]
        """The name, as of all classes: ``macro_f1``."""
        shown = f"(alpha={self.alpha:g})" if self.family == "f_beta" else ""
        return f"{'class' if self.average == 'each' else self.average}_{self.family}{shown}"

    @property
    def undefined_without(self) -> str:  # type: ignore[override]
        words = {0.0: "labels", 1.0: "predictions"}
        return f"{words.get(self.alpha, 'labels and no predictions')} {self._whose}"


@dataclasses.dataclass(frozen=True)
class MicroF(_AveragedF, Ratio):
    """F_alpha of the pooled counts: l = [sum_c tp_c, sum_c alpha f_c + (1 - alpha) y_c].

    ([Y] eq. 90 and 91.) Undefined if none of the averaged classes has what the denominator counts.
    Over all classes it is the accuracy; over some it is not.
    """

    average = "micro"
    _whose = "of the classes"

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return pooled recall and precision, and the rows of each averaged class."""
        if self._is_tagged:
            return self._pooled_shares(outputs, label)
        if self.sets is not None:
            return super().shares(outputs, label)
        f = outputs.prediction[:, self.system]
        words = ("right prediction", "wrong prediction")
        labelled, predicted = np.isin(label, self._codes), np.isin(f, self._codes)
        return (
            Share("pooled recall", "labels", labelled, f == label, *words),
            Share("pooled precision", "predictions", predicted, f == label, *words),
            *(rows_of_class(label, code, self._title(code)) for code in self._codes.tolist()),
        )

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        hit, f, y = self._counts(outputs, label)
        denominator = self.alpha * f + (1 - self.alpha) * y
        return np.stack([hit.sum(axis=1), denominator.sum(axis=1)], axis=1)


@dataclasses.dataclass(frozen=True)
class PerClassF(_AveragedF):
    """F_alpha of each class or label: l = [tp_c (C), alpha f_c + (1 - alpha) y_c (C)].

    A component is undefined if no row adds to its denominator.
    """

    scale_free = True
    average = "each"

    @property
    def is_of_known_rows(self) -> bool:
        """Whether it is precision: rows predicted to be of a class are known, of one or of each."""
        return self.alpha == 1 and not self._is_tagged

    @property
    def components(self) -> tuple[Component, ...]:
        return tuple(self._component(f"[{self._title(code)}]") for code in self._codes.tolist())

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        shares = super().shares(outputs, label)
        per_class = len(shares) // len(self._codes)
        return tuple(
            dataclasses.replace(share, components=(place // per_class, place // per_class + 1))
            for place, share in enumerate(shares)
        )

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        hit, f, y = self._counts(outputs, label)
        return np.concatenate([hit, self.alpha * f + (1 - self.alpha) * y], axis=1)

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        hit, denominator = np.split(risk, 2)
        return divide(hit, denominator)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        hit, denominator = np.split(risk, 2)
        by_hit, by_denominator = partial_derivatives(divide, hit, denominator)
        result = np.concatenate([np.diag(by_hit), np.diag(by_denominator)], axis=1)
        result[np.isnan(by_hit)] = np.nan
        return result


@dataclasses.dataclass(frozen=True)
class MacroF(PerClassF):
    """Mean of the F_alphas of C classes or labels, undefined if one of them is."""

    average = "macro"
    components = Averaged.components
    shares = Averaged.shares

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        return super().value(risk).mean(axis=0, keepdims=True)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        return super().jacobian(risk).mean(axis=0, keepdims=True)


@dataclasses.dataclass(frozen=True)
class WeightedF1(Averaged):
    """Mean of the F1s of C classes, each weighted by its labels.

    l = [tp_c (C), (y_c + f_c) / 2 (C), y_c (C)],
    g(R) = sum_c R_{2C+c} (R_c / R_{C+c}) / sum_c R_{2C+c}.

    As scikit-learn has it: a class without labels has no weight. Undefined if no class has a label.
    """

    scale_free = True
    average = "weighted"
    _word = "weighted_f1"
    undefined_without = "labels of the classes"

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        hit, f, y = self._counts(outputs, label)
        return np.concatenate([hit, (y + f) / 2, y], axis=1)

    def value(self, risk: FloatArray) -> FloatArray:
        *_, weight = parts = np.split(risk, 3)
        return divide(_weighted_f(*parts).sum(keepdims=True), weight.sum(keepdims=True))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        *_, weight = parts = np.split(risk, 3)
        if not weight.sum():
            return np.full((1, len(risk)), np.nan)
        slopes = partial_derivatives(_weighted_f, *parts)
        slopes[2] -= self.value(risk)
        return slopes.reshape(1, -1) / weight.sum()


def _weighted_f(hit: FloatArray, denominator: FloatArray, weight: FloatArray) -> FloatArray:
    """Return each class's F times its weight, 0 without labels and predictions."""
    return weight * divide(hit, denominator, 0.0)


@dataclasses.dataclass(frozen=True)
class F1OfMacroAverages(Averaged):
    """Harmonic mean of macro precision and macro recall: l = [tp_c (C), y_c (C), f_c (C)].

    g(R) = 2 P S / (P + S) with P = (1/C) sum_c R_c / R_{2C+c}, S = (1/C) sum_c R_c / R_{C+c}
    (equations 101 and 102 of *Sample-efficient model evaluation*). Undefined if a class has no
    label or no prediction, and 0/0 if no prediction is right.
    """

    scale_free = True

    _word = "f1_of_macro_averages"
    undefined_without = "labels of a class, no predictions of one, or no right predictions"

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        hit, f, y = self._counts(outputs, label)
        return np.concatenate([hit, y, f], axis=1)

    def value(self, risk: FloatArray) -> FloatArray:
        hit, y, f = np.split(risk, 3)
        precision = divide(hit, f).mean(keepdims=True)
        recall = divide(hit, y).mean(keepdims=True)
        return divide(2 * precision * recall, precision + recall)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        hit, y, f = np.split(risk, 3)
        if not (y.all() and f.all() and hit.any()):
            return np.full((1, len(risk)), np.nan)
        precision, recall = np.mean(hit / f), np.mean(hit / y)
        by_precision = 2 * (recall / (precision + recall)) ** 2
        by_recall = 2 * (precision / (precision + recall)) ** 2
        slopes = [
            by_precision / f + by_recall / y,
            -by_recall * hit / y**2,
            -by_precision * hit / f**2,
        ]
        return np.concatenate(slopes)[None] / len(hit)


BY_AVERAGE: Mapping[str, type[Averaged]] = {
    "micro": MicroF,
    "macro": MacroF,
    "weighted": WeightedF1,
    "each": PerClassF,
}
"""Averages over classes or labels that a spec may ask for."""


def averaged(
    name: str, parameters: Mapping[str, Any]
) -> tuple[type[Averaged], dict[str, Any], dict[str, Any]]:
    """Return the class of an average that a spec asks for, its parameters, and the fixed ones."""
    own = dict(parameters)
    average = own.pop("average")
    known = [each for each in BY_AVERAGE if each != "weighted" or name == "f1"]
    if average not in known:
        raise InputError(
            f"measure.average: unknown average {average!r} of {name}; known: {', '.join(known)}"
        )
    if name in ALPHA:
        return BY_AVERAGE[average], own, {"alpha": ALPHA[name]}
    if "beta" in own:
        try:
            own["alpha"] = FBeta(beta=own.pop("beta"), alpha=own.get("alpha")).weight_of_precision
        except ValueError as error:
            raise InputError(f"measure: {name}: {error}") from error
    return BY_AVERAGE[average], own, {}
