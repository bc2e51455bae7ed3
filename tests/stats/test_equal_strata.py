"""Strata of equal counts of whole cells, and strata joined until they have labels."""

import numpy as np

from evalsampling.stats.equal_strata import equal_strata, with_labels


def test_cells_of_one_row_are_divided_evenly_in_the_order_of_the_key() -> None:
    key = np.random.default_rng(0).permutation(100).astype(float)
    stratum = equal_strata(key, np.ones(100, dtype=np.int64), 10)
    assert np.bincount(stratum).tolist() == [10] * 10
    assert np.all(np.diff(stratum[np.argsort(key)]) >= 0)


def test_large_cells_make_fewer_strata_numbered_without_gaps() -> None:
    stratum = equal_strata(np.arange(3.0), np.array([5, 90, 5]), 10)
    assert stratum.tolist() == [0, 1, 2]
    assert equal_strata(np.arange(2.0), np.array([1, 1]), 1).tolist() == [0, 0]


def test_strata_differ_from_equal_ones_by_a_cell_at_most() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(1, 30, 200)
    held = np.bincount(equal_strata(rng.random(200), rows, 8), rows)
    assert len(held) == 8
    assert np.all(np.abs(held - rows.sum() / 8) <= rows.max())


def test_strata_are_joined_until_they_have_labels() -> None:
    assert with_labels(np.array([2, 0, 1, 1, 0, 0])).tolist() == [0, 1, 1, 2, 2, 2]
    assert with_labels(np.array([0, 0, 0])).tolist() == [0, 0, 0]
    assert with_labels(np.array([5])).tolist() == [0]
