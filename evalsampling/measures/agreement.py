"""Predictions against labels, of two classes and more: agreement beyond chance, confusion.

References:
    J. Cohen, *A coefficient of agreement for nominal scales*, Educational and Psychological
    Measurement 20, 1960; *Weighted kappa*, Psychological Bulletin 70, 1968.
    J. Gorodkin, *Comparing two K-category assignments by a K-category correlation coefficient*,
    Computational Biology and Chemistry 28, 2004, eq. 8.
"""

import contextlib
import dataclasses
import functools

import numpy as np

from evalsampling.measures.base import (
    PREDICTION,
    Component,
    Mean,
    Measure,
    Share,
    divide,
    set_own,
    takes_columns,
)
from evalsampling.measures.binary import ROUNDING, MatthewsCorrelation
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.outputs import Outputs

POWERS = {"linear": 1, "quadratic": 2}
"""Weights of disagreement of classes in order: powers of their distance."""


@dataclasses.dataclass(frozen=True)
class BeyondChance(Measure):
    """Base of measures of disagreement and margins: l = [W[f, y], y_c (C - 1), f_c (C - 1)].

    The margins leave out one class, `rest`, whose share is what the others leave. So a row that is
    of this class and predicted it adds nothing, as true negatives add nothing to F1.

    Attributes:
        classes: number of classes C, at least 2.
        titles: what each class is called; its code if not given.
        rest: code of the class whose margins are left out.
    """

    classes: int
    system: int = 0
    titles: tuple[str, ...] = ()
    rest: int = 0
    looks_at = PREDICTION
    bounds = (-1.0, 1.0)

    @property
    def is_of_known_rows(self) -> bool:
        """Whether there are more than two classes: then all rows count about alike."""
        return self.classes > 2

    @functools.cached_property
    def table(self) -> FloatArray:
        """The disagreement W of each prediction and label, from 0 to 1: shape (C, C)."""
        return 1.0 - np.eye(self.classes)

    @functools.cached_property
    def _others(self) -> IntArray:
        return np.delete(np.arange(self.classes), self.rest)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        predicted = outputs.prediction[:, self.system]
        margins = [codes[:, None] == self._others for codes in (label, predicted)]
        return np.concatenate([self.table[predicted, label][:, None], *margins], axis=1)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return the right predictions among rows of, or predicted, another class than each."""
        if self.classes == 2:
            return MatthewsCorrelation(1 - self.rest, self.system).shares(outputs, label)
        predicted = outputs.prediction[:, self.system]
        titles = self.titles or tuple(map(str, range(self.classes)))
        right, words = predicted == label, ("right prediction", "error")
        return tuple(
            Share(f"accuracy of {name}", name, codes != code, right, *words)
            for code, title in enumerate(titles)
            for what, codes in {"labels": label, "predictions": predicted}.items()
            for name in [f"{what} other than {title}"]
        )

    def _parts(self, risk: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return disagreement (1, ...), and margins of labels and predictions, each (C, ...)."""
        margins = []
        for others in np.split(risk[1:], 2):
            margin = np.insert(others, self.rest, 1 - others.sum(axis=0), axis=0)
            off = np.real(margin) - np.rint(np.real(margin))
            margins.append(margin - np.where(np.abs(off) < ROUNDING, off, 0.0))
        return risk[:1], margins[0], margins[1]


@dataclasses.dataclass(frozen=True)
class Kappa(BeyondChance):
    """Cohen's kappa: 1 - R1 / D, D = sum_cd y_c W_dc f_d, the disagreement that chance expects.

    Undefined where no disagreement is expected: all labels and all predictions are of one class.

    Attributes:
        weights: None if any two classes disagree alike; else ``linear`` or ``quadratic``, powers of
            the distance of two classes. It is that of the numbers that classes are, or else that of
            their places.
    """

    weights: str | None = None
    undefined_without = "labels or predictions of a second class"

    def __post_init__(self) -> None:
        if self.weights is not None and self.weights not in POWERS:
            raise ValueError(f"weights must be {' or '.join(POWERS)}, got {self.weights!r}")
        set_own(self, name="kappa" if self.weights is None else f"kappa(weights={self.weights})")

    @functools.cached_property
    def table(self) -> FloatArray:
        if self.weights is None:
            return super().table
        place = np.arange(self.classes, dtype=np.float64)
        with contextlib.suppress(ValueError):  # Texts stand in order.
            place = np.array([float(title) for title in self.titles]) if self.titles else place
        distance = np.abs(place[:, None] - place) ** POWERS[self.weights]
        return np.asarray(distance / distance.max())

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        found, y, f = self._parts(risk)
        expected = np.sum(f * (self.table @ y), axis=0)[None]
        return 1 - divide(found, np.where(np.real(expected) > 0, expected, 0.0))


@dataclasses.dataclass(frozen=True)
class MulticlassMatthews(BeyondChance):
    """Matthews' correlation of all classes at once, R_K of Gorodkin.

    g(R) = (D - R1) / sqrt((1 - sum_c y_c^2) (1 - sum_c f_c^2)), D = 1 - sum_c y_c f_c. Of two
    classes it is `MatthewsCorrelation`. Undefined if all labels, or all predictions, are of one
    class.
    """

    name = "multiclass_mcc"
    undefined_without = "labels of a second class, or no predictions of one"

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        found, y, f = self._parts(risk)
        spreads = [np.sum(each * (1 - each), axis=0)[None] for each in (y, f)]
        defined = np.all(np.real(spreads) > 0, axis=0)
        expected = np.sum(y * (1 - f), axis=0)
        return divide(expected - found, np.sqrt(np.where(defined, spreads[0] * spreads[1], 0.0)))


@dataclasses.dataclass(frozen=True)
class ConfusionMatrix(Mean):
    """Shares of all rows: l = [y_c f_d (C x C)], g(R) = R. Always defined.

    The components go through the labels, and for each label through the predictions; they sum to 1.

    Attributes:
        classes: number of classes C, at least 2.
        titles: names of the classes; their codes if empty.
    """

    classes: int
    system: int = 0
    titles: tuple[str, ...] = ()
    name = "confusion_matrix"
    looks_at = PREDICTION

    @property
    def components(self) -> tuple[Component, ...]:
        return tuple(
            self._component(f"[{label} as {prediction}]")
            for label in self._titles
            for prediction in self._titles
        )

    @property
    def _titles(self) -> tuple[str, ...]:
        return self.titles or tuple(map(str, range(self.classes)))

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        place = label * self.classes + outputs.prediction[:, self.system]
        return np.asarray(place[:, None] == np.arange(self.classes**2)).astype(np.float64)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        predicted = outputs.prediction[:, self.system]
        return tuple(
            Share(
                f"share of class {title} among rows predicted {guess_title}",
                f"rows predicted {guess_title}",
                predicted == guess,
                label == code,
                f"row of class {title}",
                "row of another class",
                (code * self.classes + guess, code * self.classes + guess + 1),
            )
            for code, title in enumerate(self._titles)
            for guess, guess_title in enumerate(self._titles)
        )
