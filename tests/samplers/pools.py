"""Small pools whose rows are all known, and the papers' formulas row by row, for tests."""

import dataclasses
import functools

import numpy as np

from evalsampling.measures import Measure
from evalsampling.samplers import ReplacementSampler
from evalsampling.simulation import KnownPool
from evalsampling.stats.cells import CellSums, CellTable, cell_codes
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import NO_LABEL, History


@dataclasses.dataclass(frozen=True)
class Pool:
    """A pool: leaf, predicted class, prior probabilities and true label of each row."""

    leaf: np.ndarray
    prediction: np.ndarray
    probability: np.ndarray
    label: np.ndarray

    def __len__(self) -> int:
        return len(self.leaf)

    @property
    def classes(self) -> int:
        return self.probability.shape[1]

    @functools.cached_property
    def table(self) -> CellTable:
        shape = (int(self.leaf.max()) + 1, self.classes)
        cell = cell_codes(shape, self.leaf, self.prediction[:, None])
        return CellSums.from_rows(shape, cell, self.probability).table()

    @functools.cached_property
    def cell(self) -> np.ndarray:
        """Place of each row's cell in the table."""
        places = {
            (k, s): c
            for c, (k, (s,)) in enumerate(
                zip(self.table.leaf.tolist(), self.table.signature.tolist(), strict=True)
            )
        }
        pairs = zip(self.leaf.tolist(), self.prediction.tolist(), strict=True)
        return np.array([places[pair] for pair in pairs])

    @property
    def known(self) -> KnownPool:
        labels = np.zeros((len(self.table), self.classes), dtype=np.int64)
        np.add.at(labels, (self.cell, self.label), 1)
        return KnownPool(self.table, labels)

    def value(self, measure: Measure) -> float:
        """True value of a measure."""
        return measure.value(measure.loss(self.prediction[:, None], self.label).mean(axis=0))

    def order(self, seed: int) -> list[np.ndarray]:
        """Rows of each cell in a random order."""
        rng = np.random.default_rng(seed)
        return [rng.permutation(np.flatnonzero(self.cell == c)) for c in range(len(self.table))]

    def rows(self, history: History, order: list[np.ndarray]) -> np.ndarray:
        """Rows of the pool behind those of a history."""
        pairs = zip(history.cell.tolist(), history.rank.tolist(), strict=True)
        return np.array([order[c][r] for c, r in pairs], dtype=np.int64)

    def answer(self, history: History, order: list[np.ndarray]) -> History:
        """Give every row of a history its label."""
        return history.with_labels(self.label[self.rows(history, order)])

    def run(
        self, sampler: ReplacementSampler, rounds: int, new_rows: int, seed: int
    ) -> tuple[History, list[np.ndarray]]:
        """Draw some rounds and label their rows."""
        history, order = History(), self.order(seed)
        for number in range(rounds):
            rng = np.random.default_rng([seed, number])
            history = self.answer(sampler.design(self.table, history, new_rows, rng), order)
        return history, order

    def row_probability(
        self, proposal: Proposal, history: History, order: list[np.ndarray]
    ) -> np.ndarray:
        """Sampling probability of every row of the pool."""
        q = proposal.cell_probability[self.cell]
        q[self.rows(history, order)[proposal.atom]] = proposal.atom_probability
        return q


def make_pool(
    rows: int,
    leaves: int,
    seed: int,
    classes: int = 2,
    positive: float = 0.1,
    strength: float = 2,
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
    label = np.array([rng.choice(classes, p=p) for p in truth])
    signal = probability @ np.arange(classes)
    shares = np.cumsum(truth.mean(axis=0))[:-1]
    cuts = np.quantile(signal, shares)
    prediction = np.searchsorted(cuts, signal, side="right")
    return Pool(leaf, prediction, probability, label)


def leaf_means(pool: Pool) -> np.ndarray:
    """s(y|k): mean prior of the rows of each leaf."""
    leaves = int(pool.leaf.max()) + 1
    return np.array([pool.probability[pool.leaf == k].mean(axis=0) for k in range(leaves)])


def loss_of(name: str, f: int, y: int, positive: int) -> list[float]:
    """l(x, y) of [MR] table 1 for one row."""
    hit, yes, said = float(f == y == positive), float(y == positive), float(f == positive)
    return {
        "f1": [hit, (yes + said) / 2],
        "precision": [hit, said],
        "recall": [hit, yes],
        "accuracy": [float(f != y)],
    }[name]


def size_of(name: str, risk: list[float], loss: list[float], floor: float) -> float:
    """n(x, y) = max(||Dg(R) l(x, y)||, eps 1[l != 0]) for one row and label."""
    if not any(loss):
        return 0.0
    if name == "accuracy":
        return max(loss[0], floor)
    derivative = loss[0] / risk[1] - risk[0] * loss[1] / risk[1] ** 2
    return max(abs(derivative), floor)


def optimal_proposal(pool: Pool, name: str, positive: int, floor: float, pi: list) -> np.ndarray:
    """v(x) = p(x) sum_y n(x, y) pi(y|x), normalised, for posteriors pi of all rows."""
    classes = range(pool.classes)
    losses = [
        [loss_of(name, int(f), y, positive) for y in classes] for f in pool.prediction.tolist()
    ]
    size = len(losses[0][0])
    risk = [0.0] * size
    for row, losses_of_row in zip(pi, losses, strict=True):
        for y in classes:
            for d in range(size):
                risk[d] += row[y] * losses_of_row[y][d] / len(pool)
    v = [
        sum(size_of(name, risk, losses_of_row[y], floor) * row[y] for y in classes) / len(pool)
        for row, losses_of_row in zip(pi, losses, strict=True)
    ]
    return np.array(v) / sum(v)


def labels_known(pool: Pool, history: History, order: list[np.ndarray]) -> np.ndarray:
    """Label of each row of the pool, `NO_LABEL` where the history has none."""
    known = np.full(len(pool), NO_LABEL)
    known[pool.rows(history, order)] = history.label
    return known


@dataclasses.dataclass(frozen=True)
class Lopsided:
    """Errors at full weight where 1 is predicted, next to nothing where 0 is: below the floor."""

    name = "lopsided"
    bounds = (0.0, 2.0)
    evidence_name = "labels"

    def loss(self, prediction: np.ndarray, label: np.ndarray) -> np.ndarray:
        f, y = prediction[:, 0] == 1, label == 1
        return np.stack([f & ~y, ~f & y], axis=1).astype(np.float64)

    def value(self, risk: np.ndarray) -> float:
        return float(risk[0] + 1e-12 * risk[1])

    def jacobian(self, risk: np.ndarray) -> np.ndarray:
        return np.array([[1.0, 1e-12]])

    def evidence(self, prediction: np.ndarray, label: np.ndarray) -> np.ndarray:
        return np.ones(len(label), dtype=bool)
