"""Pools with positives at the top, and some that hide at the bottom."""

import numpy as np

from tests.samplers.pools import Pool


def tail_pool(rows: int = 3000, hidden: int = 20, seed: int = 1) -> Pool:
    """20 leaves; positives are at the top, and as many hide evenly where the scores are lowest."""
    rng = np.random.default_rng(seed)
    leaf = np.sort((20 * rng.random(rows) ** 2.5).astype(int))
    rate = np.array([0.0005] * 14 + [0.01, 0.05, 0.1, 0.3, 0.6, 0.9])
    label = (rng.random(rows) < rate[leaf]).astype(int)
    label[rng.choice(np.flatnonzero(leaf < 10), hidden, replace=False)] = 1
    p = rate[leaf]
    return Pool(leaf, (leaf >= 18).astype(int), np.stack([1 - p, p], axis=1), label)
