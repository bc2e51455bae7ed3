"""The base of all measures: per-row losses, a function of their mean, its Jacobian."""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from evalsampling.errors import InputError
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.derivatives import COMPLEX_STEP, jacobian
from evalsampling.stats.magnitudes import BY
from evalsampling.stats.outputs import Outputs

PREDICTION = frozenset({"prediction"})
"""What measures of classes look at."""


_FEW_ENTRIES = 8
"""Most entries of a loss of which the Jacobians at many risks are worked out at once."""

_ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Component:
    """One of the numbers a measure consists of.

    Attributes:
        name: its name in results: that of the measure, unless the measure has several components.
        bounds: least and greatest possible value, infinite if unbounded.
        system: number of the system it is about.
        threshold: the score threshold it is about, if any.
        against: number of the system that it is compared with, if any.
        of_pairs: whether it counts pairs of a row and a label, of which a row may have many, so
            that it is no share of rows.
        follows: whether it follows from other components, so that no row is drawn for it.
    """

    name: str
    bounds: tuple[float, float] = (0.0, 1.0)
    system: int = 0
    threshold: float | None = None
    against: int | None = None
    of_pairs: bool = False
    follows: bool = False


@dataclasses.dataclass(frozen=True)
class Share:
    """A share that a measure depends on: the fraction of hits among certain rows.

    If all labelled rows of a share are hits, or all are misses, its sample variance is 0 and tells
    nothing about its error, nor about that of a measure that depends on it.

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


def rows_of_class(label: IntArray, code: int, title: str, hits: BoolArray | None = None) -> Share:
    """Return the share of hits among the rows of one class; without ``hits``, only its rows."""
    of = f"of class {title}"
    words = ("right prediction", "wrong prediction")
    return Share(f"recall {of}", f"labels {of}", label == code, hits, *words)


def set_own(measure: "Measure", **own: Any) -> None:
    """Set attributes of a measure that follow from its fields, though it is frozen."""
    for name, value in own.items():
        try:
            object.__setattr__(measure, name, value)
        except AttributeError as error:
            raise InputError(f"measure: {measure.name}: its {name} must be an attribute") from error


def takes_columns(value: Callable[[Any, FloatArray], FloatArray]) -> Any:
    """Return a measure's `value`, marked as taking n risks, maybe complex: (d, n) to (m, n)."""
    value.takes_columns = True  # type: ignore[attr-defined]
    return value


class Measure(abc.ABC):
    """A generalized measure G = g(R), R = E[l(x, y)], R in R^d and G in R^m ([MR] definition 1).

    Predictions and labels are class codes, the indices of the classes in the spec's list. A
    measure of your own needs `name`, `loss` and `value`; all else has a default. The default
    Jacobian is exact if `value` works on complex numbers too.

    Attributes:
        name: in specs and results, parameters included.
        system: number of the system it is about.
        bounds: least and greatest value of each component.
        evidence_name: what `evidence` counts, in words, for reasons and warnings: "positives".
        looks_at: which outputs the loss depends on: "prediction", "score", "probability".
        label_kinds: which labels it is about: see `label_spaces.base.LabelSpace.kind`.
        affine: whether g is affine in R, so that its Jacobian is the same everywhere.
        of_system: whether its value depends on the system.
        scale_free: whether g(c R) = g(R) for c > 0, as of a ratio of two risks.
        finds_threshold: whether it is of a threshold that labels decide: its slope says too little.
        greater_is_better: whether systems of greater values are better; None if neither of greater
            nor of smaller ones, as of a bias.
        incomparable: why its values for two systems are not compared; empty if they are.
        driven_by: name of the measure that rows are drawn for in its place, as its loss cannot be
            expected of rows without a label; empty if it can.
        has_slices: whether it, or a measure that it compares, is of slices of its own.
    """

    name: str
    system: int = 0
    bounds: tuple[float, float] = (0.0, 1.0)
    evidence_name: str = "labels"
    looks_at = frozenset({"prediction", "score", "probability"})
    label_kinds: ClassVar[frozenset[str]] = frozenset({"classes"})
    affine: bool = False
    of_system: bool = True
    scale_free: bool = False
    finds_threshold: ClassVar[bool] = False
    greater_is_better: bool | None = True
    incomparable: ClassVar[str] = ""
    driven_by: ClassVar[str] = ""
    has_slices: bool = False

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
        if self._takes_columns:
            return self.value(risks.T).T
        values = np.array([self.value(risk) for risk in risks], dtype=np.float64)
        return values.reshape(len(risks), len(self.components))

    @property
    def undefined_without(self) -> str:
        """The rows without which the measure is undefined, in words that follow "no"."""
        return self.evidence_name

    @property
    def systems(self) -> tuple[int, ...]:
        """Numbers of the systems it is about: one, or the two that are compared."""
        return (self.system,)

    @property
    def drawn_for(self) -> "Measure":
        """The measure that rows are drawn for where this one is wanted: itself by default."""
        return self

    @property
    def plain(self) -> "Measure":
        """The same measure of all rows of the pool, which all count the same."""
        return self

    @property
    def components(self) -> tuple[Component, ...]:
        """The m numbers the measure consists of; one unless overridden."""
        return (self._component(),)

    def _component(self, part: str = "", **own: Any) -> Component:
        """Return a component, named after the measure and a part of it."""
        name, by, rows = self.name.partition(BY)  # How rows count stays last.
        return Component(f"{name}{part}{by}{rows}", self.bounds, self.system, **own)

    @property
    def importance(self) -> FloatArray:
        """How much each component counts where rows are drawn, shape (m,): 1, 0 if it follows."""
        return np.array([not component.follows for component in self.components], np.float64)

    @property
    def size(self) -> int:
        """The number d of entries of the loss.

        By default read off the loss of zero rows, with two classes unless the measure has an
        attribute `classes`.
        """
        outputs = Outputs.none(self.system + 1, getattr(self, "classes", 2))
        return self.loss(outputs, np.zeros(0, dtype=np.int64)).shape[1]

    @property
    def is_of_known_rows(self) -> bool:
        """Whether it is the mean of a loss over rows that are known without labels."""
        return self.affine

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return Dg at ``risk``, shape (m, d): NaN where a component is undefined.

        By default the derivative is taken by complex steps, exactly, where `value` takes columns,
        else numerically: see `stats.derivatives`.
        """
        if self._takes_columns:
            return self._by_complex_steps(risk[None])[0]
        return jacobian(self.value, risk)

    def jacobians(self, risks: FloatArray) -> FloatArray:
        """Return Dg at each of n ``risks``, at least one, shape (n, d): shape (n, m, d)."""
        is_own = type(self).jacobian is not Measure.jacobian
        if is_own or not self._takes_columns or risks.shape[1] > _FEW_ENTRIES:
            return np.stack([self.jacobian(risk) for risk in risks])
        return self._by_complex_steps(risks)

    @property
    def _takes_columns(self) -> bool:
        return getattr(type(self).value, "takes_columns", False)

    def _by_complex_steps(self, risks: FloatArray) -> FloatArray:
        """Return `jacobians`; the value takes columns, and complex ones."""
        size = risks.shape[1]
        steps = risks[:, None] + 1j * COMPLEX_STEP * np.eye(size)
        slopes = self.value(steps.reshape(-1, size).T).imag / COMPLEX_STEP
        slopes = slopes.reshape(-1, *risks.shape).transpose(1, 0, 2)
        return np.where(np.isnan(self.values(risks))[:, :, None], np.nan, slopes)

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows carry the estimate, shape (n,); all by default.

        A normal approximation may be trusted once enough of *these* are labelled: for recall the
        positives, however many negatives have labels.
        """
        return np.ones(len(label), dtype=bool)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return the shares that the measure depends on: an interval needs enough labels of each.

        The default is cautious: the rows that carry the estimate, and for each class the share of
        its rows that are predicted right. So there is no interval until rows of every class with
        right and with wrong predictions are labelled.

        Args:
            outputs: of n rows.
            label: shape (n,): class codes.
        """
        right = outputs.prediction[:, self.system] == label
        classes = outputs.probability.shape[2]
        return (
            Share(self.evidence_name, self.evidence_name, self.evidence(outputs, label)),
            *(rows_of_class(label, code, str(code), right) for code in range(classes)),
        )

    # Losses of rows whose scores lie between two bounds.

    def is_settled(self, low: Outputs, high: Outputs) -> bool:
        """Tell whether all rows with outputs between two bounds have the same losses as these.

        Args:
            low: outputs of n rows.
            high: the same outputs, with scores that are at least as great.
        """
        return self.looks_at <= PREDICTION

    def may_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        """Return whether a row between the bounds may have a nonzero loss, shape (n,)."""
        if self.is_settled(low, high):
            return self.adds(low, label)
        return np.ones(len(label), dtype=bool)

    def must_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        """Return whether every row between the bounds has a nonzero loss, shape (n,).

        By default, whether both bounds have one.
        """
        return self.adds(low, label) & self.adds(high, label)

    # Measures whose losses have a structure override these, to make no matrix of losses.

    def mean_loss(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        """Return sum_i weight_i l_i, shape (d,)."""
        return weight @ self.loss(outputs, label)

    def adds(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows have a nonzero loss, shape (n,)."""
        return np.any(self.loss(outputs, label) != 0, axis=1)

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return Dg(risk) l of each row, shape (n, m)."""
        return self.loss(outputs, label) @ self.jacobian(risk).T

    def squared_norm(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return ||Dg(risk) l||^2 of each row, shape (n,).

        Components that are undefined, or follow from others, are left out.
        """
        squares = self.influence(outputs, label, risk) ** 2
        return np.nansum(squares * self.importance, axis=1)

    def proposal_norm(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return the size of each row's loss for a variance-minimising proposal, shape (n,).

        By default ||Dg(risk) l||.
        """
        return np.asarray(np.sqrt(self.squared_norm(outputs, label, risk)))


def check_defined(measure: Measure, risk: FloatArray) -> None:
    """Check that a measure is defined on a pool."""
    if np.all(np.isnan(measure.value(risk))):
        problem = f"measure {measure.name} is undefined on this pool (0/0)"
        raise InputError(f"{problem}: it has no {measure.undefined_without}")


def is_ours(measure: Measure) -> bool:
    """Tell whether a measure is of this package, so that its tests say what it returns."""
    return type(measure).__module__.startswith("evalsampling.")


def check_returns(measure: Measure, outputs: Outputs, label: IntArray) -> None:
    """Check what a measure from elsewhere returns for rows, and for each of them by itself."""
    if is_ours(measure):
        return
    if not hasattr(measure, "name"):
        raise InputError(f"measure: {type(measure).__name__} has no attribute name")
    loss, components = np.asarray(measure.loss(outputs, label)), measure.components
    risk = loss.mean(axis=0) if len(label) else np.full(loss.shape[1:], 0.5)
    m, d = len(components), risk.size
    for part, shape in {"loss": (len(label), d), "value": (m,), "jacobian": (m, d)}.items():
        found = np.shape(loss if part == "loss" else getattr(measure, part)(risk))
        if found != shape:
            what = f"measure: {measure.name}: {part} of {len(label)} rows"
            raise InputError(f"{what} must have the shape {shape}, got {found}")
    low, high = np.transpose([each.bounds for each in components])
    with np.errstate(all="ignore"):
        values = measure.values(loss)
    outside = values[(values < low - _ROUNDING) | (values > high + _ROUNDING)]
    if len(outside):
        why = "which lies outside its bounds: set bounds to its least and greatest value"
        raise InputError(f"measure: {measure.name}: is {outside[0]:.4g} of a row by itself, {why}")


def divide(numerator: FloatArray, denominator: FloatArray, undefined: float = np.nan) -> FloatArray:
    """Return numerator / denominator, and ``undefined`` where the denominator is 0."""
    result = np.full_like(numerator, undefined)
    return np.divide(numerator, denominator, out=result, where=denominator != 0)


class Mean(Measure):
    """A mean loss, or several: g(R) = R."""

    affine = True

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        return risk

    def jacobian(self, risk: FloatArray) -> FloatArray:
        return np.eye(len(risk))


class Ratio(Measure):
    """A ratio of two mean losses: d = 2, g(R) = R1 / R2."""

    scale_free = True

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        return divide(risk[:1], risk[1:])
