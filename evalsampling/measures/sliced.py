"""A measure of the rows of a slice, so that rows are drawn for it."""

import dataclasses
import functools

import numpy as np

from evalsampling.measures.base import Component, Measure, Share, set_own
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.slices import Where, as_tuples, described


@dataclasses.dataclass(frozen=True)
class Sliced(Measure):
    """A measure of the rows of a slice S: g(E[l | S]), a measure of the pool as any other.

    The loss of a row outside the slice is 0. A measure that is `scale_free` needs no more:
    l' = 1_S l, and g(E[l']) = g(E[l | S]). For others the slice's share of the pool is estimated
    by the same weights: l' = (1_S l, 1_S), g'(R') = g(R1' / R2'), a ratio. Dg' follows by the chain
    rule: the influence of a row in the slice is Dg(R_S) (l - R_S) / P(S).

    Attributes:
        measure: of any rows.
        where: for each column one or more values, as text. A row is in the slice if it has one of
            the values of each column.

    Raises:
        TypeError: `measure` is not a measure, or it is the least of slices, say.
        ValueError: `where` names no column, or no value.
    """

    measure: Measure
    where: Where
    has_slices = True
    scale_free = True

    def __post_init__(self) -> None:
        """Check the slice, and name the measure after it."""
        if not isinstance(self.measure, Measure):
            raise TypeError(f"only a measure has slices, got {self.measure!r}")
        where = as_tuples(dict(self.where))
        if not where or not all(where.values()):
            raise ValueError(f"a slice needs columns with values, got {dict(self.where)!r}")
        inner, title = self.measure, described(where)
        set_own(
            self,
            where=where,
            name=self._named(inner.name, title),
            evidence_name=f"{inner.evidence_name} where {title}",
            system=inner.system,
            bounds=inner.bounds,
            looks_at=inner.looks_at,
            label_kinds=inner.label_kinds,
            of_system=inner.of_system,
            greater_is_better=inner.greater_is_better,
            incomparable=inner.incomparable,
        )

    @staticmethod
    def _named(name: str, title: str) -> str:
        """Return a name with the slice among its parameters."""
        if not name.endswith(")"):
            return f"{name}({title})"
        return f"{name[:-1]}, {title})"

    def __hash__(self) -> int:
        """Return a number that equal measures share."""
        return hash((type(self), self.name))

    @property
    def is_of_known_rows(self) -> bool:
        """Whether the measure is so: the rows of a slice are known."""
        return self.measure.is_of_known_rows

    @property
    def undefined_without(self) -> str:
        """The rows without which the measure is undefined, in words that follow "no"."""
        return f"{self.measure.undefined_without} where {described(self.where)}"

    @property
    def components(self) -> tuple[Component, ...]:
        """The components of the measure, with the slice in their names."""
        title = described(self.where)
        return tuple(
            dataclasses.replace(component, name=self._named(component.name, title))
            for component in self.measure.components
        )

    @property
    def size(self) -> int:
        """The number of entries of the loss: one more where the share of the slice is needed."""
        return self.measure.size + self._has_share

    @functools.cached_property
    def _has_share(self) -> bool:
        return not self.measure.scale_free

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return the loss of rows in the slice, 0 outside; then whether it is in it: (n, d)."""
        inside = outputs.within(self.where)
        loss = np.zeros((len(label), self.size))
        loss[inside, : self.measure.size] = self.measure.loss(outputs.take(inside), label[inside])
        if self._has_share:
            loss[:, -1] = inside
        return loss

    def mean_loss(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        """Return sum_i weight_i l_i, shape (d,)."""
        inside = outputs.within(self.where)
        held = weight[inside]
        total = self.measure.mean_loss(outputs.take(inside), label[inside], held)
        return np.append(total, held.sum()) if self._has_share else total

    def value(self, risk: FloatArray) -> FloatArray:
        """Return g at the risk of the slice, shape (m,): NaN where undefined."""
        return self.values(risk[None])[0]

    def values(self, risks: FloatArray) -> FloatArray:
        """Return the measure at each of n ``risks``, shape (n, d): shape (n, m)."""
        of_slice, share = self._split(risks)
        values = self.measure.values(of_slice)
        return np.where(share > 0, values, np.nan)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return Dg', shape (m, d): NaN where a component is undefined."""
        return self.jacobians(risk[None])[0]

    def jacobians(self, risks: FloatArray) -> FloatArray:
        """Return Dg' at each of n ``risks``, shape (n, d): shape (n, m, d)."""
        of_slice, share = self._split(risks)
        slopes = self.measure.jacobians(of_slice)
        if not self._has_share:
            return slopes
        by_share = -np.einsum("nmd,nd->nm", slopes, of_slice)[:, :, None]
        slopes = np.concatenate([slopes, by_share], axis=2) / share[:, :, None]
        return np.where(share[:, :, None] > 0, slopes, np.nan)

    def _split(self, risks: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the risks of the slice, shape (n, d of the measure), and its shares, (n, 1)."""
        if not self._has_share:
            return risks, np.ones((len(risks), 1))
        share = risks[:, -1:]
        return risks[:, :-1] / np.where(share > 0, share, 1.0), np.where(share > 0, share, np.nan)

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows carry the estimate, shape (n,): those in the slice that do."""
        return self.measure.evidence(outputs, label) & outputs.within(self.where)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return the shares that the measure depends on, among the rows of the slice."""
        inside, title = outputs.within(self.where), described(self.where)
        return tuple(
            dataclasses.replace(
                share,
                rows_name=f"{share.rows_name} where {title}",
                rows=share.rows & (inside if share.rows.ndim == 1 else inside[:, None]),
            )
            for share in self.measure.shares(outputs, label)
        )

    def is_settled(self, low: Outputs, high: Outputs) -> bool:
        """Tell whether all rows with outputs between two bounds have the same losses as these."""
        return self.measure.is_settled(low, high)

    def adds(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows have a nonzero loss, shape (n,)."""
        inside = outputs.within(self.where)
        return inside if self._has_share else inside & self.measure.adds(outputs, label)

    def may_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        """Return whether a row between the bounds may have a nonzero loss, shape (n,)."""
        inside = low.within(self.where)
        return inside if self._has_share else inside & self.measure.may_add(low, high, label)

    def must_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        """Return whether every row between the bounds has a nonzero loss, shape (n,)."""
        inside = low.within(self.where)
        return inside if self._has_share else inside & self.measure.must_add(low, high, label)

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return Dg'(risk) l' of each row, shape (n, m): 0 outside the slice."""
        inside = outputs.within(self.where)
        (of_slice,), (share,) = self._split(risk[None])
        held = self.measure.influence(outputs.take(inside), label[inside], of_slice)
        if self._has_share:
            held = (held - self.measure.jacobian(of_slice) @ of_slice) / share
        influence = np.zeros((len(label), held.shape[1]))
        influence[inside] = held
        return influence
