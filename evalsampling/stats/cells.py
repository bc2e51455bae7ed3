"""The cell table: all that a design ever reads of a pool.

A *cell* is a leaf together with a loss signature, here the classes predicted. Counts and sums
are integers, so the table does not depend on how the pool was cut or in which order it was
summed: a probability p enters as the integer round(p 2^32).
"""

import dataclasses
import functools
import json

import numpy as np
import numpy.typing as npt

PROBABILITY_ONE = 1 << 32
"""The integer that stands for a probability of one."""

_ROWS_AT_A_TIME = 1 << 20
"""Rows whose integer probabilities float64 still sums exactly (2^20 x 2^32 < 2^53)."""


@dataclasses.dataclass(frozen=True)
class CellTable:
    """The cells of a pool that hold rows, ordered by leaf, then signature.

    Attributes:
        code: shape (cells,), ascending: the cell's number among all there could be (see
            `cell_codes`), its name in every file.
        leaf: shape (cells,): the leaf of each cell, in [0, leaves).
        signature: shape (cells, systems): class codes predicted, in [0, classes).
        count: shape (cells,), int64: rows.
        probability: shape (cells, classes): mean prior probability of each class.
        leaves: number of leaves, none of them empty when cut by `strata.csf_edges`.
    """

    code: npt.NDArray[np.int64]
    leaf: npt.NDArray[np.int64]
    signature: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    probability: npt.NDArray[np.float64]
    leaves: int

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.count)

    @functools.cached_property
    def rows(self) -> int:
        """M, the rows of the pool."""
        return int(self.count.sum())

    @functools.cached_property
    def leaf_count(self) -> npt.NDArray[np.int64]:
        """M_k, rows in each leaf, shape (leaves,)."""
        return self.sum_by_leaf(self.count[:, None])[:, 0].astype(np.int64)

    @functools.cached_property
    def leaf_prior(self) -> npt.NDArray[np.float64]:
        """s(y|k), mean prior probability of each class in each leaf, shape (leaves, classes)."""
        mass = self.sum_by_leaf(self.count[:, None] * self.probability)
        return mass / np.maximum(self.leaf_count, 1)[:, None]

    def sum_by_leaf(self, values: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
        """Sum values of shape (cells, n) into shape (leaves, n)."""
        return np.stack(
            [np.bincount(self.leaf, column, minlength=self.leaves) for column in values.T], axis=1
        )


@dataclasses.dataclass(frozen=True)
class CellSums:
    """Exact sums a cell, over every cell there could be: a mergeable state.

    Attributes:
        shape: (leaves, classes predicted by the first system, by the second, ...).
        count: shape (cells,), Python integers: rows.
        probability: shape (cells, classes), Python integers: sums of round(p 2^32).
    """

    shape: tuple[int, ...]
    count: npt.NDArray[np.object_]
    probability: npt.NDArray[np.object_]

    @classmethod
    def zero(cls, shape: tuple[int, ...], classes: int) -> "CellSums":
        """Return the sums over no rows."""
        cells = int(np.prod(shape))
        return cls(shape, np.zeros(cells, dtype=object), np.zeros((cells, classes), dtype=object))

    @classmethod
    def from_rows(
        cls,
        shape: tuple[int, ...],
        cell: npt.NDArray[np.int64],
        probability: npt.NDArray[np.float64],
    ) -> "CellSums":
        """Sum rows.

        Args:
            shape: (leaves, classes predicted by the first system, ...).
            cell: shape (n,): each row's cell code (see `cell_codes`).
            probability: shape (n, classes): prior probabilities in [0, 1], all classes.
        """
        cells = int(np.prod(shape))
        sums = cls.zero(shape, probability.shape[1])
        for begin in range(0, len(cell), _ROWS_AT_A_TIME):
            part = cell[begin : begin + _ROWS_AT_A_TIME]
            integers = np.rint(probability[begin : begin + _ROWS_AT_A_TIME] * PROBABILITY_ONE)
            sums.count[:] += _integers(np.bincount(part, minlength=cells))
            for y in range(probability.shape[1]):
                sums.probability[:, y] += _integers(np.bincount(part, integers[:, y], cells))
        return sums

    def __add__(self, other: "CellSums") -> "CellSums":
        """Return the sums over both sets of rows."""
        if self.shape != other.shape:
            raise ValueError(f"cells of shapes {self.shape} and {other.shape} do not add up")
        return CellSums(self.shape, self.count + other.count, self.probability + other.probability)

    def table(self) -> CellTable:
        """Return the cells that hold rows."""
        kept = np.flatnonzero(self.count.astype(bool))
        leaf, *signature = np.unravel_index(kept, self.shape)
        mass = self.probability[kept] / (self.count[kept] * PROBABILITY_ONE)[:, None]
        return CellTable(
            code=kept,
            leaf=leaf.astype(np.int64),
            signature=np.stack(signature, axis=1).astype(np.int64),
            count=self.count[kept].astype(np.int64),
            probability=mass.astype(np.float64),
            leaves=self.shape[0],
        )

    def to_bytes(self) -> bytes:
        """Serialise without loss."""
        return json.dumps(
            [list(self.shape), self.count.tolist(), self.probability.tolist()]
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "CellSums":
        """Restore what `to_bytes` wrote."""
        shape, count, probability = json.loads(data)
        return cls(
            tuple(shape),
            np.array(count, dtype=object),
            np.array(probability, dtype=object).reshape(len(count), -1),
        )


def cell_codes(
    shape: tuple[int, ...], leaf: npt.NDArray[np.int64], predictions: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Number the cells of rows.

    Args:
        shape: (leaves, classes predicted by the first system, ...).
        leaf: shape (n,).
        predictions: shape (n, systems): class codes.

    Returns:
        Shape (n,): codes in [0, product of shape), ordered by leaf, then signature.
    """
    return np.ravel_multi_index((leaf, *predictions.T), shape)


def _integers(sums: npt.NDArray[np.generic]) -> npt.NDArray[np.object_]:
    """Sums as Python integers, which never overflow."""
    return sums.astype(np.int64).astype(object)
