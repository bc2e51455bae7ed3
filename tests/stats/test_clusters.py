"""How rows of a pool are spread over clusters, by a sketch and by counting."""

import functools
import operator

import numpy as np
import pytest

from evalsampling.stats.clusters import CORRELATION, ClusterSums, SharedClusters
from evalsampling.stats.hashing import hash_integers


def spread(size: np.ndarray, seed: int) -> SharedClusters:
    """The spread of clusters of some sizes, whose rows come in three batches."""
    number = (hash_integers(np.arange(len(size)), seed) >> np.uint64(11)).astype(np.int64)
    rows = np.random.default_rng(seed).permutation(np.repeat(number, size))
    batches = map(ClusterSums.of_numbers, np.array_split(rows, 3))
    return functools.reduce(operator.add, batches).shared()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shape", ["equal", "heavy-tailed", "one", "alone"])
def test_chance_that_two_rows_share_a_cluster(shape: str, seed: int) -> None:
    """The sum of squares is known to sqrt(2 / 65,536) of itself; four times that is allowed."""
    rng = np.random.default_rng(seed)
    size = {
        "equal": np.full(3000, 20),
        "heavy-tailed": np.minimum(1 + rng.pareto(1.1, 3000), 5000).astype(int),
        "one": np.array([500]),
        "alone": np.ones(50_000, dtype=int),
    }[shape]
    rows, squares = size.sum(), float(size @ size)
    found = spread(size, seed)
    assert found.rows == rows
    allowed = 4 * np.sqrt(2 / 65_536) * squares / rows**2
    assert found.chance == pytest.approx((squares - rows) / (rows * (rows - 1)), abs=allowed)


def test_design_effect_is_kishs() -> None:
    half = SharedClusters(1000, 0.5)
    assert half.drawn_together(101) == 51
    assert half.design_effect(101) == 1 + 50 * CORRELATION
    assert half.design_effect(1000) == 1, "all rows have labels"
    assert half.design_effect(0) == 1


def test_whole_clusters_have_as_many_rows_as_those_of_the_pool() -> None:
    """Of clusters of 1, 2 and 7 rows, a row shares (1 + 4 + 49) / 10 rows of its cluster."""
    shared = SharedClusters(10, (2 + 42) / 90)
    assert shared.rows_together == pytest.approx(5.4)
    assert shared.design_effect(4, whole=True) == pytest.approx(1 + 4.4 * CORRELATION)
    assert shared.design_effect(10, whole=True) == 1
