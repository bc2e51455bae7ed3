"""Slices: rows of each value of a column by cell, and the slices that a spec names, as codes."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import BoolArray, IntArray


@dataclasses.dataclass(frozen=True)
class SliceCounts:
    """Numbers of rows of each value and cell, for each slice column: a mergeable state."""

    cells: int  # number of possible cells
    # for each column, the rows of each value in every cell, shape (cells,)
    columns: tuple[Mapping[str, IntArray], ...]
    # identity of the workspace by whose strata rows were cut; None for none
    workspace: str | None = None

    @classmethod
    def from_codes(
        cls,
        cells: int,
        cell: IntArray,
        columns: tuple[tuple[list[str], npt.NDArray[np.integer]], ...],
    ) -> "SliceCounts":
        """Return the counts of rows, given values of each column and the place of each row's."""
        counted = []
        for values, code in columns:
            flat = np.bincount(code.astype(np.int64) * cells + cell, minlength=len(values) * cells)
            counted.append(dict(zip(values, flat.reshape(-1, cells), strict=True)))
        return cls(cells, tuple(counted))

    def __add__(self, other: "SliceCounts") -> "SliceCounts":
        """Return the counts over both sets of rows."""
        if self.workspace != other.workspace:
            raise ValueError("counts over cells of two workspaces do not add up")
        zeros = np.zeros(self.cells, dtype=np.int64)
        return SliceCounts(
            self.cells,
            tuple(
                {v: a.get(v, zeros) + b.get(v, zeros) for v in sorted({*a, *b})}
                for a, b in zip(self.columns, other.columns, strict=True)
            ),
            self.workspace,
        )


Where = Mapping[str, Sequence[str]]
"""A slice: for each column some values. A row is in it if it has one of them in each column."""

Named = Mapping[str, Sequence[str]]
"""Values that codes tell apart, by column: the code of a value is its place, from 1 on. Rows with
any other value have code 0."""


class UnknownSliceError(ValueError):
    """A slice that the spec does not name."""

    def __init__(self, where: Where) -> None:
        """Make the error of a slice."""
        super().__init__(
            f"{described(where)}: cells do not tell these rows apart; name the slice in "
            "strata.slices, or by where in a measure of the spec"
        )


@dataclasses.dataclass(frozen=True)
class SliceCodes:
    """The codes of n rows."""

    named: Named  # what the codes mean
    code: IntArray  # (n, columns)

    def within(self, where: Where) -> BoolArray:
        """Return whether each row is in a slice, shape (n,)."""
        inside = np.ones(len(self.code), dtype=bool)
        for column, values in where.items():
            listed = list(self.named.get(column, ()))
            if not set(values) <= set(listed):
                raise UnknownSliceError({column: values})
            codes = [listed.index(value) + 1 for value in values]
            inside &= np.isin(self.code[:, list(self.named).index(column)], codes)
        return inside


def as_tuples(where: Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return slices with their values as tuples, a single value as a tuple of one."""
    return {
        column: (values,) if isinstance(values, str) else tuple(values)
        for column, values in where.items()
    }


def described(where: Where) -> str:
    """Return a slice in words: ``country=DE|FR, device=phone``."""
    return ", ".join(f"{column}={'|'.join(values)}" for column, values in where.items())


def joined(parts: Sequence[SliceCodes | None]) -> SliceCodes | None:
    """Return the codes of all parts, in order; None if a part has none."""
    given = [part for part in parts if part is not None]
    if not given or len(given) < len(parts):
        return None
    return SliceCodes(given[0].named, np.concatenate([part.code for part in given]))
