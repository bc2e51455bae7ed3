"""The pool as a list ranked by score, in groups: the rows of a bin share a rank."""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable


@dataclasses.dataclass(frozen=True)
class RankedList:
    """Groups of rows with the same rank, the highest scores first."""

    group: IntArray  # (cells,): group of each cell
    rows: IntArray  # (groups,): rows of each group
    rank: IntArray  # (groups,): rows of the group and of those above it; the last is M
    threshold: FloatArray  # (groups,), descending: least score of each group
    highest: FloatArray  # (groups,): greatest score of each group

    @classmethod
    def of_cells(cls, table: CellTable) -> "RankedList":
        """Return the list of the first system's scores."""
        least = table.outputs.score[table.first_kind, 0]
        threshold, first, group = np.unique(-least, return_index=True, return_inverse=True)
        if len(threshold) == 1 and table.leaves > 1:
            raise ValueError("rows are ranked by score, so the strata must be cut from it")
        rows = np.bincount(group, table.count, len(threshold)).astype(np.int64)
        highest = table.upper_outputs.score[table.first_kind, 0][first]
        return cls(group.ravel(), rows, np.cumsum(rows), -threshold, highest)

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.rank)

    def at_rank(self, rank: float) -> int:
        """Return the first group that reaches a rank."""
        return min(int(np.searchsorted(self.rank, rank)), len(self) - 1)

    def nearest(self, rank: float, low: int, high: int) -> int:
        """Return the group strictly between two groups whose rank is nearest on the log scale."""
        inner = np.log(self.rank[low + 1 : high])
        return low + 1 + int(np.argmin(np.abs(inner - np.log(rank))))

    def reaching(self, threshold: FloatArray) -> IntArray | None:
        """Return the last group to reach each threshold, or -1; None if one cuts a group."""
        after = np.searchsorted(-self.threshold, -threshold, side="right")
        next_highest = np.append(self.highest, -np.inf)[after]
        return None if np.any(next_highest >= threshold) else after - 1

    def sums(self, cell: IntArray, weight: npt.NDArray[np.generic] | None = None) -> FloatArray:
        """Return the number of questions of each group, or their total weight, shape (groups,)."""
        return np.bincount(self.group[cell], weight, len(self)).astype(np.float64)
