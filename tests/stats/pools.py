"""Small pools of leaves and labels."""

import dataclasses

import numpy as np

from tests.stats.row_model import RowModel


@dataclasses.dataclass(frozen=True)
class Rows:
    """A small pool: leaf and label of each row, mean prior of each leaf."""

    leaf: np.ndarray
    label: np.ndarray
    prior: np.ndarray

    @property
    def labelled(self) -> np.ndarray:
        counts = np.zeros(self.prior.shape)
        known = self.label >= 0
        np.add.at(counts, (self.leaf[known], self.label[known]), 1)
        return counts

    @property
    def unlabelled(self) -> np.ndarray:
        return np.bincount(self.leaf[self.label < 0], minlength=len(self.prior))

    def model(self, branching: int, start: np.ndarray | None = None) -> RowModel:
        return RowModel(branching, self.prior, self.leaf.tolist(), self.label.tolist(), start)


def make_rows(leaves: int, classes: int, rows: int, labels: int, seed: int) -> Rows:
    """Higher leaves hold more of the last class; the prior knows it roughly."""
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, leaves, rows)
    tilt = np.linspace(-2, 2, leaves)[:, None] * np.linspace(-1, 1, classes)
    truth = np.array([rng.choice(classes, p=np.exp(t) / np.exp(t).sum()) for t in tilt[leaf]])
    noisy = np.exp(tilt + rng.normal(0, 1, tilt.shape))
    label = np.full(rows, -1)
    known = rng.choice(rows, labels, replace=False)
    label[known] = truth[known]
    return Rows(leaf, label, noisy / noisy.sum(axis=1, keepdims=True))


POOLS = [
    # leaves, classes, branching, rows, labels
    (4, 2, 2, 30, 8),
    (8, 2, 2, 40, 0),
    (5, 2, 2, 30, 12),
    (6, 2, 6, 30, 10),
    (9, 3, 3, 45, 15),
    (7, 3, 7, 40, 20),
    (11, 3, 2, 40, 9),
    (8, 2, 3, 3, 1),
]
