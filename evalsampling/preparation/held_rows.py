"""The last rows that a reserve holds, for adding later ones."""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.preparation.assignment import CellBatch
from evalsampling.stats.arrays import BoolArray, IntArray, UInt64Array


@dataclasses.dataclass(frozen=True)
class HeldRows:
    """Last row that the reserve holds of each cell, for adding later ones."""

    short: BoolArray  # shape (cells,), bool: whether more rows of the cell are wanted
    last_hash: UInt64Array  # shape (cells,): hash of the last row held
    last_id: npt.NDArray[np.object_]  # shape (cells,): its id, which decides between equal hashes
    rows: IntArray  # shape (cells,): number of rows held
    count: IntArray  # shape (cells,): number of rows that the pool had when it was prepared

    def later(self, cells: CellBatch, keys: UInt64Array) -> BoolArray:
        """Return which rows are of a short cell and behind the last row held of it."""
        return self.short[cells.cell] & self.behind(cells, keys)

    def behind(self, cells: CellBatch, keys: UInt64Array) -> BoolArray:
        """Return which rows are behind the last row held of their cell: none with a label."""
        cell = cells.cell
        behind = keys > self.last_hash[cell]
        for row in np.flatnonzero((self.rows[cell] > 0) & (keys == self.last_hash[cell])):
            behind[row] = cells.ids[int(row)].as_py() > self.last_id[cell[row]]
        return behind if cells.has_label is None else behind & ~cells.has_label

    def check_recount(self, counts: IntArray, path: str) -> None:
        """Check that the reserve and a pool have the same rows in each cell."""
        earlier = np.stack([self.count, self.rows])
        differs = np.flatnonzero((counts != earlier).any(axis=0))
        if len(differs):
            cell = int(differs[0])
            why = (
                f"cell {cell} has {counts[0, cell]:,} rows and had {earlier[0, cell]:,}"
                if counts[0, cell] != earlier[0, cell]
                else f"cell {cell} has other ids than it had"
            )
            raise InputError(f"{path}: the pool has changed since it was prepared: {why}")


def recounted(cells: CellBatch, held: HeldRows) -> IntArray:
    """Return the rows of a batch by cell, all and those up to the last row held: (2, cells)."""
    within = (held.rows[cells.cell] > 0) & ~held.behind(cells, cells.keys)
    both = cells.cell, cells.cell[within]
    return np.stack([np.bincount(cell, minlength=len(held.rows)) for cell in both])
