"""Models of the oracle: the probability of each label in each leaf.

References:
    [MR] Marchant and Rubinstein, *Needle in a Haystack: Label-Efficient Evaluation under
    Extreme Class Imbalance*, KDD 2021, and its technical report (appendix F).
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.stats.tree import LeafTree

FloatArray = npt.NDArray[np.float64]

MAX_ITERATIONS = 500
TOLERANCE = 1e-4


@dataclasses.dataclass(frozen=True)
class OracleFit:
    """What expectation-maximization found.

    Attributes:
        posterior: pi(y|k), shape (leaves, classes): label probabilities of an unlabelled row.
        iterations: how many were needed; `MAX_ITERATIONS` if it did not settle.
    """

    posterior: FloatArray
    iterations: int


def fit_dirichlet_tree(
    tree: LeafTree,
    prior: FloatArray,
    labelled: FloatArray,
    unlabelled: FloatArray,
    start: FloatArray | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> OracleFit:
    """Fit the Dirichlet-tree model of a deterministic oracle by expectation-maximization.

    A label y has the global probability theta_y, its row falls into leaf k with probability
    psi_yk, the product of the branch probabilities b on the path to k. Dirichlet priors have
    the effective pseudo-counts A_y = sum_k s(y|k) on theta and, on the branch to node c,
    B_yc = depth(c)^2 + sum_{k under c} s(y|k). One iteration, all of it on (classes, leaves):

        E: n_yk = o_yk + u_k pi_k(y),   pi_k(y) prop. to theta_y psi_yk    ([MR] eq. 12)
        M: theta_y prop. to A_y + sum_k n_yk,
           b_yc prop. to B_yc + sum_{k under c} n_yk among siblings        ([MR] eq. 11)

    Eq. 11 subtracts from B the number of leaves under c, which the authors' experiments first
    add; the effective counts above are what they ran.

    Args:
        tree: over the leaves.
        prior: s(y|k), shape (leaves, classes): mean prior probabilities.
        labelled: o, shape (leaves, classes): distinct labelled rows.
        unlabelled: u, shape (leaves,): rows without a label.
        start: posterior to start from, shape (leaves, classes); the prior if not given.
        tolerance: stop once the expected number of rows of no class changes by more than this
            share of itself, summed over leaves.
        max_iterations: stop after this many.

    Returns:
        The posterior and the number of iterations.
    """
    root_counts = prior.sum(axis=0)
    node_counts = tree.depth**2 + tree.sums(prior.T)
    posterior = (prior if start is None else start).T
    expected = unlabelled * posterior
    iterations = 0
    while iterations < max_iterations:
        iterations += 1
        counts = labelled.T + expected
        theta = root_counts + counts.sum(axis=1)
        branches = tree.branch_probabilities(node_counts + tree.sums(counts))
        joint = theta[:, None] * tree.leaf_probabilities(branches)
        posterior = joint / joint.sum(axis=0)
        previous, expected = expected, unlabelled * posterior
        change = np.abs(expected - previous).sum(axis=1)
        if np.all(change <= tolerance * (labelled.sum(axis=0) + expected.sum(axis=1))):
            break
    return OracleFit(posterior.T, iterations)
