"""The fast way to the mode of the tree's posterior against expectation-maximization alone."""

import numpy as np
import pytest
from scipy import optimize, special

from evalsampling.stats.oracle import fit_dirichlet_tree
from evalsampling.stats.tree import LeafTree, TreeMode
from tests.slow import fast
from tests.stats.pools import POOLS, make_rows
from tests.stats.row_model import log_posterior


def make_counts(
    leaves: int, classes: int, rows: float, labels: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Prior, labelled and unlabelled rows of leaves of very different sizes."""
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.r_[5, np.full(classes - 1, 0.5)], leaves)
    labelled = np.zeros((leaves, classes))
    for k in rng.integers(0, leaves, labels):
        labelled[k, rng.choice(classes, p=prior[k])] += 1
    size = rng.integers(1, 20, leaves) * np.linspace(3, 0.05, leaves) ** 2
    return np.maximum(prior, 1e-9), labelled, np.rint(size / size.sum() * rows)


def make_mode(
    tree: LeafTree, prior: np.ndarray, labelled: np.ndarray, hidden: np.ndarray
) -> TreeMode:
    counts = tree.depth**2 + tree.sums(prior.T)
    return TreeMode(tree, prior.sum(axis=0), counts, labelled.T, hidden)


@pytest.mark.parametrize(("leaves", "classes", "branching", "rows", "labels"), fast(1, POOLS))
def test_mode_is_where_iterations_over_individual_rows_settle(
    leaves: int, classes: int, branching: int, rows: int, labels: int
) -> None:
    pool = make_rows(leaves, classes, rows, labels, seed=leaves)
    slow = pool.model(branching)
    slow.iterate(2000)
    fit = fit_dirichlet_tree(
        LeafTree.even(leaves, branching),
        pool.prior,
        pool.labelled,
        pool.unlabelled,
        tolerance=1e-14,
    )
    np.testing.assert_allclose(fit.posterior, slow.posterior(), rtol=1e-8)
    np.testing.assert_allclose(fit.theta, slow.theta, rtol=1e-8)


@pytest.mark.parametrize(
    ("classes", "branching"), fast(3, [(2, 24), (4, 3), (2, 2), (2, 3), (4, 2), (4, 24)])
)
def test_both_ways_reach_the_same_mode(branching: int, classes: int) -> None:
    """With 20,000 rows, few of them labelled, which is large for the flat tree alone."""
    prior, labelled, hidden = make_counts(24, classes, 20_000, 150, seed=branching)
    tree = LeafTree.even(24, branching)
    plain = fit_dirichlet_tree(
        tree, prior, labelled, hidden, None, 1e-13, 200_000, accelerate=False
    )
    fast = fit_dirichlet_tree(tree, prior, labelled, hidden, None, 1e-13, 20_000)
    assert plain.iterations < 200_000
    assert fast.iterations < plain.iterations / 4
    np.testing.assert_allclose(fast.posterior, plain.posterior, rtol=1e-5, atol=1e-9)
    values = [
        log_posterior(tree, prior, labelled, hidden, fit.theta, fit.branches)
        for fit in (plain, fast)
    ]
    assert values[1] >= values[0] - 1e-9 * abs(values[0])


@pytest.mark.parametrize("rows", [300, 1e5, 1e9])
@pytest.mark.parametrize("branching", [2, 16])
def test_every_step_climbs(rows: float, branching: int) -> None:
    prior, labelled, hidden = make_counts(16, 3, rows, 60, seed=1)
    tree = LeafTree.even(16, branching)
    mode = make_mode(tree, prior, labelled, hidden)
    joint = mode.with_leaf_shares(np.random.default_rng(0).dirichlet(np.ones(3), 16).T)
    for step in (mode.expect_and_maximize, mode.minorize_and_maximize):
        point, values = joint, []
        for _ in range(30):
            point = step(point)
            values.append(mode.value(point))
        # Sums of a billion terms are known to about 1e-6.
        assert np.all(np.diff(values) >= -1e-15 * rows * np.abs(np.log(1 / 16)) - 1e-9)


def test_value_is_the_log_posterior() -> None:
    prior, labelled, hidden = make_counts(11, 3, 500, 40, seed=2)
    tree = LeafTree.even(11, 2)
    mode = make_mode(tree, prior, labelled, hidden)
    rng = np.random.default_rng(3)
    differences = []
    for _ in range(4):
        joint = rng.dirichlet(np.ones(33)).reshape(3, 11)
        known = log_posterior(tree, prior, labelled, hidden, *mode.parameters(joint))
        differences.append(mode.value(joint) - known)
    np.testing.assert_allclose(differences, 0, atol=1e-9)


def test_huge_pool_reaches_the_mode_an_optimizer_finds() -> None:
    """A billion rows: the leaves' shares are known, what is open is a logit a leaf.

    The optimum over these by BFGS from scipy, the shares held fixed, is the limit of the mode.
    """
    prior, labelled, hidden = make_counts(16, 2, 1e9, 80, seed=4)
    tree = LeafTree.even(16, 2)
    mode = make_mode(tree, prior, labelled, hidden)
    share = hidden / hidden.sum()

    def loss(logits: np.ndarray) -> float:
        rate = special.expit(logits)
        joint = np.stack([1 - rate, rate]) * share
        # Without the unlabelled rows' term, which is constant when shares are fixed.
        sums = np.concatenate([tree.sums(joint), joint.sum(axis=1)[:, None]], axis=1)
        return -float(
            np.sum(mode._leaf_counts * np.log(joint)) - np.sum(mode._kappa * np.log(sums))
        )

    fit = fit_dirichlet_tree(tree, prior, labelled, hidden, None, 1e-9, 20_000)
    start = special.logit(fit.posterior[:, 1])
    best = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(fit.posterior[:, 1], special.expit(best.x), rtol=1e-3)
    away = optimize.minimize(loss, special.logit(prior[:, 1]), method="BFGS")
    assert loss(start) <= away.fun + 1e-5


@pytest.mark.parametrize("rows", [1e3, 1e9])
def test_empty_leaves_and_single_leaf(rows: float) -> None:
    prior, labelled, hidden = make_counts(8, 2, rows, 20, seed=5)
    hidden[[2, 5]] = 0
    labelled[[2, 5]] = 0
    fit = fit_dirichlet_tree(LeafTree.even(8, 2), prior, labelled, hidden)
    assert np.all(np.isfinite(fit.posterior))
    np.testing.assert_allclose(fit.posterior.sum(axis=1), 1, rtol=1e-12)
    one = fit_dirichlet_tree(
        LeafTree.even(1, 2), np.array([[0.7, 0.3]]), np.array([[3.0, 1.0]]), np.array([rows])
    )
    assert 0.2 < one.posterior[0, 1] < 0.35
