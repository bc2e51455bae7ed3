"""Measures of the pool whose rows count by a weight: that of the spec, or 1 in a slice."""

import abc
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from evalsampling.measures.base import Component, Measure, Share, set_own
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.magnitudes import BY
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.slices import Where, as_tuples, described


@dataclasses.dataclass(frozen=True)
class Reweighted(Measure):
    """Another measure with rows of weights w >= 0: g(E[w l] / E[w]), a measure of the pool.

    A measure that is `scale_free` needs no more than l' = w l: g(E[l']) is the same. For others
    the mean weight of the pool is estimated by the same labels: l' = (w l, w),
    g'(R') = g(R1' / R2'), a ratio. Dg' follows by the chain rule: with R the risk of the weighted
    rows, the influence of a row is w Dg(R) (l - R) / E[w].

    Attributes:
        measure: of rows that all count the same.
    """

    measure: Measure
    scale_free = True

    def __post_init__(self) -> None:
        self._set_up()

    @abc.abstractmethod
    def weight(self, outputs: Outputs) -> FloatArray:
        """Return the weight of each row, shape (n,), at least 0."""

    def _set_up(self, **own: Any) -> None:
        """Take over what the measure says of itself, but for some attributes of one's own."""
        taken = (
            "name", "evidence_name", "system", "bounds", "looks_at", "label_kinds", "of_system",
            "greater_is_better", "incomparable", "has_slices",
        )  # fmt: skip
        set_own(self, **{key: getattr(self.measure, key) for key in taken} | own)

    @property
    def plain(self) -> Measure:
        return self.measure.plain

    @property
    def is_of_known_rows(self) -> bool:
        return self.measure.is_of_known_rows

    @property
    def undefined_without(self) -> str:
        return self.measure.undefined_without

    @property
    def components(self) -> tuple[Component, ...]:
        return self.measure.components

    @property
    def size(self) -> int:
        return self.measure.size + self._has_mean

    @functools.cached_property
    def _has_mean(self) -> bool:
        return not self.measure.scale_free

    def _counted(self, outputs: Outputs) -> tuple[FloatArray, Any, Outputs]:
        """Return the weights of all rows, (n,), then an index and the outputs of those above 0."""
        weight = self.weight(outputs)
        if (weight > 0).all():
            return weight, slice(None), outputs
        places = np.flatnonzero(weight > 0)
        return weight, places, outputs.take(places)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return the weighted loss of rows, 0 where they do not count; then the weight: (n, d)."""
        weight, counted, those = self._counted(outputs)
        loss = np.zeros((len(label), self.size))
        own = self.measure.loss(those, label[counted])
        loss[counted, : self.measure.size] = weight[counted, None] * own
        if self._has_mean:
            loss[:, -1] = weight
        return loss

    def mean_loss(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        own, counted, those = self._counted(outputs)
        held = weight[counted] * own[counted]
        total = self.measure.mean_loss(those, label[counted], held)
        return np.append(total, held.sum()) if self._has_mean else total

    def value(self, risk: FloatArray) -> FloatArray:
        return self.values(risk[None])[0]

    def values(self, risks: FloatArray) -> FloatArray:
        of_weighted, mean = self.split(risks)
        return np.where(mean > 0, self.measure.values(of_weighted), np.nan)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        return self.jacobians(risk[None])[0]

    def jacobians(self, risks: FloatArray) -> FloatArray:
        of_weighted, mean = self.split(risks)
        slopes = self.measure.jacobians(of_weighted)
        if not self._has_mean:
            return slopes
        by_mean = -np.einsum("nmd,nd->nm", slopes, of_weighted)[:, :, None]
        slopes = np.concatenate([slopes, by_mean], axis=2) / mean[:, :, None]
        return np.where(mean[:, :, None] > 0, slopes, np.nan)

    def split(self, risks: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return risks of the weighted rows, and mean weights, (n, 1), 1 if none are needed."""
        if not self._has_mean:
            return risks, np.ones((len(risks), 1))
        mean = risks[:, -1:]
        return risks[:, :-1] / np.where(mean > 0, mean, 1.0), np.where(mean > 0, mean, np.nan)

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return self.measure.evidence(outputs, label) & (self.weight(outputs) > 0)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        return self.measure.shares(outputs, label)

    def is_settled(self, low: Outputs, high: Outputs) -> bool:
        return self.measure.is_settled(low, high)

    def adds(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return self._where_counted(outputs, lambda: self.measure.adds(outputs, label))

    def may_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        return self._where_counted(low, lambda: self.measure.may_add(low, high, label))

    def must_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        return self._where_counted(low, lambda: self.measure.must_add(low, high, label))

    def _where_counted(self, outputs: Outputs, adds: Callable[[], BoolArray]) -> BoolArray:
        """Return the rows that count, of those that add to the measure if it needs no mean."""
        counts = self.weight(outputs) > 0
        return counts if self._has_mean else counts & adds()

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        weight, counted, those = self._counted(outputs)
        (of_weighted,), (mean,) = self.split(risk[None])
        held = self.measure.influence(those, label[counted], of_weighted)
        if self._has_mean:
            held = (held - self.measure.jacobian(of_weighted) @ of_weighted) / mean
        influence = np.zeros((len(label), held.shape[1]))
        influence[counted] = weight[counted, None] * held
        return influence


@dataclasses.dataclass(frozen=True)
class Weighted(Reweighted):
    """A measure of the pool in which each row counts as often as its weight says: ``pool.weight``.

    With whole numbers it is the measure of a pool in which each row stands so often.
    """

    def weight(self, outputs: Outputs) -> FloatArray:
        if outputs.weight is None and len(outputs):
            raise ValueError(f"{self.name}: rows have no weights")
        return np.zeros(0) if outputs.weight is None else outputs.weight


@dataclasses.dataclass(frozen=True)
class Sliced(Reweighted):
    """A measure of the rows of a slice: they have a weight of 1, and rows outside it of 0.

    Attributes:
        measure: of any rows.
        where: for each column one or more values, as text. A row is in the slice if it has one of
            the values of each column.
    """

    where: Where = dataclasses.field(hash=False)

    def __post_init__(self) -> None:
        inner = self.measure
        if not isinstance(inner, Measure):
            raise TypeError(f"only a measure has slices, got {inner!r}")
        where = as_tuples(dict(self.where))
        if not where or not all(where.values()):
            raise ValueError(f"a slice needs columns with values, got {dict(self.where)!r}")
        title = described(where)
        self._set_up(
            where=where,
            name=_named(inner.name, title),
            evidence_name=f"{inner.evidence_name} where {title}",
            has_slices=True,
        )

    def weight(self, outputs: Outputs) -> FloatArray:
        return outputs.within(self.where).astype(np.float64)

    @property
    def undefined_without(self) -> str:
        return f"{self.measure.undefined_without} where {described(self.where)}"

    @property
    def components(self) -> tuple[Component, ...]:
        title = described(self.where)
        return tuple(
            dataclasses.replace(component, name=_named(component.name, title))
            for component in self.measure.components
        )

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        inside, title = outputs.within(self.where), described(self.where)
        return tuple(
            dataclasses.replace(
                share,
                rows_name=f"{share.rows_name} where {title}",
                rows=share.rows & (inside if share.rows.ndim == 1 else inside[:, None]),
            )
            for share in self.measure.shares(outputs, label)
        )


def _named(name: str, title: str) -> str:
    """Return a name with the slice among its parameters."""
    name, by, rows = name.partition(BY)
    if name.endswith(")"):
        return f"{name[:-1]}, {title}){by}{rows}"
    return f"{name}({title}){by}{rows}"
