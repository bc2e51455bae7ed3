"""Gains of rankings: measures of queries, by the grades of the items that are ranked.

A query is a row, labelled once all items of the lists are graded. What a model expects of a query
before that is in the cell table, as moments of the gains (`GainMoments`).

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, chapter 6.
"""

import abc
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evalsampling.errors import InputError
from evalsampling.measures.base import Mean, Measure, Share, set_own
from evalsampling.measures.comparisons import Difference
from evalsampling.measures.joint import parts_of
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.gains import ExpectedLists, dcg, err
from evalsampling.stats.outputs import Outputs

MOST_RANKS = 1000
"""Greatest rank that a gain may look at."""


@dataclasses.dataclass(frozen=True)
class Gain(Mean):
    """The mean gain of one system's lists over all queries: l = L(x, y), g(R) = R.

    Attributes:
        classes: how many grades there are, from 0 on.
        cut: how many ranks of the list count, from the first.
    """

    system: int = 0
    classes: int = 5
    cut: int = 10
    looks_at = frozenset({"grades"})
    label_kinds = frozenset({"grades"})
    evidence_name = "graded queries"
    short_name = "gain"

    def __post_init__(self) -> None:
        if isinstance(self.cut, bool) or not isinstance(self.cut, int):
            raise ValueError(f"cut must be a whole number, got {self.cut!r}")
        if not 1 <= self.cut <= MOST_RANKS:
            raise ValueError(f"cut must be between 1 and {MOST_RANKS}, got {self.cut}")
        set_own(self, name=f"{self.short_name}@{self.cut}", bounds=(0.0, self.largest))

    @property
    def top(self) -> int:
        """The greatest grade."""
        return self.classes - 1

    @property
    def largest(self) -> float:
        """The gain of a list of items that all have the greatest grade."""
        return float(self.of_grades(np.full((1, self.cut), self.top))[0])

    @abc.abstractmethod
    def of_grades(self, grade: IntArray) -> FloatArray:
        """Return the gains of lists, shape (n,), given the grades by rank, shape (n, ranks)."""

    @abc.abstractmethod
    def expected(self, lists: ExpectedLists) -> tuple[FloatArray, FloatArray]:
        """Return E L and E L L' of all systems' lists: (n, systems), (n, systems, systems)."""

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return the gain of each query, shape (n, 1); 0 of queries that are not graded."""
        if outputs.grades is None:
            return np.zeros((len(outputs), 1))
        return self.of_grades(outputs.grades[:, self.system, : self.cut])[:, None]

    def is_settled(self, low: Outputs, high: Outputs) -> bool:
        return True

    def adds(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return np.ones(len(label), dtype=bool)

    def must_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        return np.zeros(len(label), dtype=bool)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        return (Share(self.name, self.evidence_name, self.evidence(outputs, label)),)


@dataclasses.dataclass(frozen=True)
class DCG(Gain):
    """Mean discounted cumulative gain, sum_i (2^y_i - 1) / log2(i + 1) ([AE] eq. 6.1)."""

    short_name = "dcg"

    def of_grades(self, grade: IntArray) -> FloatArray:
        return dcg(grade)

    def expected(self, lists: ExpectedLists) -> tuple[FloatArray, FloatArray]:
        return lists.cut(self.cut).dcg_moments()


@dataclasses.dataclass(frozen=True)
class ERR(Gain):
    """Mean expected reciprocal rank, sum_i (1/i) k_i prod_{l<i} (1 - k_l) ([AE] eq. 6.2)."""

    short_name = "err"

    def of_grades(self, grade: IntArray) -> FloatArray:
        return err(grade, self.top)

    def expected(self, lists: ExpectedLists) -> tuple[FloatArray, FloatArray]:
        return lists.cut(self.cut).err_moments()


BY_NAME: Mapping[str, Callable[..., Gain]] = {"dcg": DCG, "err": ERR}
"""The measures that a spec of a pool of queries may name."""


@dataclasses.dataclass(frozen=True)
class GainMoments:
    """Expected gains E L, (n, gains, systems), and products E L L', (n, gains, systems, systems).

    They are of single queries, or averaged over each cell's queries.
    """

    gains: tuple[str, ...]
    mean: FloatArray
    second: FloatArray

    @classmethod
    def of_lists(cls, gains: Sequence[Gain], lists: ExpectedLists) -> "GainMoments":
        """Return the moments of the gains of queries, for the lists of all systems."""
        moments = [gain.expected(lists) for gain in gains]
        mean, second = (np.stack(parts, axis=1) for parts in zip(*moments, strict=True))
        return cls(tuple(gain.name for gain in gains), mean, second)

    @classmethod
    def of_cells(cls, gains: Sequence[Gain], table: CellTable) -> "GainMoments":
        """Return the mean moments of the queries of each cell."""
        kinds, systems = table.kinds.probability[:, :, 0], table.kinds.prediction.shape[1]
        return cls.from_shares(gains, table.kinds.by_cell(kinds), systems)

    @classmethod
    def from_shares(cls, gains: Sequence[Gain], shares: FloatArray, systems: int) -> "GainMoments":
        """Return the moments of given ``shares``: the inverse of the method `shares`."""
        largest = np.array([gain.largest for gain in gains])
        means, seconds = np.split(shares, [len(gains) * systems], axis=1)
        shape = (len(shares), len(gains), systems)
        return cls(
            tuple(gain.name for gain in gains),
            means.reshape(shape) * largest[:, None],
            seconds.reshape(*shape, systems) * largest[:, None, None] ** 2,
        )

    def shares(self, gains: Sequence[Gain]) -> FloatArray:
        """Return all moments divided by their maxima, shape (n, columns), in [0, 1]."""
        largest = np.array([gain.largest for gain in gains])
        parts = (self.mean / largest[:, None], self.second / largest[:, None, None] ** 2)
        flat = [part.reshape(len(part), math.prod(part.shape[1:])) for part in parts]
        return np.clip(np.concatenate(flat, axis=1), 0.0, 1.0)  # rounding

    def of(self, measure: Measure) -> tuple[FloatArray, FloatArray]:
        """Return E l and E l^2 of a gain, or of a difference of two: shape (n,) each."""
        gain = measure.first if isinstance(measure, Difference) else measure
        if not isinstance(gain, Gain) or gain.name not in self.gains:
            raise InputError(f"{measure.name}: list a gain, or a difference of two, first")
        signs = np.zeros(self.mean.shape[2])
        signs[list(measure.systems)] = (1.0, -1.0)[: len(measure.systems)]
        mean, second = (part[:, self.gains.index(gain.name)] for part in (self.mean, self.second))
        return mean @ signs, np.maximum(np.einsum("nst,s,t->n", second, signs, signs), 0.0)


def gains_of(measures: Sequence[Measure]) -> tuple[Gain, ...]:
    """Return the distinct gains that measures are made of, in order."""
    gains: dict[str, Gain] = {}
    for measure in measures:
        for part in parts_of(measure):
            gain = getattr(part, "first", part)
            if isinstance(gain, Gain):
                gains.setdefault(gain.name, gain)
    return tuple(gains.values())
