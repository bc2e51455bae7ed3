"""Risks: mean losses of predicted probabilities, and those of a table of costs.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, eq. 3.1
    (risk) and 3.27 (generalized risk): the cost of each prediction for each label.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from evalsampling.measures.base import (
    PREDICTION,
    Mean,
    Measure,
    Ratio,
    Share,
    rows_of_class,
    set_own,
)
from evalsampling.spec.parameters import check_parameters
from evalsampling.spec.values import Meta, is_number
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.outputs import Outputs

ZERO_ONE = "zero_one"
BY_DISTANCE = {"squared": 2, "absolute": 1}
"""Losses of classes that are numbers: powers of the distance between prediction and label."""

Table = tuple[tuple[float, ...], ...]
"""A row for each predicted class, a column for each label."""


class Risk(Mean):
    """Base of mean losses of predicted probabilities: intervals need labels of every class."""

    titles: tuple[str, ...]  # what each class is called; empty: by its code
    looks_at = frozenset({"probability"})
    greater_is_better = False

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        titles = self.titles or range(outputs.probability.shape[2])
        return tuple(rows_of_class(label, *each) for each in enumerate(map(str, titles)))


@dataclasses.dataclass(frozen=True)
class Brier(Risk):
    """Brier score, from 0 to 2: l = sum_c (p_c - 1[y = c])^2, g(R) = R.

    With two classes it is 2 (p_1 - y)^2 ([MR] table 1): twice what scikit-learn returns.
    """

    system: int = 0
    titles: tuple[str, ...] = ()
    name = "brier"
    bounds = (0.0, 2.0)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        distance = outputs.probability[:, self.system].copy()
        distance[np.arange(len(label)), label] -= 1
        return np.sum(distance**2, axis=1, keepdims=True)


@dataclasses.dataclass(frozen=True)
class LogLoss(Risk):
    """Log loss, from 0 to -log clip: l = -log p_y, g(R) = R.

    Attributes:
        clip: p_y is cut to [clip, 1 - clip] to bound the loss; above 0, below 0.5.
    """

    system: int = 0
    clip: Annotated[float, Meta(gt=0, lt=0.5, description="above 0 and below 0.5")] = 1e-6
    titles: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_parameters(self)
        name = "log_loss" if self.clip == 1e-6 else f"log_loss(clip={self.clip:.12g})"
        set_own(self, name=name, bounds=(0.0, -math.log(self.clip)))

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        chosen = outputs.probability[np.arange(len(label)), self.system, label]
        return -np.log(np.clip(chosen, self.clip, 1 - self.clip))[:, None]


@dataclasses.dataclass(frozen=True)
class _OfTable(Measure):
    """Base of risks of hard predictions of any number of classes.

    Attributes:
        losses: ``zero_one``; ``squared`` or ``absolute``, of classes that are numbers; or a row for
            each predicted class with the loss for each label.
        classes: number of classes.
        titles: what each class is called, a number for the losses by distance.
    """

    losses: str | Table = ZERO_ONE
    classes: int = 2
    titles: tuple[str, ...] = ()
    system: int = 0
    looks_at = PREDICTION
    greater_is_better = False

    @functools.cached_property
    def table(self) -> FloatArray:
        """The loss of each prediction for each label, shape (classes, classes)."""
        if self.losses == ZERO_ONE:
            return 1.0 - np.eye(self.classes)
        if isinstance(self.losses, str):
            if self.losses in BY_DISTANCE:
                value = self._numbers()
                return np.asarray(np.abs(value[:, None] - value) ** BY_DISTANCE[self.losses])
            choices = ", ".join((ZERO_ONE, *BY_DISTANCE))
            raise ValueError(f"losses must be {choices} or a table, got {self.losses!r}")
        return _square("losses", self.losses, self.classes)

    def _numbers(self) -> FloatArray:
        """Return the classes as numbers, shape (classes,)."""
        titles = self.titles or tuple(map(str, range(self.classes)))
        try:
            return np.array([float(title) for title in titles])
        except ValueError as error:
            raise ValueError(
                f"losses: {self.losses} needs classes that are numbers, got {', '.join(titles)}"
            ) from error

    def _at(self, table: FloatArray, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return the entry of a table for each row's prediction and label, shape (n,)."""
        return np.asarray(table[outputs.prediction[:, self.system], label])

    def _cheapest(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows have the least loss that is possible for their label, shape (n,)."""
        return self._at(self.table, outputs, label) == self.table.min(axis=0)[label]


@dataclasses.dataclass(frozen=True)
class TableRisk(_OfTable, Mean):
    """Mean loss of predictions: l = L[f, y], g(R) = R.

    The error rate with the loss ``zero_one``; the mean squared or absolute error of grades with
    ``squared`` or ``absolute``; the mean cost of mistakes with a table of your own.
    """

    def __post_init__(self) -> None:
        bounds = (float(self.table.min()), float(self.table.max()))
        frozen = _frozen(self.losses)
        name = "risk" if frozen == ZERO_ONE else f"risk(losses={_as_text(frozen)})"
        set_own(self, losses=frozen, name=name, bounds=bounds)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        return self._at(self.table, outputs, label)[:, None]

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return the share of right predictions; with a table of your own, one for each label."""
        right = self._cheapest(outputs, label)
        if not isinstance(self.losses, str):
            costly = np.flatnonzero(np.ptp(self.table, axis=0))
            titles = self.titles or range(self.classes)
            return tuple(rows_of_class(label, int(at), str(titles[at]), right) for at in costly)
        everything = np.ones(len(label), dtype=bool)
        return (Share("accuracy", "labels", everything, right, "right prediction", "error"),)


@dataclasses.dataclass(frozen=True)
class GeneralizedRisk(_OfTable, Ratio):
    """Weighted mean loss: l = [W[f, y] L[f, y], W[f, y]], g(R) = R1 / R2 ([AE] eq. 3.27).

    Undefined if no row has a weight.

    Attributes:
        weights: a row for each predicted class with the weight for each label, at least 0.
    """

    weights: Table = ()
    evidence_name = "rows of positive weight"

    def __post_init__(self) -> None:
        table = self.table
        if isinstance(self.weights, Sequence) and not self.weights:
            raise ValueError("weights is missing: a row for each predicted class")
        weight = _square("weights", self.weights, self.classes)
        if np.any(weight < 0) or not np.any(weight > 0):
            raise ValueError("weights must be at least 0 throughout, and above 0 somewhere")
        losses, weights = _frozen(self.losses), _frozen(self.weights)
        name = f"generalized_risk(losses={_as_text(losses)}, weights={_as_text(weights)})"
        counted = table[weight > 0]
        bounds = (float(counted.min()), float(counted.max()))
        set_own(self, losses=losses, weights=weights, name=name, bounds=bounds)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        weight = self._at(np.array(self.weights), outputs, label)
        return np.stack([weight * self._at(self.table, outputs, label), weight], axis=1)

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return self._at(np.array(self.weights), outputs, label) > 0

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        rows, right = self.evidence(outputs, label), self._cheapest(outputs, label)
        words = ("right prediction", "error")
        return (Share("weighted accuracy", self.evidence_name, rows, right, *words),)


def _square(key: str, given: Any, classes: int) -> FloatArray:
    """Return a table of the spec as an array, shape (classes, classes)."""
    cells = np.array(given, dtype=object)
    if cells.shape != (classes, classes) or not all(map(is_number, cells.flat)):
        raise ValueError(
            f"{key} must have a row for each of the {classes} predicted classes, and in each a "
            f"finite number for each label, got {given!r}"
        )
    return cells.astype(np.float64)


def _frozen(table: str | Table) -> str | Table:
    """Return a table as tuples of numbers; a name unchanged."""
    if isinstance(table, str):
        return table
    return tuple(tuple(float(cell) for cell in row) for row in table)


def _as_text(table: str | Table) -> str:
    """Return a table as text for the measure's name."""
    if isinstance(table, str):
        return table
    return "[" + ", ".join(f"[{', '.join(f'{cell:g}' for cell in row)}]" for row in table) + "]"
