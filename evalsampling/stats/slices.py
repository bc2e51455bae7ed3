"""Slices: rows of each value of a column, counted by cell."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import IntArray


@dataclasses.dataclass(frozen=True)
class SliceCounts:
    """Numbers of rows of each value and cell, for each slice column: a mergeable state.

    Attributes:
        cells: number of possible cells.
        columns: for each column, the rows of each value in every cell, shape (cells,).
    """

    cells: int
    columns: tuple[Mapping[str, IntArray], ...]

    @classmethod
    def from_codes(
        cls,
        cells: int,
        cell: IntArray,
        columns: tuple[tuple[list[str], npt.NDArray[np.integer]], ...],
    ) -> "SliceCounts":
        """Return the counts of rows.

        Args:
            cells: number of possible cells.
            cell: shape (n,): cell code of each row.
            columns: for each column its values, and the index of each row's value, shape (n,).
        """
        counted = []
        for values, code in columns:
            flat = np.bincount(code.astype(np.int64) * cells + cell, minlength=len(values) * cells)
            counted.append(dict(zip(values, flat.reshape(-1, cells), strict=True)))
        return cls(cells, tuple(counted))

    def __add__(self, other: "SliceCounts") -> "SliceCounts":
        """Return the counts over both sets of rows."""
        if (self.cells, len(self.columns)) != (other.cells, len(other.columns)):
            raise ValueError("counts of other cells or columns do not add up")
        zeros = np.zeros(self.cells, dtype=np.int64)
        return SliceCounts(
            self.cells,
            tuple(
                {v: a.get(v, zeros) + b.get(v, zeros) for v in sorted({*a, *b})}
                for a, b in zip(self.columns, other.columns, strict=True)
            ),
        )
