"""Oracle models on leaf tables against the same over individual rows and draws."""

import dataclasses
import functools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from evalsampling.stats.oracle import (
    MAX_ITERATIONS,
    TreePrior,
    beta_by_stratum,
    fit_dirichlet_tree,
    predict_stochastic,
)
from evalsampling.stats.tree import LeafTree
from tests.stats.pools import POOLS, Rows, make_rows
from tests.stats.row_model import log_posterior, predict_draws


@pytest.mark.parametrize(("leaves", "classes", "branching", "rows", "labels"), POOLS)
@pytest.mark.parametrize("warm", [False, True])
def test_log_posterior_never_falls_and_is_that_of_individual_rows(
    leaves: int, classes: int, branching: int, rows: int, labels: int, warm: bool
) -> None:
    pool = make_rows(leaves, classes, rows, labels, seed=leaves + 50 * warm)
    start = np.random.default_rng(2).dirichlet(np.ones(classes), leaves) if warm else None
    tree = LeafTree.even(leaves, branching)
    slow = pool.model(branching, start)
    values = []
    for iterations in range(1, 16):
        fit = fit_dirichlet_tree(
            tree, pool.prior, pool.labelled, pool.unlabelled, start, tolerance=0,
            max_iterations=iterations, accelerate=False,
        )  # fmt: skip
        slow.iterate(1)
        np.testing.assert_allclose(fit.theta, slow.theta, rtol=1e-9)
        np.testing.assert_allclose(fit.posterior, slow.posterior(), rtol=1e-8, atol=1e-12)
        values.append(
            log_posterior(tree, pool.prior, pool.labelled, pool.unlabelled, fit.theta, fit.branches)
        )
        assert values[-1] == pytest.approx(slow.log_posterior(), rel=1e-12)
    assert np.all(np.diff(values) >= -1e-10)
    assert values[-1] > values[0]
    for i in np.flatnonzero(pool.label < 0):
        np.testing.assert_allclose(fit.posterior[pool.leaf[i]], slow.row[i], rtol=1e-8)


def test_log_prior_is_dirichlet_with_one_more_than_the_effective_counts() -> None:
    """Without rows, two leaves: A = (0.8, 1.2), B = 1 + s; a constant is left out."""
    prior = np.array([[0.6, 0.4], [0.2, 0.8]])
    tree = LeafTree.even(2, 2)

    def density(theta: np.ndarray, branches: np.ndarray) -> float:
        first = stats.dirichlet.logpdf(branches[0], [2.6, 2.2])
        second = stats.dirichlet.logpdf(branches[1], [2.4, 2.8])
        return stats.dirichlet.logpdf(theta, [1.8, 2.2]) + first + second

    def value(theta: np.ndarray, branches: np.ndarray) -> float:
        return log_posterior(tree, prior, np.zeros((2, 2)), np.zeros(2), theta, branches)

    one = np.array([0.3, 0.7]), np.array([[0.1, 0.9], [0.4, 0.6]])
    other = np.array([0.8, 0.2]), np.array([[0.5, 0.5], [0.7, 0.3]])
    difference = density(*one) - density(*other)
    assert value(*one) - value(*other) == pytest.approx(difference, rel=1e-12)


def test_everything_labelled_has_a_closed_form() -> None:
    """Without hidden labels theta and the flat tree's b are ratios of counts.

    A = sum of s = (0.8, 1.2), B = 1 + s, and o = ((4, 1), (0, 5)).
    """
    prior = np.array([[0.6, 0.4], [0.2, 0.8]])
    labelled = np.array([[4.0, 1.0], [0.0, 5.0]])
    fit = fit_dirichlet_tree(LeafTree.even(2, 2), prior, labelled, np.zeros(2))
    theta = 0.8 + 4, 1.2 + 6
    psi = (1.6 + 4) / (1.6 + 1.2 + 4), (1.4 + 1) / (1.4 + 1.8 + 6)
    first = theta[0] * psi[0], theta[1] * psi[1]
    second = theta[0] * (1 - psi[0]), theta[1] * (1 - psi[1])
    expected = [[v / sum(pair) for v in pair] for pair in (first, second)]
    np.testing.assert_allclose(fit.posterior, expected, rtol=1e-14)


def test_iterations_stop_at_the_tolerance_and_at_the_maximum() -> None:
    pool = make_rows(16, 2, 300, 20, seed=1)
    arguments = (LeafTree.even(16, 2), pool.prior, pool.labelled, pool.unlabelled)
    plain = functools.partial(fit_dirichlet_tree, *arguments, accelerate=False)
    fit = plain()
    slow = pool.model(2)
    slow.settle(1e-4, MAX_ITERATIONS)
    np.testing.assert_allclose(fit.posterior, slow.posterior(), rtol=1e-8)
    assert 1 < fit.iterations < MAX_ITERATIONS
    assert plain(tolerance=0, max_iterations=3).iterations == 3
    one_less = plain(tolerance=0, max_iterations=fit.iterations - 1)
    assert not math.isclose(one_less.posterior[0, 0], fit.posterior[0, 0], rel_tol=1e-9)
    assert plain(max_iterations=0).iterations == 1
    assert fit_dirichlet_tree(*arguments, tolerance=0, max_iterations=7).iterations == 9


@pytest.mark.parametrize("branching", [2, 8])
def test_class_that_the_prior_excludes(branching: int) -> None:
    """A floor keeps it possible, one label brings it in; without floor it stays out."""
    tree, hidden = LeafTree.even(8, branching), np.full(8, 100.0)
    bare = np.stack([np.linspace(0.9, 0.2, 8), np.linspace(0.1, 0.8, 8), np.zeros(8)], axis=1)
    labelled = np.zeros((8, 3))
    labelled[:, 0] = 2
    prior = np.maximum(bare, 1e-9)
    before = fit_dirichlet_tree(tree, prior, labelled, hidden).posterior
    assert np.all(before > 0)
    assert before[:, 2].max() < 1e-3
    labelled[5, 2] = 1
    after = fit_dirichlet_tree(tree, prior, labelled, hidden).posterior
    assert np.all(after[:, 2] > before[:, 2])
    assert after[:, 2].argmax() == 5
    assert np.all(predict_stochastic(tree, bare, np.zeros((8, 3))) > 0)

    labelled[5, 2] = 0
    without = fit_dirichlet_tree(tree, bare, labelled, hidden)
    assert np.all(without.posterior[:, 2] == 0)
    value = log_posterior(tree, bare, labelled, hidden, without.theta, without.branches)
    assert math.isfinite(value)


@pytest.mark.parametrize(
    ("leaves", "classes", "branching", "draws"),
    [(4, 2, 2, 12), (5, 3, 2, 20), (6, 2, 6, 15), (9, 3, 3, 10), (1, 2, 2, 5), (7, 2, 2, 0)],
)
def test_stochastic_prediction_is_the_ratio_of_evidences(
    leaves: int, classes: int, branching: int, draws: int
) -> None:
    """Integrals over theta and every branch, draw by draw, with and without weights."""
    rng = np.random.default_rng(leaves)
    prior = rng.dirichlet(np.ones(classes), leaves)
    leaf, label = rng.integers(0, leaves, draws), rng.integers(0, classes, draws)
    for weight in (np.ones(draws), rng.exponential(1, draws)):
        counts = np.zeros((leaves, classes))
        np.add.at(counts, (leaf, label), weight)
        drawn = list(zip(leaf.tolist(), label.tolist(), weight.tolist(), strict=True))
        np.testing.assert_allclose(
            predict_stochastic(LeafTree.even(leaves, branching), prior, counts),
            predict_draws(branching, prior, drawn),
            rtol=1e-9,
        )


@pytest.mark.parametrize("branching", [2, 3, 16])
@pytest.mark.parametrize("classes", [2, 3])
def test_stochastic_prediction_tends_to_the_rates_whatever_the_proposal(
    classes: int, branching: int
) -> None:
    """Two cells a leaf, of different rates, drawn unequally; noisy labels.

    Tolerance: five standard errors of a ratio of weighted sums, and .005 for the prior, at most
    100 pseudo-counts on a path against 12,000 draws or more, weighted, in a leaf. Counts without
    weights are off by .09 or more.
    """
    draws, leaves = 400_000, 16
    rng = np.random.default_rng(classes)
    share = rng.uniform(1, 2, (leaves, 2))
    share /= share.sum()
    rates = rng.dirichlet(np.ones(classes), (leaves, 2))
    proposal = share * rng.uniform(0.2, 5, share.shape)
    proposal /= proposal.sum()
    drawn = rng.multinomial(draws, proposal.ravel()).reshape(share.shape)
    labels = rng.multinomial(drawn, rates)
    weighted = np.sum(labels * (share / proposal)[..., None], axis=1)
    assert weighted.sum() == pytest.approx(draws, rel=0.01)

    truth = np.sum(share[..., None] * rates, axis=1) / share.sum(axis=1, keepdims=True)
    prior = rng.dirichlet(np.ones(classes), leaves)
    tree = LeafTree.even(leaves, branching)
    spread = rates * (1 - 2 * truth[:, None]) + truth[:, None] ** 2
    variance = np.sum((share**2 / proposal)[..., None] * spread, axis=1) / draws
    error = np.sqrt(variance) / share.sum(axis=1, keepdims=True)
    assert error.max() < 0.01
    found = predict_stochastic(tree, prior, weighted)
    assert np.all(np.abs(found - truth) < 5 * error + 0.005)
    plain = labels.sum(axis=1).astype(float)
    assert np.abs(predict_stochastic(tree, prior, plain) - truth).max() > 0.09


def test_beta_mean_by_stratum() -> None:
    """Against the Beta distribution itself; no labels return the prior."""
    mean, strength = np.array([0.2, 0.5, 0.9]), np.array([2.0, 1.0, 0.5])
    positives, negatives = np.array([0.0, 3.0, 7.0]), np.array([0.0, 1.0, 0.0])
    expected = stats.beta(strength * mean + positives, strength * (1 - mean) + negatives).mean()
    found = beta_by_stratum(mean, strength, positives, negatives)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert found[0] == 0.2
    np.testing.assert_allclose(
        beta_by_stratum(mean, 2.0, positives, negatives), [0.2, 4 / 6, 8.8 / 9], rtol=1e-14
    )


TWO_REGIONS = np.array([2, 1])
"""Leaves 0 and 1 are of one region, leaf 2 is a region of its own."""
LEAF_PRIOR = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
COUNTS = np.array([[5.0, 1.0], [0.0, 2.0], [3.0, 4.0]])
"""Labels in each leaf."""
SET = TreePrior(alpha=(2.0, 1.5), beta=0.25, weight=3.0)


def by_hand(concentration: TreePrior, effective: float) -> np.ndarray:
    """p(y|k) of the tree of two regions given `COUNTS`, formula by formula.

    Args:
        concentration: alpha, beta and weight.
        effective: what the label's own counts lack: 1 for the mode, 0 for the predictive.
    """
    p = np.zeros((3, 2))
    for y in range(2):
        alpha = np.broadcast_to(concentration.alpha, 2)[y]
        s = concentration.weight * LEAF_PRIOR[:, y]
        n, beta = COUNTS[:, y], concentration.beta
        label = alpha - effective + s.sum() + n.sum()
        first, second = beta * 1 + s[0] + s[1] + n[0] + n[1], beta * 1 + s[2] + n[2]
        left, right = beta * 4 + s[0] + n[0], beta * 4 + s[1] + n[1]
        p[0, y] = label * first / (first + second) * left / (left + right)
        p[1, y] = label * first / (first + second) * right / (left + right)
        p[2, y] = label * second / (first + second)
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("concentration", [TreePrior(), SET], ids=["published", "set"])
def test_a_hierarchy_of_its_own_by_hand(concentration: TreePrior) -> None:
    """Of a deterministic oracle that has answered all rows, so that nothing is hidden."""
    tree = LeafTree.parted(TWO_REGIONS)
    drawn = predict_stochastic(tree, LEAF_PRIOR, COUNTS, concentration)
    np.testing.assert_allclose(drawn, by_hand(concentration, 0), rtol=1e-12)
    for accelerate in (False, True):
        fit = fit_dirichlet_tree(
            tree, LEAF_PRIOR, COUNTS, np.zeros(3), concentration=concentration,
            accelerate=accelerate, tolerance=0, max_iterations=30,
        )  # fmt: skip
        np.testing.assert_allclose(fit.posterior, by_hand(concentration, 1), rtol=1e-9)


@pytest.mark.parametrize("concentration", [TreePrior(), SET], ids=["published", "set"])
def test_the_mode_with_hidden_labels_is_that_of_a_general_optimizer(
    concentration: TreePrior,
) -> None:
    """The density is written out with Dirichlet densities and the likelihood of every row."""
    tree, hidden = LeafTree.parted(TWO_REGIONS), np.array([20.0, 9.0, 14.0])
    alpha = np.broadcast_to(concentration.alpha, 2) + concentration.weight * LEAF_PRIOR.sum(axis=0)

    def density(free: np.ndarray) -> float:
        theta, region, within = (1 / (1 + np.exp(-free[part])) for part in ([0], [1, 2], [3, 4]))
        theta = np.array([theta[0], 1 - theta[0]])
        value = stats.dirichlet.logpdf(theta, alpha)
        joint = np.zeros((2, 3))
        for y in range(2):
            s, beta = concentration.weight * LEAF_PRIOR[:, y], concentration.beta
            of_regions = [beta + s[0] + s[1] + 1, beta + s[2] + 1]
            value += stats.dirichlet.logpdf([region[y], 1 - region[y]], of_regions)
            of_leaves = [4 * beta + s[0] + 1, 4 * beta + s[1] + 1]
            value += stats.dirichlet.logpdf([within[y], 1 - within[y]], of_leaves)
            leaves = [region[y] * within[y], region[y] * (1 - within[y]), 1 - region[y]]
            joint[y] = theta[y] * np.array(leaves)
        return -float(value + np.sum(COUNTS.T * np.log(joint)) + hidden @ np.log(joint.sum(axis=0)))

    fit = fit_dirichlet_tree(
        tree, LEAF_PRIOR, COUNTS, hidden, tolerance=1e-13, max_iterations=5000,
        concentration=concentration,
    )  # fmt: skip
    b = fit.branches
    found = np.array([fit.theta[0], b[0, 0], b[1, 0], b[0, 2], b[1, 2]])
    best = optimize.minimize(density, np.zeros(5), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-best.x)), atol=2e-6)
    assert density(np.log(found / (1 - found))) <= best.fun + 1e-9


def test_leaves_above_the_last_level_change_nothing_by_their_only_children() -> None:
    """A chain of single children below a leaf has branches of probability 1."""
    tree = LeafTree.parted(np.array([3, 2, 1]))
    assert tree.depth.tolist() == [1, 1, 2, 2, 2, 3, 3, 3, 3]
    weights = np.arange(1.0, 10.0)
    paths = tree.leaf_probabilities(tree.branch_probabilities(weights))
    top, middle, bottom = weights[:2], weights[2:4], weights[5:7]
    expected = [
        top[0] / 3 * middle[0] / 7 * bottom[0] / 13,
        top[0] / 3 * middle[0] / 7 * bottom[1] / 13,
        top[0] / 3 * middle[1] / 7,
        top[1] / 3,
    ]
    np.testing.assert_allclose(paths, expected, rtol=1e-14)


@pytest.mark.parametrize("branching", [2, 16])
@pytest.mark.parametrize("classes", [2, 3])
def test_warm_start_reaches_the_fixed_point_of_a_cold_start(classes: int, branching: int) -> None:
    pool = make_rows(16, classes, 300, 40, seed=3)
    fewer = dataclasses.replace(pool, label=np.where(np.arange(300) < 150, pool.label, -1))
    tree = LeafTree.even(16, branching)

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
    assert iterations <= 3  # one double step and its extrapolation
    np.testing.assert_allclose(again, cold, rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_one_leaf_has_the_mean_of_prior_and_labels(classes: int) -> None:
    """Hidden rows add nothing to a fixed point: theta prop. to s + o."""
    rng = np.random.default_rng(classes)
    prior = rng.dirichlet(np.ones(classes), 1)
    counts = rng.poisson(3, (1, classes)).astype(float)
    tree = LeafTree.even(1, 2)
    fit = fit_dirichlet_tree(tree, prior, counts, np.array([5.0]), None, 1e-14, 5000)
    np.testing.assert_allclose(fit.posterior, (prior + counts) / (1 + counts.sum()), rtol=1e-10)
    np.testing.assert_allclose(fit.posterior[0], fit.theta, rtol=1e-12)
    np.testing.assert_allclose(
        predict_stochastic(tree, prior, counts),
        (1 + prior + counts) / (classes + 1 + counts.sum()),
        rtol=1e-14,
    )
