"""The least or the greatest of a measure over slices."""

import dataclasses
import functools
from collections.abc import Callable, Mapping

import numpy as np

from evalsampling.measures.base import Component, Measure, Share, set_own
from evalsampling.measures.joint import Joint, OfParts
from evalsampling.measures.reweighted import Sliced
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.slices import Where, as_tuples, described


@dataclasses.dataclass(frozen=True)
class Extreme(OfParts):
    """The least, or the greatest, value of a measure among slices: g(R) = min_k g_k(R_k).

    The derivative is that of the extreme slice. Where two slices are tied there is none, so no
    interval uses it: see `inference.extremes`. Rows are drawn for all slices alike, as for a
    `Joint` of them, since a slice of which little is known may be the extreme one.

    Attributes:
        measure: of one number, of any rows.
        over: for each column its values, each of which is a slice; two or more in all.
    """

    measure: Measure
    over: Where = dataclasses.field(hash=False)
    kind = "extreme"
    has_slices = True
    pick = np.min
    """Function that picks the extreme of values along an axis."""

    def __post_init__(self) -> None:
        inner = self.measure
        over = as_tuples(dict(self.over))
        if sum(map(len, over.values())) < 2:
            got = described(over) or "none"
            raise ValueError(f"{self.kind} needs two slices or more in over, got {got}")
        if not isinstance(inner, Measure) or len(inner.components) != 1:
            named = getattr(inner, "name", repr(inner))
            raise ValueError(f"{self.kind} is of a measure of one number, {named} is none")
        set_own(
            self,
            over=over,
            name=f"{self.kind}({inner.name}, {described(over)})",
            evidence_name=inner.evidence_name,
            system=inner.system,
            bounds=inner.components[0].bounds,
            looks_at=inner.looks_at,
            label_kinds=inner.label_kinds,
            of_system=inner.of_system,
        )
        self.parts  # noqa: B018  (checks the slices)

    @functools.cached_property
    def parts(self) -> tuple[Measure, ...]:
        return tuple(
            _within(self.measure, {column: (value,)})
            for column, values in self.over.items()
            for value in values
        )

    @functools.cached_property
    def drawn_for(self) -> Joint:
        return Joint(self.parts)

    @property
    def components(self) -> tuple[Component, ...]:
        return (dataclasses.replace(self.measure.components[0], name=self.name),)

    def value(self, risk: FloatArray) -> FloatArray:
        return np.atleast_1d(type(self).pick(self.drawn_for.value(risk)))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return the derivative of the extreme slice, the first of a tie, shape (1, d)."""
        values = self.drawn_for.value(risk)
        if np.isnan(values).any():
            return np.full((1, len(risk)), np.nan)
        place = int(np.argmax(values == type(self).pick(values)))
        return self.drawn_for.jacobian(risk)[[place]]

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        return tuple(
            dataclasses.replace(share, components=None)
            for share in self.drawn_for.shares(outputs, label)
        )


@dataclasses.dataclass(frozen=True)
class Least(Extreme):
    """The least value of a measure among slices: how good a system is where it is worst."""

    kind = "least"


@dataclasses.dataclass(frozen=True)
class Greatest(Extreme):
    """The greatest value of a measure among slices, as of a loss where a system is worst."""

    kind = "greatest"
    pick = np.max


def _within(measure: Measure, where: Where) -> Sliced:
    """Return a measure of a slice; of a measure of a slice, that of the part in both."""
    if not isinstance(measure, Sliced):
        return Sliced(measure, where)
    if set(where) & set(measure.where):
        raise ValueError(f"{measure.name} is of one slice of {', '.join(where)} already")
    return Sliced(measure.measure, {**measure.where, **where})


BY_KIND: Mapping[str, Callable[[Measure, Where], Extreme]] = {"least": Least, "greatest": Greatest}
"""Extremes that a spec may name."""
