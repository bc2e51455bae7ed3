"""Small pools whose rows are all known, and the papers' formulas row by row, for tests."""

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from evalsampling import samplers
from evalsampling.inference.domains import Domain
from evalsampling.measures import Accuracy, FBeta, Joint, Measure, Precision, Recall
from evalsampling.pool.columns import with_slices
from evalsampling.samplers import Sampler
from evalsampling.simulation.truth import KnownPool, _Kinds
from evalsampling.stats.cells import CellGrid, CellSums, CellTable, Kinds, Leaves
from evalsampling.stats.draws import Proposal
from evalsampling.stats.hashing import hash_integers
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.stats.magnitudes import MagnitudeClasses
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.signatures import SignatureCounts, Signatures, signature_codes
from evalsampling.stats.slices import SliceCodes

ALL = [
    kind
    for kind in samplers.BY_NAME.values()
    if not issubclass(kind, samplers.RankedSampler | samplers.Compare | samplers.Ranking)
]
"""But for those whose rounds are as large as their queries need (tests/samplers/test_ranked.py),
`Compare`, which takes two systems, and `Ranking`, which takes queries."""
WITH_REPLACEMENT = [kind for kind in ALL if issubclass(kind, samplers.ReplacementSampler)]

NAMED = {"part": ("rare",)}
"""The slice that cells of a pool with a `Pool.rare` tell apart."""


@dataclasses.dataclass(frozen=True)
class Pool:
    """A pool, row by row.

    Attributes:
        leaf: shape (n,).
        prediction: shape (n,), or (n, systems): class predicted.
        probability: shape (n, classes): prior probabilities, those of every system too.
        label: shape (n,): true label.
        slice: shape (n, columns): codes of the row's values, of no column by default.
        slots: most signatures that cells distinguish; every one by default.
        leaves: number of leaves; those up to the last with a row by default.
        cost: shape (n,): of labels; all the same by default.
        cost_classes: most classes of costs, and of weights.
        weight: shape (n,): how much rows count; all the same by default.
        rare: shape (n,): 1 for the rows of the slice ``part=rare``, which cells tell apart, else 0.
    """

    leaf: np.ndarray
    prediction: np.ndarray
    probability: np.ndarray
    label: np.ndarray
    slice: np.ndarray | None = None
    slots: int | None = None
    leaves: int | None = None
    cost: np.ndarray | None = None
    cost_classes: int = 4
    rare: np.ndarray | None = None
    weight: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.leaf)

    @property
    def classes(self) -> int:
        return self.probability.shape[1]

    @functools.cached_property
    def outputs(self) -> Outputs:
        """What the systems say; the score of a row is the number of its leaf."""
        prediction = self.prediction.reshape(len(self), -1)
        systems = prediction.shape[1]
        return Outputs(
            prediction,
            np.repeat(self.leaf[:, None].astype(float), systems, axis=1),
            np.repeat(self.probability[:, None], systems, axis=1),
            magnitudes=self.magnitudes,
            slices=None if self.rare is None else SliceCodes(NAMED, self.rare[:, None]),
        )

    @property
    def magnitudes(self) -> dict[str, np.ndarray]:
        given = {"cost": self.cost, "weight": self.weight}
        return {name: values for name, values in given.items() if values is not None}

    @property
    def signature(self) -> np.ndarray:
        """Predictions, then the codes of the slice if there is one."""
        return with_slices(self.outputs.prediction, self.outputs.slices)

    @functools.cached_property
    def slices(self) -> np.ndarray:
        return np.zeros((len(self), 0), dtype=np.int64) if self.slice is None else self.slice

    @functools.cached_property
    def grid(self) -> CellGrid:
        named = {} if self.rare is None else NAMED
        shape = (self.classes,) * self.outputs.prediction.shape[1] + (2,) * len(named)
        signatures = Signatures.every(shape)
        if self.slots is not None:
            codes = signature_codes(shape, self.signature)
            counts = SignatureCounts.from_codes(codes, hash_integers(np.arange(len(self)), 0))
            signatures = Signatures.most_common(shape, counts, self.slots, len(named))
        leaves = self.leaves or int(self.leaf.max()) + 1
        magnitudes = {
            name: MagnitudeClasses.spanning(values.min(), values.max(), self.cost_classes)
            for name, values in self.magnitudes.items()
        }
        score = np.arange(leaves, dtype=float)
        bins = np.arange(leaves)
        return CellGrid(bins, score, Leaves(leaves), signatures, magnitudes=magnitudes, named=named)

    @functools.cached_property
    def _codes(self) -> np.ndarray:
        return self.grid.codes(self.leaf, self.signature, self.outputs.magnitudes)

    @functools.cached_property
    def table(self) -> CellTable:
        systems = self.outputs.prediction.shape[1]
        columns = np.tile(self.probability, (1, 1 if systems == 1 else 1 + systems))
        for name, classes in self.grid.magnitudes.items():
            relative = classes.relative(self.outputs.magnitudes[name])
            columns = np.column_stack([columns, relative])
        sums = CellSums.from_rows(self.grid.cells, self._codes, columns)
        return self.grid.table(*sums.means(), self.classes)

    @functools.cached_property
    def cell(self) -> np.ndarray:
        """Place of each row's cell in the table."""
        return np.searchsorted(self.table.code, self._codes)

    @functools.cached_property
    def known(self) -> KnownPool:
        """The pool as simulations see it: rows alike in cell, label and predictions are one."""
        systems = self.outputs.prediction.shape[1]
        kinds = _Kinds.of_rows(
            self.cell, self.label, self.outputs, [np.zeros(0)] * systems, [False] * systems
        )
        names = (None,) if systems == 1 else tuple("abcdefgh"[:systems])
        return KnownPool(self.table, *kinds.key.T[:2], kinds.count, kinds.outputs, names)

    @property
    def truth(self) -> np.ndarray:
        """True labels in each cell, shape (cells, classes)."""
        labels = np.zeros((len(self.table), self.classes), dtype=np.int64)
        np.add.at(labels, (self.cell, self.label), 1)
        return labels

    def risk(self, measure: Measure) -> np.ndarray:
        """True risk, from the losses of the rows."""
        return measure.loss(self.outputs, self.label).mean(axis=0)

    def values(self, measure: Measure) -> np.ndarray:
        """True values of all components of a measure."""
        return measure.value(self.risk(measure))

    def value(self, measure: Measure) -> float:
        """True value of a measure of one component."""
        return float(self.values(measure)[0])

    def part(self, rows: np.ndarray) -> "Pool":
        """The pool of some of the rows."""
        return dataclasses.replace(
            self,
            leaf=self.leaf[rows],
            prediction=self.prediction[rows],
            probability=self.probability[rows],
            label=self.label[rows],
            slice=self.slices[rows],
            rare=None if self.rare is None else self.rare[rows],
        )

    def domain(self, column: int, value: int) -> Domain:
        """The rows with one value of a slice column."""
        count = np.bincount(self.cell[self.slices[:, column] == value], minlength=len(self.table))
        return Domain(f"column-{column}={value}", column, value, count)

    def seen(self, rows: np.ndarray) -> np.ndarray:
        """Labels of each class in each cell, of some rows, one of which may be there twice."""
        seen = np.zeros((len(self.table), self.classes))
        np.add.at(seen, (self.cell[rows], self.label[rows]), 1)
        return seen

    def start(self) -> History:
        """The history of nothing."""
        return History.start(self.outputs.prediction.shape[1], self.classes, self.slices.shape[1])

    def order(self, seed: int) -> list[np.ndarray]:
        """Rows of each cell in a random order."""
        rng = np.random.default_rng(seed)
        return [rng.permutation(np.flatnonzero(self.cell == c)) for c in range(len(self.table))]

    def rows(self, history: History, order: list[np.ndarray]) -> np.ndarray:
        """Rows of the pool behind the questions of a history."""
        pairs = zip(history.cell.tolist(), history.rank.tolist(), strict=True)
        return np.array([order[c][r] for c, r in pairs], dtype=np.int64)

    def answer(
        self, history: History, order: list[np.ndarray], label: np.ndarray | None = None
    ) -> History:
        """Say of every question which row it is about, and answer it; ``label``: what to."""
        rows = self.rows(history, order)
        history = history.with_rows(self.outputs.take(rows), self.slices[rows])
        return history.with_labels(self.label[rows] if label is None else label)

    def answers(
        self, history: History, order: list[np.ndarray], chance: np.ndarray | None
    ) -> Iterator[tuple[History, float]]:
        """All answers to open questions, with their chances; the true ones if none are given."""
        if chance is None:
            yield self.answer(history, order), 1.0
            return
        waiting = np.flatnonzero(history.label < 0)
        rows = self.rows(history, order)[waiting]
        for labels in itertools.product(range(2), repeat=len(waiting)):
            label = history.label.copy()
            label[waiting] = labels
            if of_labels := float(np.prod(chance[rows, labels])):
                yield self.answer(history, order, label), of_labels

    def run(
        self, sampler: Sampler, rounds: int, new_rows: int, seed: int
    ) -> tuple[History, list[np.ndarray]]:
        """Draw some rounds and label their rows."""
        history, order = self.start(), self.order(seed)
        for number in range(rounds):
            if sampler.exhausted(self.table, history):
                break
            rng = np.random.default_rng([seed, number])
            history = self.answer(sampler.design(self.table, history, new_rows, rng), order)
        return history, order

    def run_stochastic(
        self, sampler: Sampler, chance: np.ndarray, rounds: int, questions: int, seed: int
    ) -> tuple[History, list[np.ndarray]]:
        """Draw some rounds; an answer about row x is y with the probability chance[x, y]."""
        history, order = self.start(), self.order(seed)
        cumulated = np.cumsum(chance, axis=1)
        for number in range(rounds):
            rng = np.random.default_rng([seed, number])
            before = history
            history = sampler.design(self.table, history, questions, rng)
            rows = self.rows(history, order)[len(before) :]
            new = np.sum(rng.random((len(rows), 1)) * cumulated[rows, -1:] >= cumulated[rows], 1)
            history = self.answer(history, order, np.append(before.label, new))
        return history, order

    def row_probability(
        self, proposal: Proposal, history: History, order: list[np.ndarray]
    ) -> np.ndarray:
        """Sampling probability of every row of the pool."""
        q = proposal.cell_probability[self.cell]
        q[self.rows(history, order)[proposal.atom]] = proposal.atom_probability
        return q


def make_pool(
    rows: int, leaves: int, seed: int, classes: int = 2, positive: float = 0.1, strength: float = 2
) -> Pool:
    """Make a pool whose higher leaves hold more of the higher classes.

    Rows of the mean score have a class other than 0 with the chance ``positive``; as many are
    predicted to be of each class as are expected to be.
    """
    rng = np.random.default_rng(seed)
    score = rng.normal(size=rows)
    leaf = np.minimum((leaves * (np.argsort(np.argsort(score)) / rows)).astype(int), leaves - 1)
    logits = np.log(np.array([1 - positive, *[positive / (classes - 1)] * (classes - 1)]))
    tilt = strength * score[:, None] * np.arange(classes) / (classes - 1) + logits
    truth = np.exp(tilt) / np.exp(tilt).sum(axis=1, keepdims=True)
    noisy = truth * np.exp(rng.normal(0, 0.3, truth.shape))
    probability = noisy / noisy.sum(axis=1, keepdims=True)
    reached = np.cumsum(truth, axis=1)
    label = np.sum(rng.random(rows)[:, None] >= reached / reached[:, -1:], axis=1)
    signal = probability @ np.arange(classes)
    shares = np.cumsum(truth.mean(axis=0))[:-1]
    cuts = np.quantile(signal, shares)
    prediction = np.searchsorted(cuts, signal, side="right")
    return Pool(leaf, prediction, probability, label)


def with_second_system(pool: Pool, seed: int, slots: int | None = None) -> Pool:
    """Add a system that says the same as the first, or anything, of a quarter of the rows."""
    rng = np.random.default_rng(seed)
    other = np.where(
        rng.random(len(pool)) < 0.25, rng.integers(0, pool.classes, len(pool)), pool.prediction
    )
    prediction = np.stack([pool.prediction, other], axis=1)
    return dataclasses.replace(pool, prediction=prediction, slots=slots)


class Uniforms:
    """A generator of given numbers, then of halves."""

    def __init__(self, numbers: list[tuple[float, float]]) -> None:
        self._numbers = numbers

    def random(self, shape: tuple[int, int]) -> np.ndarray:
        filled = np.full(shape, 0.5)
        filled[: len(self._numbers)] = self._numbers
        return filled


def build_sampler(kind: type[Sampler], measure: Measure | None = None, **keys: Any) -> Sampler:
    """Build a sampler of any kind; one's own weights are 1, 2, 3, 1, 2, 3, ..."""
    if kind is samplers.Given:
        keys.setdefault("weights", one_two_three)
    return kind(measure or FBeta(), **keys)


def one_two_three(table: CellTable, history: History) -> np.ndarray:
    return 1.0 + np.arange(len(table)) % 3


def leaf_means(pool: Pool) -> np.ndarray:
    """s(y|k): mean prior of the rows of each leaf, 0 of an empty one."""
    leaves = pool.leaves or int(pool.leaf.max()) + 1
    return np.array(
        [
            pool.probability[pool.leaf == k].mean(axis=0)
            if np.any(pool.leaf == k)
            else np.zeros(pool.classes)
            for k in range(leaves)
        ]
    )


def parts_of(measure: Measure) -> list[Measure]:
    """The measures that a measure stacks."""
    return [*measure.measures] if isinstance(measure, Joint) else [measure]


def loss_of(measure: Measure, f: int, y: int) -> list[float]:
    """l(x, y) of [MR] table 1 for one row."""
    positive = getattr(measure, "positive", 1)
    hit, yes, said = float(f == y == positive), float(y == positive), float(f == positive)
    return {
        "f1": [hit, (yes + said) / 2],
        "precision": [hit, said],
        "recall": [hit, yes],
        "accuracy": [float(f != y)],
    }[measure.name]


def derivative_of(measure: Measure, risk: list[float], loss: list[float]) -> float:
    """Dg(R) l(x, y) of one row and label."""
    if measure.name == "accuracy":
        return -loss[0]
    return loss[0] / risk[1] - risk[0] * loss[1] / risk[1] ** 2


def sizes_of_rows(pool: Pool, measure: Measure, floor: float, pi: list) -> list[list[float]]:
    """n(x, y) = max(||Dg(R) l(x, y)||, eps 1[l != 0]) of all rows, R as posteriors pi imply."""
    classes, parts = range(pool.classes), parts_of(measure)
    predicted = pool.outputs.prediction.tolist()
    losses = [
        [[loss_of(part, row[part.system], y) for part in parts] for y in classes]
        for row in predicted
    ]
    risks = [
        [
            sum(
                pi[x][y] * losses[x][y][i][d] / len(pool) for x in range(len(pool)) for y in classes
            )
            for d in range(len(losses[0][0][i]))
        ]
        for i in range(len(parts))
    ]
    sizes = []
    for of_row in losses:
        sizes.append([])
        for of_label in of_row:
            square = sum(
                derivative_of(part, risk, loss) ** 2
                for part, risk, loss in zip(parts, risks, of_label, strict=True)
            )
            nothing = not any(entry for loss in of_label for entry in loss)
            sizes[-1].append(0.0 if nothing else max(square**0.5, floor))
    return sizes


def optimal_proposal(
    pool: Pool, measure: Measure, floor: float, pi: list, stochastic: bool = False
) -> np.ndarray:
    """Sampling probabilities of all rows, for posteriors pi of all of them.

    v(x) = p(x) sum_y n(x, y) pi(y|x) of a deterministic oracle, p(x) sqrt(sum_y n^2 pi) of a
    stochastic one, normalised.
    """
    sizes = sizes_of_rows(pool, measure, floor, pi)
    power = 2 if stochastic else 1
    v = [
        sum(n**power * chance for n, chance in zip(of_row, row, strict=True)) ** (1 / power)
        for of_row, row in zip(sizes, pi, strict=True)
    ]
    return np.array(v) / sum(v)


def best_proposal(pool: Pool, measure: Measure) -> np.ndarray:
    """q*(x) in proportion to p(x) ||Dg(R) l(x, y)||, with the true labels and risk."""
    point = np.eye(pool.classes)[pool.label].tolist()
    return optimal_proposal(pool, measure, 0.0, point)


def labels_known(pool: Pool, history: History, order: list[np.ndarray]) -> np.ndarray:
    """Label of each row of the pool, `NO_LABEL` where the history has none."""
    known = np.full(len(pool), NO_LABEL)
    known[pool.rows(history, order)] = history.label
    return known


class Lopsided(Measure):
    """Errors at full weight where 1 is predicted, next to nothing where 0 is: below the floor."""

    name = "lopsided"
    bounds = (0.0, 2.0)
    looks_at = frozenset({"prediction"})

    def loss(self, outputs: Outputs, label: np.ndarray) -> np.ndarray:
        f, y = outputs.prediction[:, 0] == 1, label == 1
        return np.stack([f & ~y, ~f & y], axis=1).astype(np.float64)

    def value(self, risk: np.ndarray) -> np.ndarray:
        return (risk[0] + 1e-12 * risk[1])[None]

    def jacobian(self, risk: np.ndarray) -> np.ndarray:
        return np.array([[1.0, 1e-12]])


THREE_CLASSES = [
    pytest.param(measure, id=f"{measure.name}, {getattr(measure, 'positive', '')}")
    for measure in (
        FBeta(),
        Precision(),
        Accuracy(),
        Joint((Recall(), Accuracy())),
        FBeta(positive=2),
    )
]
"""Measures for pools of three classes."""


def pooled_pool() -> Pool:
    """A pool of two systems in two cells, the second of them with all rare signatures."""
    prediction = np.repeat([[1, 1], [0, 1], [0, 0], [0, 0]], [50, 30, 3, 2], axis=0)
    p = np.full((85, 2), 0.5)
    return Pool(np.zeros(85, int), prediction, p, np.zeros(85, int), slots=2)


def table_of(prediction: list[list[int]], chance: list[list[float]]) -> CellTable:
    """A pool of one row a cell, of given predictions and chances of class 1 of each system."""
    f, p = np.array(prediction).T, np.array(chance).T
    rows = np.arange(len(f))
    probability = np.stack([1 - p, p], axis=2)
    outputs = Outputs(f, np.repeat(rows[:, None].astype(float), f.shape[1], axis=1), probability)
    return CellTable(
        code=rows,
        leaf=rows,
        count=np.ones(len(rows), dtype=np.int64),
        prior=probability.mean(axis=1),
        leaves=Leaves(len(rows)),
        kinds=one_each(outputs),
    )


def one_each(outputs: Outputs) -> Kinds:
    """Outputs of cells, each of which is of one kind."""
    cells = len(outputs)
    return Kinds(**vars(outputs), cell=np.arange(cells), share=np.ones(cells))
