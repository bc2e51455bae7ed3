"""Expectation-maximization on leaves against the same over individual rows."""

import dataclasses
import math

import numpy as np
import pytest

from evalsampling.stats.oracle import MAX_ITERATIONS, fit_dirichlet_tree
from evalsampling.stats.tree import LeafTree
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


@pytest.mark.parametrize(("leaves", "classes", "branching", "rows", "labels"), POOLS)
@pytest.mark.parametrize("iterations", [1, 2, 25])
def test_leaf_table_equals_individual_rows(
    leaves: int, classes: int, branching: int, rows: int, labels: int, iterations: int
) -> None:
    pool = make_rows(leaves, classes, rows, labels, seed=leaves + rows)
    for start in (None, np.random.default_rng(1).dirichlet(np.ones(classes), leaves)):
        fit = fit_dirichlet_tree(
            LeafTree(leaves, branching),
            pool.prior,
            pool.labelled,
            pool.unlabelled,
            start,
            tolerance=0,
            max_iterations=iterations,
        )
        slow = pool.model(branching, start)
        slow.iterate(iterations)
        np.testing.assert_allclose(fit.posterior, slow.posterior(), rtol=1e-8, atol=1e-12)
        for i in np.flatnonzero(pool.label < 0):
            np.testing.assert_allclose(fit.posterior[pool.leaf[i]], slow.row[i], rtol=1e-8)


@pytest.mark.parametrize(("leaves", "classes", "branching", "rows", "labels"), POOLS)
def test_log_posterior_never_falls(
    leaves: int, classes: int, branching: int, rows: int, labels: int
) -> None:
    """Parameters are those that the posterior of each iteration leads to."""
    pool = make_rows(leaves, classes, rows, labels, seed=leaves)
    values = []
    for iterations in range(1, 16):
        fit = fit_dirichlet_tree(
            LeafTree(leaves, branching),
            pool.prior,
            pool.labelled,
            pool.unlabelled,
            tolerance=0,
            max_iterations=iterations,
        )
        model = pool.model(branching, fit.posterior)
        model.maximise()
        values.append(model.log_posterior())
    assert np.all(np.diff(values) >= -1e-10)
    assert values[-1] > values[0]


@pytest.mark.parametrize(("leaves", "classes", "branching", "rows", "labels"), POOLS[:6])
def test_fixed_point_is_a_local_maximum_of_the_log_posterior(
    leaves: int, classes: int, branching: int, rows: int, labels: int
) -> None:
    """Fifty small steps in random directions: all go down."""
    pool = make_rows(leaves, classes, rows, labels, seed=leaves)
    fit = fit_dirichlet_tree(
        LeafTree(leaves, branching),
        pool.prior,
        pool.labelled,
        pool.unlabelled,
        tolerance=1e-13,
        max_iterations=20_000,
    )
    assert fit.iterations < 20_000
    model = pool.model(branching, fit.posterior)
    model.maximise()
    best = model.log_posterior()
    families = [[c.branch for c in n.children] for n in (model.root, *model.root.descendants())]
    top = [*model.theta]
    kept = [[[*branch] for branch in family] for family in families]
    rng = np.random.default_rng(0)
    for _ in range(50):
        shaken = np.array(top) * np.exp(rng.normal(0, 1e-3, classes))
        model.theta = (shaken / shaken.sum()).tolist()
        for family, values in zip(families, kept, strict=True):
            if not family:
                continue
            moved = np.array(values) * np.exp(rng.normal(0, 1e-3, (len(family), classes)))
            moved /= moved.sum(axis=0)
            for branch, new in zip(family, moved.tolist(), strict=True):
                branch[:] = new
        assert model.log_posterior() < best


@pytest.mark.parametrize("branching", [2, 16])
@pytest.mark.parametrize("classes", [2, 3])
def test_warm_start_reaches_the_fixed_point_of_a_cold_start(classes: int, branching: int) -> None:
    pool = make_rows(16, classes, 300, 40, seed=3)
    fewer = dataclasses.replace(pool, label=np.where(np.arange(300) < 150, pool.label, -1))
    tree = LeafTree(16, branching)

    def fit(rows: Rows, start: np.ndarray | None) -> tuple[np.ndarray, int]:
        found = fit_dirichlet_tree(
            tree, rows.prior, rows.labelled, rows.unlabelled, start, 1e-12, 20_000
        )
        assert found.iterations < 20_000
        return found.posterior, found.iterations

    before, _ = fit(fewer, None)
    cold, _ = fit(pool, None)
    warm, _ = fit(pool, before)
    assert np.abs(before - cold).max() > 0.01
    np.testing.assert_allclose(warm, cold, rtol=1e-6)
    again, iterations = fit(pool, cold)
    assert iterations <= 2
    np.testing.assert_allclose(again, cold, rtol=1e-9)


def test_everything_labelled_has_a_closed_form() -> None:
    """Without hidden labels theta and the flat tree's b are ratios of counts.

    A = sum of s = (0.8, 1.2), B = 1 + s, and o = ((4, 1), (0, 5)).
    """
    prior = np.array([[0.6, 0.4], [0.2, 0.8]])
    labelled = np.array([[4.0, 1.0], [0.0, 5.0]])
    fit = fit_dirichlet_tree(LeafTree(2, 2), prior, labelled, np.zeros(2))
    theta = 0.8 + 4, 1.2 + 6
    psi = (1.6 + 4) / (1.6 + 1.2 + 4), (1.4 + 1) / (1.4 + 1.8 + 6)
    first = theta[0] * psi[0], theta[1] * psi[1]
    second = theta[0] * (1 - psi[0]), theta[1] * (1 - psi[1])
    expected = [[v / sum(pair) for v in pair] for pair in (first, second)]
    np.testing.assert_allclose(fit.posterior, expected, rtol=1e-14)


def test_iterations_stop_at_the_tolerance_and_at_the_maximum() -> None:
    pool = make_rows(16, 2, 300, 20, seed=1)
    arguments = (LeafTree(16, 2), pool.prior, pool.labelled, pool.unlabelled)
    fit = fit_dirichlet_tree(*arguments)
    slow = pool.model(2)
    slow.settle(1e-4, MAX_ITERATIONS)
    np.testing.assert_allclose(fit.posterior, slow.posterior(), rtol=1e-8)
    assert 1 < fit.iterations < MAX_ITERATIONS
    assert fit_dirichlet_tree(*arguments, tolerance=0, max_iterations=3).iterations == 3
    one_less = fit_dirichlet_tree(*arguments, tolerance=0, max_iterations=fit.iterations - 1)
    assert not math.isclose(one_less.posterior[0, 0], fit.posterior[0, 0], rel_tol=1e-9)


def test_inputs_are_not_changed() -> None:
    pool = make_rows(8, 2, 40, 10, seed=2)
    arrays = [pool.prior, pool.labelled, pool.unlabelled, pool.prior[::-1].copy()]
    before = [array.copy() for array in arrays]
    prior, labelled, unlabelled, start = arrays
    fit_dirichlet_tree(LeafTree(8, 2), prior, labelled, unlabelled, start)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
