"""The slices of a pool: values of the slice columns and their rows in each cell."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.stats.arrays import IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.slices import SliceCounts


@dataclasses.dataclass(frozen=True)
class Slices:
    """The values of each slice column and their rows in every cell of the table."""

    names: tuple[str, ...] = ()  # of the columns
    # of each column, in order; the code of a value is its place
    values: tuple[tuple[str, ...], ...] = ()
    counts: tuple[IntArray, ...] = ()  # of each column, shape (values, cells of the table)

    @classmethod
    def from_counts(cls, names: tuple[str, ...], counts: SliceCounts, table: CellTable) -> "Slices":
        """Return the slices of a pool from the counts over all cells there could be."""
        values = tuple(tuple(sorted(column)) for column in counts.columns)
        return cls(names, values).of_rows(counts, table)

    def of_rows(self, counts: SliceCounts, table: CellTable) -> "Slices":
        """Return the same values of other rows."""
        none = np.zeros(counts.cells, dtype=np.int64)
        of_columns = (
            [column.get(text, none)[table.code] for text in texts]
            for texts, column in zip(self.values, counts.columns, strict=True)
        )
        rows = (np.array(each, np.int64).reshape(len(each), len(table)) for each in of_columns)
        return dataclasses.replace(self, counts=tuple(rows))

    def outside(self, table: CellTable) -> dict[str, int]:
        """Return, for each column, how many rows of the pool have none of its values."""
        rows = [table.rows - int(of_column.sum()) for of_column in self.counts]
        return dict(zip(self.names, rows, strict=True))

    def codes(self, columns: list[pa.ChunkedArray | pa.Array], rows: int) -> IntArray:
        """Return the code of each row's values, shape (rows, columns)."""
        codes = np.full((rows, len(self.names)), -1, dtype=np.int64)
        for place, (column, texts) in enumerate(zip(columns, self.values, strict=True)):
            code = pc.index_in(column, value_set=pa.array(list(texts), pa.string()))
            codes[:, place] = pc.fill_null(code, -1).to_numpy()
        return codes


def unmet_values(table: CellTable, none: str) -> list[str]:
    """Return a line for each value that a spec names and no row has; `none` says of which rows.

    Where rare slices share cells, a slice without rows is met when rows are drawn.
    """
    slices = table.kinds.slices
    if slices is None or table.kinds.mixed.any():
        return []
    return [
        f"{column}: {none} has {value!r} there, and measure.where, measure.over or strata.slices "
        "names it"
        for (column, values), codes in zip(slices.named.items(), slices.code.T, strict=True)
        for code, value in enumerate(values, start=1)
        if not np.any(codes == code)
    ]
