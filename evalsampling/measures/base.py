"""What a measure is: per-row losses, a mapping of their mean, its Jacobian."""

import abc
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.measures.tallies import Tally
from evalsampling.stats.derivatives import jacobian
from evalsampling.stats.outputs import Outputs

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

PREDICTION = frozenset({"prediction"})
"""What measures of classes look at."""


@dataclasses.dataclass(frozen=True)
class Component:
    """One of the numbers a measure consists of.

    Attributes:
        name: in results; that of the measure, unless it has several.
        bounds: least and greatest value, infinite where there is none.
        system: number of the system it is about.
        threshold: the score threshold it is about, if any.
        against: number of the system that it is compared with, if any.
    """

    name: str
    bounds: tuple[float, float] = (0.0, 1.0)
    system: int = 0
    threshold: float | None = None
    against: int | None = None


@dataclasses.dataclass(frozen=True)
class Share:
    """A share that a measure depends on: how many of some rows are hits.

    What was never met has no variance in the labels: a share whose labelled rows are all hits, or
    all misses, says nothing of its error, and neither does a measure that depends on it.

    Attributes:
        name: of the share, "recall".
        rows_name: what the rows are, in words: "positives".
        rows: shape (n,), or (n, c) for c components: which rows count.
        hits: which of them are hits, of the same shape; None if only the number of rows matters,
            as for a mean of losses that are all different.
        hit_name: what a hit is called: "true positive".
        miss_name: what a miss is called: "false negative".
        components: first and one after the last component of the measure that depend on it; all
            if None.
    """

    name: str
    rows_name: str
    rows: BoolArray
    hits: BoolArray | None = None
    hit_name: str = "hit"
    miss_name: str = "miss"
    components: tuple[int, int] | None = None


def rows_of_class(
    label: IntArray, code: int, hits: BoolArray | None = None, title: str | None = None
) -> Share:
    """Return the share of hits among the rows of one class; without hits, the rows alone.

    Args:
        label: shape (n,): class codes.
        code: of the class.
        hits: shape (n,): which rows are hits.
        title: what the class is called; its code if not given.
    """
    called = str(code) if title is None else title
    return Share(
        name=f"recall of class {called}",
        rows_name=f"labels of class {called}",
        rows=label == code,
        hits=hits,
        hit_name="right prediction",
        miss_name="wrong prediction",
    )


def takes_columns(value: Callable[[Any, FloatArray], FloatArray]) -> Any:
    """Mark a measure's `value` as one that also takes n risks as columns: (d, n) to (m, n)."""
    value.takes_columns = True  # type: ignore[attr-defined]
    return value


class Measure(abc.ABC):
    """A generalized measure G = g(R), R = E[l(x, y)], R in R^d and G in R^m ([MR] definition 1).

    Predictions and labels are class codes, the places of the classes in the spec's list. One's
    own measure needs `name`, `loss` and `value`; all else has a default. The default Jacobian is
    exact if `value` works on complex numbers too.

    Attributes:
        name: in specs and results, parameters included.
        system: number of the system it is about.
        bounds: least and greatest value of each component.
        evidence_name: what `evidence` counts, in words, for reasons and warnings: "positives".
        looks_at: which outputs the loss depends on: "prediction", "score", "probability".
        affine: whether g is R or 1 - R, up to constants: whether its slope is the same everywhere.
        of_system: whether its value depends on the system.
    """

    name: str
    system: int = 0
    bounds: tuple[float, float] = (0.0, 1.0)
    evidence_name: str = "labels"
    looks_at = frozenset({"prediction", "score", "probability"})
    affine: bool = False
    of_system: bool = True

    @abc.abstractmethod
    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return l(x, y) of rows.

        Args:
            outputs: of n rows.
            label: shape (n,): class codes.

        Returns:
            Shape (n, d).
        """

    @abc.abstractmethod
    def value(self, risk: FloatArray) -> FloatArray:
        """Return g at ``risk``, shape (d,): shape (m,), NaN where a component is undefined."""

    def values(self, risks: FloatArray) -> FloatArray:
        """Return g at each of n ``risks``, shape (n, d): shape (n, m), NaN where undefined."""
        if getattr(type(self).value, "takes_columns", False):
            return self.value(risks.T).T
        values = np.array([self.value(risk) for risk in risks], dtype=np.float64)
        return values.reshape(len(risks), len(self.components))

    @property
    def undefined_without(self) -> str:
        """What the measure is undefined without, in words that follow "no"."""
        return self.evidence_name

    @property
    def components(self) -> tuple[Component, ...]:
        """The m numbers the measure consists of; one unless overridden."""
        return (Component(self.name, self.bounds, self.system),)

    @property
    def size(self) -> int:
        """The number d of entries of the loss; by default, that of the loss of no rows.

        These have two classes, unless the measure has an attribute `classes`.
        """
        outputs = Outputs.none(self.system + 1, getattr(self, "classes", 2))
        return self.loss(outputs, np.zeros(0, dtype=np.int64)).shape[1]

    @property
    def known(self) -> tuple[int, ...]:
        """Places, in the loss, of what does not involve the label: their means are no secret."""
        return ()

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return Dg at ``risk``, shape (m, d): NaN where a component is undefined.

        By default the derivative is taken numerically: see `stats.derivatives`.
        """
        return jacobian(self.value, risk)

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows carry the estimate, shape (n,); all by default.

        A normal approximation may be trusted once enough of *these* were seen: for recall the
        positives, however many negatives there are beside them.
        """
        return np.ones(len(label), dtype=bool)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return the shares that the measure depends on: it claims no more than each of them may.

        By default, which is cautious: the rows that carry the estimate, and for each class the
        share of its rows that are predicted right. So there is no interval before right and wrong
        predictions of every class were met.

        Args:
            outputs: of n rows.
            label: shape (n,): class codes.
        """
        right = outputs.prediction[:, self.system] == label
        classes = outputs.probability.shape[2]
        return (
            Share(self.evidence_name, self.evidence_name, self.evidence(outputs, label)),
            *(rows_of_class(label, code, right) for code in range(classes)),
        )

    # What bounds on numbers of rows say of the measure.

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """Numbers of rows it is a function of, monotone in each; by default it is not."""
        return ()

    def risk_at(self, counts: Sequence[float], predicted: IntArray) -> FloatArray:
        """Return R where the tallies have some values, shape (d,).

        Args:
            counts: of each tally.
            predicted: shape (classes,): rows predicted to be of each class, at least one row.
        """
        raise NotImplementedError(f"{self.name} has no tallies")

    # What is known of the loss of rows whose scores lie between those of two others.

    def is_settled(self, low: Outputs, high: Outputs) -> bool:
        """Tell whether rows with outputs between these all have the same losses as these.

        Args:
            low: of n rows.
            high: of n rows, the same but for scores that are at least as great.
        """
        return self.looks_at <= PREDICTION

    def may_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        """Return whether a row between may have a loss other than 0, shape (n,)."""
        if self.is_settled(low, high):
            return self.adds(low, label)
        return np.ones(len(label), dtype=bool)

    def must_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        """Return whether every row between has a loss other than 0, shape (n,).

        Taken to be so if both rows have.
        """
        return self.adds(low, label) & self.adds(high, label)

    # Measures whose loss has a structure do these without ever making the matrices.

    def mean_loss(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        """Return sum_i weight_i l_i, shape (d,)."""
        return weight @ self.loss(outputs, label)

    def adds(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows have a loss other than 0, shape (n,)."""
        return np.any(self.loss(outputs, label) != 0, axis=1)

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return Dg(risk) l of each row, shape (n, m)."""
        return self.loss(outputs, label) @ self.jacobian(risk).T

    def squared_norm(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return ||Dg(risk) l||^2 of each row, shape (n,); undefined components are left out."""
        return np.nansum(self.influence(outputs, label, risk) ** 2, axis=1)

    def proposal_norm(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return the size of each row's loss to a variance-minimising proposal, shape (n,).

        By default ||Dg(risk) l||.
        """
        return np.asarray(np.sqrt(self.squared_norm(outputs, label, risk)))


def check_defined(measure: Measure, risk: FloatArray) -> None:
    """Check that a measure means something on a pool.

    Raises:
        InputError: if it is undefined at ``risk``, shape (d,), so that no row adds to it.
    """
    if np.all(np.isnan(measure.value(risk))):
        raise InputError(
            f"measure {measure.name} is undefined on this pool (0/0): "
            f"it has no {measure.undefined_without}"
        )
