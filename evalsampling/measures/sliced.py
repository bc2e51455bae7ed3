"""A measure of the rows of a slice, so that rows are drawn for it."""

import dataclasses

import numpy as np

from evalsampling.measures.base import Component, Measure, Share
from evalsampling.measures.reweighted import Reweighted
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.magnitudes import BY
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.slices import Where, as_tuples, described


@dataclasses.dataclass(frozen=True)
class Sliced(Reweighted):
    """A measure of the rows of a slice: they have a weight of 1, and rows outside it of 0.

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
    __hash__ = Reweighted.__hash__

    def __post_init__(self) -> None:
        """Check the slice, and name the measure after it."""
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
        """Return 1 for rows of the slice, 0 for others, shape (n,)."""
        return outputs.within(self.where).astype(np.float64)

    @property
    def undefined_without(self) -> str:
        return f"{self.measure.undefined_without} where {described(self.where)}"

    @property
    def components(self) -> tuple[Component, ...]:
        """The components of the measure, with the slice in their names."""
        title = described(self.where)
        return tuple(
            dataclasses.replace(component, name=_named(component.name, title))
            for component in self.measure.components
        )

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


def _named(name: str, title: str) -> str:
    """Return a name with the slice among its parameters."""
    name, by, rows = name.partition(BY)
    if name.endswith(")"):
        return f"{name[:-1]}, {title}){by}{rows}"
    return f"{name}({title}){by}{rows}"
