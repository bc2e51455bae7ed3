"""Edges at ranks that grow geometrically."""

import numpy as np
import pytest

from evalsampling.stats.rank_edges import log_rank_edges


def test_ranks_grow_by_one_ratio() -> None:
    """Of one row a bin they are those of the formula, rounded up."""
    rows, leaves = 10_000, 40
    edges = log_rank_edges(np.arange(rows, dtype=float), np.ones(rows, dtype=np.int64), leaves)
    ranks = rows - edges[::-1]
    wanted = np.ceil(40 * (rows / 40) ** (np.arange(leaves - 1) / (leaves - 1)) - 1e-6)
    assert ranks.tolist() == wanted.tolist()


@pytest.mark.parametrize("leaves", [1, 2, 7, 300])
def test_no_leaf_is_empty_and_there_are_no_more_than_wanted(leaves: int) -> None:
    counts = np.random.default_rng(2).integers(0, 4, size=200)
    ends = np.linspace(-3, 3, 200)
    edges = log_rank_edges(ends, counts, leaves)
    assert len(edges) < leaves
    assert np.all(np.diff(edges) > 0)
    leaf = np.searchsorted(edges, ends, side="right")
    assert np.all(np.bincount(leaf, counts, minlength=len(edges) + 1) > 0)
    if leaves >= counts.sum():
        assert len(edges) == np.count_nonzero(counts) - 1


def test_a_bin_of_many_rows_ends_many_leaves() -> None:
    edges = log_rank_edges(np.arange(4.0), np.array([5, 1, 1000, 2]), 10)
    assert edges.tolist() == [2.0], "ranks 2, 1002, 1003 and 1008; after 603 the next wanted is all"
