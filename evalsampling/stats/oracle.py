"""Models of the oracle: the probability of each label in each leaf.

References:
    [MR] Marchant and Rubinstein, *Needle in a Haystack: Label-Efficient Evaluation under
    Extreme Class Imbalance*, KDD 2021, section 5.2, and its technical report, appendices F
    (deterministic oracle) and H (stochastic oracle).
    [OASIS] Marchant and Rubinstein, *In Search of an Entity Resolution OASIS: Optimal Asymptotic
    Sequential Importance Sampling*, VLDB 2017.
"""

import dataclasses

import numpy as np

from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.tree import LeafTree, TreeMode

MAX_ITERATIONS = 500
TOLERANCE = 1e-4
_FIRST_STRIDE = 4.0
"""Longest first extrapolation, in steps."""


@dataclasses.dataclass(frozen=True)
class TreePrior:
    """Concentrations of the Dirichlet tree before any label ([MR] section 5.2).

    alpha_y = alpha + weight sum_k s(y|k) of the labels, and
    beta_yc = beta depth(c)^2 + weight sum_{k under c} s(y|k) of the branch to node c.
    """

    # one number, or one for each class; [MR] has 1. For a deterministic oracle at least 1: the mode
    # has the effective counts alpha_y - 1
    alpha: float | tuple[float, ...] = 1.0
    beta: float = 1.0  # above 0; [MR] has 1. The greater, the more alike the leaves below a node
    weight: float = 1.0  # above 0: rows that a prior probability of 1 counts as; [MR] has 1

    def effective_counts(self, tree: LeafTree, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return A = alpha_y - 1, (classes,), and B, (classes, nodes): see `fit_dirichlet_tree`."""
        root = np.asarray(self.alpha) - 1 + self.weight * prior.sum(axis=0)
        return root, self.beta * tree.depth**2 + self.weight * tree.sums(prior.T)


PUBLISHED = TreePrior()
"""The concentrations of [MR]."""


@dataclasses.dataclass(frozen=True)
class OracleFit:
    """The mode that expectation-maximization found, and its parameters."""

    # pi(y|k), shape (leaves, classes): label probabilities of an unlabelled row
    posterior: FloatArray
    iterations: int  # number of iterations; `MAX_ITERATIONS` if it did not converge
    # label probabilities of a row of the pool, shape (classes,), behind the posterior
    theta: FloatArray
    branches: FloatArray  # b of each class, shape (classes, nodes), behind the posterior


def fit_dirichlet_tree(
    tree: LeafTree,
    prior: FloatArray,
    labelled: FloatArray,
    unlabelled: FloatArray,
    start: FloatArray | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    accelerate: bool = True,
    concentration: TreePrior = PUBLISHED,
) -> OracleFit:
    """Return a mode of the posterior of the Dirichlet tree, for a deterministic oracle.

    A label y has the global probability theta_y, its row falls into leaf k with probability psi_yk,
    the product of the branch probabilities b on the path to k. Dirichlet priors have the effective
    pseudo-counts A_y = sum_k s(y|k) on theta and, on the branch to node c, B_yc = depth(c)^2 +
    sum_{k under c} s(y|k). One iteration of expectation-maximization, all of it on (classes,
    leaves):

        E: n_yk = o_yk + u_k pi_k(y),   pi_k(y) prop. to theta_y psi_yk    ([MR] eq. 12)
        M: theta_y prop. to A_y + sum_k n_yk,
           b_yc prop. to B_yc + sum_{k under c} n_yk among siblings        ([MR] eq. 11)

    Eq. 11 subtracts from B the number of leaves under c, which the authors' experiments first add;
    the effective counts above are what they ran. No iteration lowers the log posterior.

    These iterations move by the share of rows that have a label: on a large pool they would stop
    where they started. So two of them are extrapolated (SQUAREM: R. Varadhan and C. Roland, *Simple
    and globally convergent methods for accelerating the convergence of any EM algorithm*,
    Scandinavian Journal of Statistics 35, 2008), and on a large pool each is followed by a step
    that treats the unlabelled rows exactly (`stats.tree`).

    There are the `prior` s(y|k), 0 of a class that is not there until it is seen, o distinct rows
    `labelled`, shape (leaves, classes) each, and u `unlabelled`, shape (leaves,). The end is where
    each class's expected number of rows changes by at most the `tolerance`, as a share of itself.
    """
    posterior = (prior if start is None else start).T
    mode = TreeMode(tree, *concentration.effective_counts(tree, prior), labelled.T, unlabelled)
    joint = mode.with_leaf_shares(posterior)
    # Probabilities of exactly 0 have no logarithm to extrapolate.
    accelerate = accelerate and bool(np.all(mode.root_counts + labelled.sum(axis=0) > 0))
    iterations, converged = 0, False
    stride = _FIRST_STRIDE
    while not converged and iterations < max(max_iterations, 1):
        if not accelerate:
            joint = mode.expect_and_maximize(joint)
            iterations += 1
        else:
            joint, stride = mode.extrapolated(joint, stride)
            iterations += 3
        previous, posterior = posterior, joint / joint.sum(axis=0)
        change = np.abs(unlabelled * (posterior - previous)).sum(axis=1)
        rows = labelled.sum(axis=0) + (unlabelled * posterior).sum(axis=1)
        converged = bool(np.all(change <= tolerance * rows))
    return OracleFit(posterior.T, iterations, *mode.parameters(joint))


def predict_stochastic(
    tree: LeafTree,
    prior: FloatArray,
    weighted_counts: FloatArray,
    concentration: TreePrior = PUBLISHED,
) -> FloatArray:
    """Return the probability of each label in each leaf under the tree, for a stochastic oracle.

    The model of `fit_dirichlet_tree`, but a label is one draw of p(y|x) and nothing is hidden: the
    posterior is Dirichlet again, and its predictive probabilities, shape (leaves, classes), are

        p(y|k) prop. to a_y prod_{c on the path to k} b_yc / sum_{siblings of c} b  ([MR] eq. 14),
        a_y = alpha_y + sum_j w_j 1[y_j = y],
        b_yc = beta_yc + sum_j w_j 1[y_j = y, k_j under c]        ([MR] eq. 15, bias-corrected).

    With growing counts it tends to the true share of y in leaf k whatever the proposals were. The
    ``weighted_counts``, shape (leaves, classes), are the sum of w = p/q over all draws so far,
    those of a row drawn again included: about the number of draws.
    """
    root_counts, node_counts = concentration.effective_counts(tree, prior)
    counts = weighted_counts.T
    branches = tree.branch_probabilities(node_counts + tree.sums(counts))
    theta = 1 + root_counts + counts.sum(axis=1)
    joint = theta[:, None] * tree.leaf_probabilities(branches)
    return (joint / joint.sum(axis=0)).T


def beta_by_stratum(
    prior_mean: FloatArray,
    strength: float | FloatArray,
    positives: FloatArray,
    negatives: FloatArray,
) -> FloatArray:
    """Return the mean of an independent Beta posterior of each stratum's rate ([OASIS]).

    (s m_k + positives_k) / (s + positives_k + negatives_k), of labels or their weights.
    """
    return (strength * prior_mean + positives) / (strength + positives + negatives)
