"""The cell table: all that a design ever reads of a pool.

A *cell* is a score bin together with the signature of the predictions; leaves are groups of
adjacent bins. Counts and sums are integers, so the table does not depend on how the pool was
cut or in which order it was summed: a probability p enters as the integer round(p 2^32).
"""

import dataclasses
import functools
import json

import numpy as np
import numpy.typing as npt

from evalsampling.stats.outputs import Outputs
from evalsampling.stats.signatures import Signatures

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

PROBABILITY_ONE = 1 << 32
"""The integer that stands for a probability of one."""

_ROWS_AT_A_TIME = 1 << 20
"""Rows whose integer probabilities float64 still sums exactly (2^20 x 2^32 < 2^53)."""


@dataclasses.dataclass(frozen=True)
class CellTable:
    """The cells of a pool that hold rows, ordered by bin, then signature.

    A cell whose rows have different signatures, being pooled, is described by several *kinds*
    of rows; every other cell is of one kind.

    Attributes:
        code: shape (cells,), ascending: the cell's number among all there could be, its name in
            every file.
        leaf: shape (cells,): the leaf of each cell, in [0, leaves).
        count: shape (cells,), int64: rows.
        prior: shape (cells, classes): mean prior probability of each class.
        leaves: number of leaves, none of them empty when cut from the pool.
        kind_cell: shape (kinds,), ascending: index of the cell of each kind.
        kind_share: shape (kinds,): its share of the cell's rows, summing to 1 in each cell.
        outputs: of a row of each kind: predictions; of the scores what they are at least; mean
            probabilities.
        upper: shape (kinds, systems): what the scores are at most; None if they are all alike in
            each kind.
    """

    code: IntArray
    leaf: IntArray
    count: IntArray
    prior: FloatArray
    leaves: int
    kind_cell: IntArray
    kind_share: FloatArray
    outputs: Outputs
    upper: FloatArray | None = None

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.count)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.prior.shape[1]

    @functools.cached_property
    def rows(self) -> int:
        """M, the rows of the pool."""
        return int(self.count.sum())

    @functools.cached_property
    def leaf_count(self) -> IntArray:
        """M_k, rows in each leaf, shape (leaves,)."""
        return self.sum_by_leaf(self.count[:, None])[:, 0].astype(np.int64)

    @functools.cached_property
    def leaf_prior(self) -> FloatArray:
        """s(y|k), mean prior probability of each class in each leaf, shape (leaves, classes)."""
        mass = self.sum_by_leaf(self.count[:, None] * self.prior)
        return mass / np.maximum(self.leaf_count, 1)[:, None]

    def sum_by_leaf(self, values: npt.NDArray[np.generic]) -> FloatArray:
        """Sum values of shape (cells, n) into shape (leaves, n)."""
        return np.stack(
            [np.bincount(self.leaf, column, minlength=self.leaves) for column in values.T], axis=1
        )

    def mean_by_cell(self, values: FloatArray) -> FloatArray:
        """Average values of shape (kinds, ...) over the kinds of each cell: (cells, ...)."""
        if len(self.kind_cell) == len(self):
            return values
        share = self.kind_share.reshape(-1, *(1 for _ in values.shape[1:]))
        first = np.flatnonzero(np.diff(self.kind_cell, prepend=-1))
        return np.add.reduceat(values * share, first, axis=0)

    @functools.cached_property
    def upper_outputs(self) -> Outputs:
        """Outputs of a row of each kind, its scores as great as they can be."""
        if self.upper is None:
            return self.outputs
        return dataclasses.replace(self.outputs, score=self.upper)

    @functools.cached_property
    def is_mixed(self) -> npt.NDArray[np.bool_]:
        """Which cells are of several kinds, shape (cells,)."""
        return np.bincount(self.kind_cell, minlength=len(self)) > 1

    @functools.cached_property
    def first_kind(self) -> IntArray:
        """The first kind of each cell, shape (cells,)."""
        return np.flatnonzero(np.diff(self.kind_cell, prepend=-1))


@dataclasses.dataclass(frozen=True)
class CellSums:
    """Exact sums a cell, over every cell there could be: a mergeable state.

    Attributes:
        count: shape (cells,), Python integers: rows.
        probability: shape (cells, columns), Python integers: sums of round(p 2^32).
    """

    count: npt.NDArray[np.object_]
    probability: npt.NDArray[np.object_]

    @classmethod
    def zero(cls, cells: int, columns: int) -> "CellSums":
        """Return the sums over no rows."""
        return cls(np.zeros(cells, dtype=object), np.zeros((cells, columns), dtype=object))

    @classmethod
    def from_rows(cls, cells: int, cell: IntArray, probability: FloatArray) -> "CellSums":
        """Sum rows.

        Args:
            cells: number of cells there could be.
            cell: shape (n,): each row's cell code.
            probability: shape (n, columns): in [0, 1].
        """
        sums = cls.zero(cells, probability.shape[1])
        for begin in range(0, len(cell), _ROWS_AT_A_TIME):
            part = cell[begin : begin + _ROWS_AT_A_TIME]
            integers = np.rint(probability[begin : begin + _ROWS_AT_A_TIME] * PROBABILITY_ONE)
            sums.count[:] += _integers(np.bincount(part, minlength=cells))
            for y in range(probability.shape[1]):
                sums.probability[:, y] += _integers(np.bincount(part, integers[:, y], cells))
        return sums

    def __add__(self, other: "CellSums") -> "CellSums":
        """Return the sums over both sets of rows."""
        if self.probability.shape != other.probability.shape:
            shapes = f"{self.probability.shape} and {other.probability.shape}"
            raise ValueError(f"sums of shapes {shapes} do not add up")
        return CellSums(self.count + other.count, self.probability + other.probability)

    def means(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return codes, rows and mean probabilities of the cells that hold rows."""
        code = np.flatnonzero(self.count.astype(bool))
        mean = self.probability[code] / (self.count[code] * PROBABILITY_ONE)[:, None]
        return code, self.count[code].astype(np.int64), mean.astype(np.float64)

    def to_bytes(self) -> bytes:
        """Serialise without loss."""
        return json.dumps([self.count.tolist(), self.probability.tolist()]).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "CellSums":
        """Restore what `to_bytes` wrote."""
        count, probability = json.loads(data)
        return cls(
            np.array(count, dtype=object),
            np.array(probability, dtype=object).reshape(len(count), -1),
        )


@dataclasses.dataclass(frozen=True)
class CellGrid:
    """The cells there can be: every score bin with every signature slot.

    Attributes:
        leaf: shape (bins,): leaf of each bin, in [0, leaves).
        score: shape (bins,): what the first system's scores in a bin are at least.
        leaves: number of leaves.
        signatures: the slots.
        upper: shape (bins,): what they are at most; None if `score` is all there is.
    """

    leaf: IntArray
    score: FloatArray
    leaves: int
    signatures: Signatures
    upper: FloatArray | None = None

    @property
    def cells(self) -> int:
        """Number of cells there can be."""
        return len(self.leaf) * self.signatures.slots

    def codes(self, bin: IntArray, prediction: IntArray) -> IntArray:
        """Number the cells of rows.

        Args:
            bin: shape (n,).
            prediction: shape (n, systems): class codes.

        Returns:
            Shape (n,): codes in [0, cells), ordered by bin, then signature.
        """
        return bin * self.signatures.slots + self.signatures.slot(prediction)

    def table(self, code: IntArray, count: IntArray, mean: FloatArray, classes: int) -> CellTable:
        """Return the cells that hold rows.

        Args:
            code: shape (cells,), ascending.
            count: shape (cells,): rows.
            mean: shape (cells, columns): prior of each class, then the probability of each class
                for each system; of a single system without its own, the prior alone.
            classes: number of classes.
        """
        means = mean.reshape(len(code), mean.shape[1] // classes, classes)
        bin, slot = np.divmod(code, self.signatures.slots)
        members = [self.signatures.predictions(number) for number in range(self.signatures.slots)]
        sizes = np.array([len(share) for _, share in members])
        starts = np.cumsum(sizes) - sizes
        kind_cell = np.repeat(np.arange(len(code)), sizes[slot])
        within = np.arange(len(kind_cell)) - np.repeat(
            np.cumsum(sizes[slot]) - sizes[slot], sizes[slot]
        )
        member = starts[slot[kind_cell]] + within
        systems = len(self.signatures.shape)
        # Of the other systems' scores nothing is known.
        score = np.full((len(kind_cell), systems), -np.inf)
        score[:, 0] = self.score[bin[kind_cell]]
        upper = np.full_like(score, np.inf)
        upper[:, 0] = (self.score if self.upper is None else self.upper)[bin[kind_cell]]
        own = means[:, 1:] if means.shape[1] > 1 else means[:, :1]
        return CellTable(
            code=code,
            leaf=self.leaf[bin],
            count=count,
            prior=means[:, 0],
            leaves=self.leaves,
            kind_cell=kind_cell,
            kind_share=np.concatenate([share for _, share in members])[member],
            outputs=Outputs(
                prediction=np.concatenate([prediction for prediction, _ in members])[member],
                score=score,
                probability=own[kind_cell],
            ),
            upper=upper,
        )


def _integers(sums: npt.NDArray[np.generic]) -> npt.NDArray[np.object_]:
    """Sums as Python integers, which never overflow."""
    return sums.astype(np.int64).astype(object)
