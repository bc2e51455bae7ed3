"""The cell table: all that samplers and estimates read of a pool.

A *cell* is a score bin together with the signature, the predictions and the slices that the spec
names, and, where rows differ in cost or weight, classes of these; leaves are groups of adjacent
bins.
Counts and sums are integers, so the table does not depend on how the pool was cut or in which order
it was summed: a probability p enters as the integer round(p 2^32).
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.disagreement import CellDisagreement
from evalsampling.stats.distinct import within_runs
from evalsampling.stats.magnitudes import MagnitudeClasses
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.permanent import PermanentNumbers
from evalsampling.stats.signatures import Signatures
from evalsampling.stats.slices import Named, SliceCodes

PROBABILITY_ONE = 1 << 32
"""The integer that stands for a probability of one."""

BY_PRIOR, BY_LEAF, UNORDERED = "prior", "leaf", "nothing"
"""What may tell which rows of a pool are likelier positive than others."""

GUESSED = 0.3
"""Share of the verdicts that are expected to be guesses, right as often as chance has it.

Each class then has as many rows as are predicted, and two verdicts that agree have a kappa of 1
less this share. It is what `plan` reckons with, and where samplers that need a prior begin."""

_ROWS_AT_A_TIME = 1 << 16
"""Rows summed at a time: their probabilities stay in the processor's cache, and float64 sums
these as integers exactly (2^16 x 2^32 < 2^53)."""


@dataclasses.dataclass(frozen=True)
class CellTable:
    """The cells of a pool that hold rows, ordered by bin, then signature.

    A cell whose rows have different signatures, being pooled, is described by several *kinds*
    of rows; every other cell is of one kind.

    Attributes:
        code: shape (cells,), ascending: the cell's number among all possible ones, used in files.
        leaf: shape (cells,): the leaf of each cell, in [0, leaves).
        count: shape (cells,): rows.
        prior: shape (cells, classes): mean prior probability of each class.
        leaves: number of leaves, none of them empty when cut from the pool.
        kind_cell: shape (kinds,), ascending: index of the cell of each kind.
        kind_share: shape (kinds,): its share of the cell's rows, summing to 1 in each cell.
        outputs: a row for each kind: predictions, least scores, mean probabilities, and mean cost
            and weight, which are the same for all kinds of a cell.
        upper: shape (kinds, systems): greatest scores; None if all scores of a kind are equal.
        magnitude_class: shape (cells,) each: class of costs, and of weights, of each cell, by the
            names of those in which rows differ.
        parting: shape (leaves - 1,): level at which each two neighbouring leaves part in their own
            hierarchy, from 1; None if they have none.
        expected: shape (cells, 1 + systems, labels): where rows have any number of many labels, the
            share expected to have each, then to have it and be predicted it by each system. Every
            cell is of one kind then, and `prior` has the labels' probabilities.
        numbers: permanent random numbers of the first rows of each cell, for samplers that draw by
            them; None if they are not known: the rows of a cell are exchangeable then.
        disagreement: how far the systems are apart in each cell, if several predict numbers.
        ordered_by: what tells which rows are likelier positive: `BY_PRIOR`, `BY_LEAF` if leaves are
            in order, or `UNORDERED` if leaves are what systems predict.
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
    magnitude_class: Mapping[str, IntArray] = dataclasses.field(default_factory=dict)
    parting: IntArray | None = None
    expected: FloatArray | None = None
    numbers: PermanentNumbers | None = None
    disagreement: CellDisagreement | None = None
    ordered_by: str = BY_PRIOR

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.count)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.prior.shape[1]

    @property
    def exchangeable(self) -> bool:
        """Whether leaves are what systems predict, and no score tells their rows apart."""
        return self.ordered_by == UNORDERED

    def covers(self, label: IntArray) -> bool:
        """Tell whether labels are of its classes, so that it has their probabilities."""
        return int(label.max(initial=-1)) < self.classes

    @functools.cached_property
    def rows(self) -> int:
        """M, the rows of the pool."""
        return int(self.count.sum())

    @functools.cached_property
    def memory(self) -> dict[Any, Any]:
        """What was worked out from these very cells and is asked for again; no part of them."""
        return {}

    @functools.cached_property
    def cost(self) -> FloatArray | None:
        """Mean cost of a label in each cell, shape (cells,); None if all cost the same."""
        cost = self.outputs.cost
        return None if cost is None else cost[self.first_kind]

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
        """Return the sums over leaves, shape (leaves, n), of values of shape (cells, n)."""
        return np.stack(
            [np.bincount(self.leaf, column, minlength=self.leaves) for column in values.T], axis=1
        )

    def mean_by_cell(self, values: FloatArray) -> FloatArray:
        """Return the means over the kinds of each cell, (cells, ...), of values (kinds, ...)."""
        if len(self.kind_cell) == len(self):
            return values
        share = self.kind_share.reshape(-1, *(1 for _ in values.shape[1:]))
        return np.add.reduceat(values * share, self.first_kind, axis=0)

    @functools.cached_property
    def upper_outputs(self) -> Outputs:
        """Outputs of a row of each kind, with the greatest scores of the kind."""
        if self.upper is None:
            return self.outputs
        return dataclasses.replace(self.outputs, score=self.upper)

    @functools.cached_property
    def is_mixed(self) -> BoolArray:
        """Which cells are of several kinds, shape (cells,)."""
        return np.bincount(self.kind_cell, minlength=len(self)) > 1

    @functools.cached_property
    def first_kind(self) -> IntArray:
        """The first kind of each cell, shape (cells,)."""
        return np.flatnonzero(np.diff(self.kind_cell, prepend=-1))


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
    leaves: int
    signatures: Signatures  # the slots
    upper: FloatArray | None = None  # (bins,): greatest score in each bin; None if it is `score`
    # classes of costs and of weights, by the names of those in which rows differ
    magnitudes: Mapping[str, MagnitudeClasses] = dataclasses.field(default_factory=dict)
    parting: IntArray | None = None  # hierarchy of the leaves: see `CellTable`
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
        kind_cell = np.repeat(np.arange(len(code)), sizes[slot])
        member = starts[slot[kind_cell]] + within_runs(sizes[slot])
        systems = len(self.signatures.shape) - len(self.named)
        signature = np.concatenate([codes for codes, _ in members])[member]
        # The scores of the other systems are not known, so they have no bounds.
        score = np.full((len(kind_cell), systems), -np.inf)
        score[:, 0] = self.score[bin[kind_cell]]
        upper = np.full_like(score, np.inf)
        upper[:, 0] = (self.score if self.upper is None else self.upper)[bin[kind_cell]]
        own = means[:, 1:] if means.shape[1] > 1 else means[:, :1]
        prediction = signature[:, :systems]
        tags = expected = None
        if self.labels:
            tags, expected = means[:, 1 : 1 + systems], np.delete(means, range(1, 1 + systems), 1)
            # The sets that two systems predict are taken to differ in every cell.
            prediction, own = prediction + np.arange(systems), own[:, :systems, :0]
        return CellTable(
            code=code,
            leaf=self.leaf[bin],
            count=count,
            prior=means[:, 0],
            leaves=self.leaves,
            kind_cell=kind_cell,
            kind_share=np.concatenate([share for _, share in members])[member],
            outputs=Outputs(
                prediction=prediction,
                score=score,
                probability=own[kind_cell],
                slices=SliceCodes(self.named, signature[:, systems:]) if self.named else None,
                tags=tags,
                magnitudes={name: value[kind_cell] for name, value in magnitudes.items()},
            ),
            upper=upper,
            magnitude_class=of_class,
            parting=self.parting,
            expected=expected,
        )


def expected_of_verdicts() -> str:
    """Return what is expected of verdicts, in words."""
    right = 100 * (1 - GUESSED)
    return f"{right:.0f} % of the verdicts are right and the others are guesses, for want of scores"


def named_verdicts(table: CellTable, classes: Sequence[str]) -> list[list[str]]:
    """Return what each system predicts in each leaf, as texts; of mixed leaves of one kind."""
    first = np.unique(table.leaf, return_index=True)[1]
    verdict = table.outputs.prediction[table.first_kind[first]]
    return [[f"predicted {classes[code]}" for code in says] for says in verdict.tolist()]


def by_verdict(table: CellTable, guessed: float | None = GUESSED) -> CellTable:
    """Return cells whose leaves are what the systems predict: rows of a leaf are exchangeable.

    The share ``guessed`` of the verdicts are guesses; None keeps the prior probabilities.
    """
    signature = table.outputs.prediction[table.first_kind]
    mixed = np.cumsum(table.is_mixed) * table.is_mixed  # Rare signatures that share a cell.
    key = np.concatenate([signature, mixed[:, None]], axis=1)
    kinds, leaf = np.unique(key, axis=0, return_inverse=True)
    prior = table.prior if guessed is None else _expected(table, guessed)
    return dataclasses.replace(
        table, leaf=leaf.reshape(-1), leaves=len(kinds), prior=prior, ordered_by=UNORDERED
    )


def _expected(table: CellTable, guessed: float) -> FloatArray:
    """Return the probability of each class in each cell: the mean over the systems' verdicts."""
    prediction, classes = table.outputs.prediction, table.classes
    says = (prediction[:, :, None] == np.arange(classes)).mean(axis=1)
    by_cell = table.mean_by_cell(says)
    share = table.count @ by_cell / table.rows
    return np.asarray((1 - guessed) * by_cell + guessed * share)
