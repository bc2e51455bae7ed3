"""Convergence of Markov chains: whether chains from different starts agree.

References:
    C. C. Margossian, M. D. Hoffman, P. Sountsov, L. Riou-Durand, A. Vehtari and A. Gelman, *Nested
    R-hat: assessing the convergence of Markov chain Monte Carlo when running many short chains*,
    Bayesian Analysis 2024.
"""

import numpy as np

from evalsampling.stats.arrays import FloatArray


def nested_r_hat(values: FloatArray) -> float:
    """Return how far chains from different starts disagree: 1 if not at all, inf if none moves.

    sqrt(1 + B / W): B the variance of the means of groups of chains, each group from a start of its
    own, W the mean within groups of the variance of the means of chains and of the variance within
    chains. Chains that are too short to settle one by one still show whether their starts matter.

    Args:
        values: shape (groups, chains, draws), at least two of each.
    """
    chains = values.mean(axis=2)
    between = np.var(chains.mean(axis=1), ddof=1)
    within = np.mean(np.var(chains, axis=1, ddof=1) + np.var(values, axis=2, ddof=1).mean(axis=1))
    if between == 0:
        return 1.0
    return float(np.sqrt(1 + between / within)) if within > 0 else np.inf
