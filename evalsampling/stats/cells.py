"""The cell table: all that samplers and estimates read of a pool.

A *cell* is a score bin together with the signature, the predictions and the slices that the spec
names, and with classes of costs and weights; leaves are groups of adjacent bins. All sums are of
integers, round(p 2^32) for a probability p, so they do not depend on how the pool was cut.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray, within_runs
from evalsampling.stats.disagreement import CellDisagreement
from evalsampling.stats.magnitudes import COST, MagnitudeClasses
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.signatures import Signatures
from evalsampling.stats.slices import Named, SliceCodes
from evalsampling.stats.tree import LeafTree

PROBABILITY_ONE = 1 << 32
"""The integer that stands for a probability of one."""

GUESSED = 0.3
"""Share of the verdicts that are expected to be guesses, right as often as chance has it.

Each class then has as many rows as are predicted, and two verdicts that agree have a kappa of 1
less this share. It is what `plan` reckons with, and where samplers that need a prior begin."""

_ROWS_AT_A_TIME = 1 << 16
"""Rows summed at a time: their probabilities stay in the processor's cache, and float64 sums
these as integers exactly (2^16 x 2^32 < 2^53)."""


@dataclasses.dataclass(frozen=True)
class Leaves:
    """The leaves that cells are in: their number, and the meaning of their order."""

    number: int  # none of them is empty when cut from the pool
    # (leaves - 1,): level at which each two neighbouring leaves part in their own hierarchy, from 1
    parting: IntArray | None = None
    in_order: bool = False  # rows of a later leaf are likelier positive, whatever their prior says
    exchangeable: bool = False  # they are what systems predict; no score tells their rows apart

    def __len__(self) -> int:
        """Return their number."""
        return self.number

    @functools.cached_property
    def hierarchy(self) -> LeafTree | None:
        """The tree over the leaves that is their own, if they have one."""
        return None if self.parting is None else LeafTree.parted(self.parting)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kinds(Outputs):
    """The systems' outputs for each *kind* of rows: predictions, least scores and means.

    A cell whose rows have different signatures, being pooled, is of several kinds; every other
    cell is of one. Mean cost and weight are the same for all kinds of a cell.
    """

    cell: IntArray  # (kinds,), ascending: index of the cell of each kind
    share: FloatArray  # (kinds,): its share of the cell's rows, summing to 1 in each cell
    # (kinds, systems): greatest scores; None if all scores of a kind are equal
    upper: FloatArray | None = None
    cost_class: IntArray | None = None  # (kinds,): class of costs; None if all labels cost the same
    # (kinds, 1 + systems, labels), where rows have any number of many labels: the share expected to
    # have each, then to have it and be predicted it by each system; cells are of one kind then
    expected: FloatArray | None = None

    @functools.cached_property
    def first(self) -> IntArray:
        """The first kind of each cell, shape (cells,)."""
        return np.flatnonzero(np.diff(self.cell, prepend=-1))

    @functools.cached_property
    def mixed(self) -> BoolArray:
        """Which cells are of several kinds, shape (cells,)."""
        return np.bincount(self.cell) > 1

    @functools.cached_property
    def highest(self) -> Outputs:
        """The same with the greatest scores of each kind."""
        return self if self.upper is None else dataclasses.replace(self, score=self.upper)

    def of_cells(self, cell: IntArray) -> Outputs:
        """Return the systems' outputs for a row of the first kind of given cells."""
        return self.take(self.first[cell])

    def by_cell(self, values: FloatArray) -> FloatArray:
        """Return the means over the kinds of each cell, (cells, ...), of values (kinds, ...)."""
        if len(self.first) == len(self):
            return values
        share = self.share.reshape(-1, *(1 for _ in values.shape[1:]))
        return np.add.reduceat(values * share, self.first, axis=0)

    def predicted(self, code: int, system: int = 0) -> FloatArray:
        """Return the share of the rows of each cell that a system predicts a class, (cells,)."""
        return self.by_cell((self.prediction[:, system] == code).astype(np.float64))


@dataclasses.dataclass(frozen=True)
class CellTable:
    """The cells of a pool that hold rows, ordered by bin, then signature."""

    # shape (cells,), ascending: the cell's number among all possible ones, used in files
    code: IntArray
    leaf: IntArray  # shape (cells,): the leaf of each cell, in [0, leaves)
    count: IntArray  # shape (cells,): rows
    # shape (cells, classes): mean prior probability of each class, or of many labels
    prior: FloatArray
    leaves: Leaves  # the leaves
    kinds: Kinds  # the kinds of rows of the cells, with what the systems say of them
    # how far the systems are apart in each cell, if several predict numbers
    disagreement: CellDisagreement | None = None

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.count)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.prior.shape[1]

    def covers(self, label: IntArray) -> bool:
        """Tell whether labels are of its classes, so that it has their probabilities."""
        return int(label.max(initial=-1)) < self.classes

    @functools.cached_property
    def rows(self) -> int:
        """M, the rows of the pool."""
        return int(self.count.sum())

    @functools.cached_property
    def memory(self) -> dict[Any, Any]:
        """Results worked out from these very cells, kept for the next call; no part of them."""
        return {}

    @functools.cached_property
    def cost(self) -> FloatArray | None:
        """Mean cost of a label in each cell, shape (cells,); None if all cost the same."""
        return None if self.kinds.cost is None else self.kinds.cost[self.kinds.first]

    @functools.cached_property
    def leaf_count(self) -> IntArray:
        """M_k, rows in each leaf, shape (leaves,)."""
        return self.sum_by_leaf(self.count[:, None])[:, 0].astype(np.int64)

    @functools.cached_property
    def leaf_prior(self) -> FloatArray:
        """s(y|k), mean prior probability of each class in each leaf, shape (leaves, classes)."""
        return self.mean_by_leaf(self.prior)

    def sum_by_leaf(self, values: npt.NDArray[np.generic]) -> FloatArray:
        """Return the sums over leaves, shape (leaves, n), of values of shape (cells, n)."""
        return np.stack([np.bincount(self.leaf, of, len(self.leaves)) for of in values.T], axis=1)

    def mean_by_leaf(self, values: FloatArray) -> FloatArray:
        """Return the means over the rows of leaves, (leaves, n), of values of shape (cells, n)."""
        mass = self.sum_by_leaf(self.count[:, None] * values)
        return mass / np.maximum(self.leaf_count, 1)[:, None]


@dataclasses.dataclass(frozen=True)
class CellSums:
    """Exact sums over the rows of each possible cell: a mergeable state.

    Sums of round(p 2^32) may exceed int64, so each is kept as high x 2^32 + low.
    """

    count: IntArray  # (cells,): rows
    high: IntArray  # (cells, columns), int64
    low: IntArray  # (cells, columns), int64, in [0, 2^32)
    # identity of the workspace by whose strata rows were cut; None for none
    workspace: str | None = None

    @classmethod
    def from_rows(cls, cells: int, cell: IntArray, probability: FloatArray) -> "CellSums":
        """Return the sums of fewer than 2^31 rows over their cells, given each row's cell code."""
        count = np.zeros(cells, dtype=np.int64)
        sums = np.zeros((probability.shape[1], cells), dtype=np.int64)
        for begin in range(0, len(cell), _ROWS_AT_A_TIME):
            rows = slice(begin, begin + _ROWS_AT_A_TIME)
            count += np.bincount(cell[rows], minlength=cells)
            for column, total in zip(probability.T, sums, strict=True):
                integers = column[rows] * float(PROBABILITY_ONE)
                np.rint(integers, out=integers)
                total += np.bincount(cell[rows], integers, cells).astype(np.int64)
        return cls._carried(count, np.zeros_like(sums.T), sums.T)

    @classmethod
    def _carried(
        cls, count: IntArray, high: IntArray, low: IntArray, workspace: str | None = None
    ) -> "CellSums":
        """Return sums with the low words brought below 2^32."""
        return cls(count, high + (low >> 32), low & (PROBABILITY_ONE - 1), workspace)

    def __add__(self, other: "CellSums") -> "CellSums":
        """Return the sums over both sets of rows."""
        if self.workspace != other.workspace:
            raise ValueError("sums over cells of two workspaces do not add up")
        words = self.high + other.high, self.low + other.low
        return self._carried(self.count + other.count, *words, self.workspace)

    @property
    def probability(self) -> npt.NDArray[np.object_]:
        """Sums of round(p 2^32), shape (cells, columns), as Python integers: none overflows."""
        return self.high.astype(object) * PROBABILITY_ONE + self.low.astype(object)

    def means(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return codes, numbers of rows and mean probabilities of the cells that hold rows."""
        code = np.flatnonzero(self.count)
        count = self.count[code]
        mean = self.probability[code] / (count.astype(object) * PROBABILITY_ONE)[:, None]
        return code, count, mean.astype(np.float64)


@dataclasses.dataclass(frozen=True)
class CellGrid:
    """All possible cells: every score bin with every signature slot and class of magnitudes."""

    leaf: IntArray  # (bins,): leaf of each bin, in [0, leaves)
    score: FloatArray  # (bins,): least score of the first system in each bin
    leaves: Leaves
    signatures: Signatures  # the slots
    upper: FloatArray | None = None  # (bins,): greatest score in each bin; None if it is `score`
    # classes of costs and of weights, by the names of those in which rows differ
    magnitudes: Mapping[str, MagnitudeClasses] = dataclasses.field(default_factory=dict)
    # slices whose codes follow the predictions in a signature
    named: Named = dataclasses.field(default_factory=dict)
    labels: int = 0  # number of the labels of which a row may have many; 0 for classes

    @property
    def cells(self) -> int:
        """Number of possible cells."""
        classes = math.prod(each.classes for each in self.magnitudes.values())
        return len(self.leaf) * self.signatures.slots * classes

    def codes(
        self,
        bin: IntArray,
        signature: npt.NDArray[np.integer],
        magnitudes: Mapping[str, FloatArray] | None = None,
    ) -> IntArray:
        """Return the cell code of each row, by bin, then signature, then magnitudes: (n,)."""
        codes = bin * self.signatures.slots
        codes += self.signatures.slot(signature)
        for name, each in self.magnitudes.items():
            assert magnitudes is not None
            codes = codes * each.classes + each.find(magnitudes[name])
        return codes

    def places(self, code: IntArray) -> tuple[IntArray, IntArray, dict[str, IntArray]]:
        """Return bin, signature slot and classes of magnitudes of cells, shape (cells,) each."""
        of_class, rest = {}, code
        for name, each in reversed([*self.magnitudes.items()]):
            rest, of_class[name] = np.divmod(rest, each.classes)
        bin, slot = np.divmod(rest, self.signatures.slots)
        return bin, slot, of_class

    def table(self, code: IntArray, count: IntArray, mean: FloatArray, classes: int) -> CellTable:
        """Return the table of the cells that hold rows.

        `mean`: shape (cells, columns): prior of each class, then the probability of each class for
        each system; of a single system without its own, the prior alone. Last come magnitudes, as
        shares of the greatest of their class. With `labels`, after the prior of each label come for
        each system the shares of rows that are predicted it, then those expected to have it too.
        """
        bin, slot, of_class = self.places(code)
        mean, shares = np.split(mean, [mean.shape[1] - len(self.magnitudes)], axis=1)
        magnitudes = {
            name: each.absolute(share, of_class[name])
            for (name, each), share in zip(self.magnitudes.items(), shares.T, strict=True)
        }
        means = mean.reshape(len(code), mean.shape[1] // classes, classes)
        members = [self.signatures.predictions(number) for number in range(self.signatures.slots)]
        sizes = np.array([len(share) for _, share in members])
        starts = np.cumsum(sizes) - sizes
        cell = np.repeat(np.arange(len(code)), sizes[slot])
        member = starts[slot[cell]] + within_runs(sizes[slot])
        systems = len(self.signatures.shape) - len(self.named)
        signature = np.concatenate([codes for codes, _ in members])[member]
        # The scores of the other systems are not known, so they have no bounds.
        score = np.full((len(cell), systems), -np.inf)
        score[:, 0] = self.score[bin[cell]]
        upper = np.full_like(score, np.inf)
        upper[:, 0] = (self.score if self.upper is None else self.upper)[bin[cell]]
        own = means[:, 1:] if means.shape[1] > 1 else means[:, :1]
        prediction = signature[:, :systems]
        tags = expected = None
        if self.labels:
            tags, expected = means[:, 1 : 1 + systems], np.delete(means, range(1, 1 + systems), 1)
            # The sets that two systems predict are taken to differ in every cell.
            prediction, own = prediction + np.arange(systems), own[:, :systems, :0]
        kinds = Kinds(
            prediction=prediction,
            score=score,
            probability=own[cell],
            slices=SliceCodes(self.named, signature[:, systems:]) if self.named else None,
            tags=tags,
            magnitudes={name: value[cell] for name, value in magnitudes.items()},
            cell=cell,
            share=np.concatenate([share for _, share in members])[member],
            upper=upper,
            cost_class=of_class[COST][cell] if COST in of_class else None,
            expected=expected,
        )
        return CellTable(code, self.leaf[bin], count, means[:, 0], self.leaves, kinds)


def expected_of_verdicts() -> str:
    """Return the assumed share of right verdicts, in words."""
    right = 100 * (1 - GUESSED)
    return f"{right:.0f} % of the verdicts are right and the others are guesses, for want of scores"


def named_verdicts(table: CellTable, classes: Sequence[str]) -> list[list[str]]:
    """Return each system's prediction in each leaf, as texts; in mixed leaves that of one kind."""
    first = np.unique(table.leaf, return_index=True)[1]
    verdict = table.kinds.prediction[table.kinds.first[first]]
    return [[f"predicted {classes[code]}" for code in says] for says in verdict.tolist()]


def by_verdict(table: CellTable, guessed: float | None = GUESSED) -> CellTable:
    """Return cells whose leaves are the systems' predictions: rows of a leaf are exchangeable.

    The share ``guessed`` of the verdicts are guesses; None keeps the prior probabilities.
    """
    signature, mixed = table.kinds.prediction[table.kinds.first], table.kinds.mixed
    mixed = np.cumsum(mixed) * mixed  # Rare signatures that share a cell.
    key = np.concatenate([signature, mixed[:, None]], axis=1)
    verdicts, leaf = np.unique(key, axis=0, return_inverse=True)
    prior = table.prior
    if guessed is not None:  # expected is the mean over the systems' verdicts
        expected = (table.kinds.prediction[:, :, None] == np.arange(table.classes)).mean(axis=1)
        expected = table.kinds.by_cell(expected)
        share = table.count @ expected / table.rows
        prior = np.asarray((1 - guessed) * expected + guessed * share)
    leaves = Leaves(len(verdicts), exchangeable=True)
    return dataclasses.replace(table, leaf=leaf.reshape(-1), leaves=leaves, prior=prior)
