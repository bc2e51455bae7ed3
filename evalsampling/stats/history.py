"""What has happened so far: rounds, draws and labels, in one frozen record.

A row of the pool is known here by its cell and its *rank*, its place in the permanent random
order of the cell. Which id that is only the reserve knows, and no statistics need it.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

NO_LABEL = -1
"""Label code of a row that was drawn and has no label."""


@dataclasses.dataclass(frozen=True)
class Round:
    """The draws of one round, in order.

    Attributes:
        row: shape (draws,): index into the rows of the history.
        probability: shape (draws,): q, the chance that one draw of the round took this row.
        new: shape (draws,), bool: whether the draw met the row for the first time ever.
        posterior: pi(y|k) behind the proposal, shape (leaves, classes), if it had a model.
    """

    row: IntArray
    probability: FloatArray
    new: npt.NDArray[np.bool_]
    posterior: FloatArray | None = None


@dataclasses.dataclass(frozen=True)
class History:
    """Rounds so far, and the distinct rows they drew in order of their first draw.

    Attributes:
        cell: shape (rows,): index into the cell table.
        rank: shape (rows,): place in the cell's permanent order, from 0.
        label: shape (rows,): class code, or `NO_LABEL`.
        rounds: in order.
    """

    cell: IntArray = dataclasses.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    rank: IntArray = dataclasses.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    label: IntArray = dataclasses.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    rounds: tuple[Round, ...] = ()

    @property
    def labelled(self) -> IntArray:
        """Indices of the rows that have a label."""
        return np.flatnonzero(self.label != NO_LABEL)

    @property
    def row(self) -> IntArray:
        """Rows of all draws, in order."""
        return np.concatenate([np.zeros(0, np.int64), *(r.row for r in self.rounds)])

    @property
    def probability(self) -> FloatArray:
        """Q of all draws, in order."""
        return np.concatenate([np.zeros(0), *(r.probability for r in self.rounds)])

    def drawn_by_cell(self, cells: int) -> IntArray:
        """Distinct rows drawn from each cell, shape (cells,): the rank of its next fresh row."""
        return np.bincount(self.cell, minlength=cells)

    def with_round(self, drawn: Round, cell: IntArray, rank: IntArray) -> "History":
        """Add a round and the rows it met first, at (cell, rank), still without labels."""
        return History(
            np.concatenate([self.cell, cell]),
            np.concatenate([self.rank, rank]),
            np.concatenate([self.label, np.full(len(cell), NO_LABEL)]),
            (*self.rounds, drawn),
        )

    def with_labels(self, label: IntArray) -> "History":
        """Replace the labels of all rows, shape (rows,)."""
        return dataclasses.replace(self, label=label)
