"""Permanent random numbers: rounds are one sample, and a reserve that ends is told."""

from typing import Any

import numpy as np
import pytest

from evalsampling.stats.permanent import PermanentNumbers, keys_by_cluster, permanent_numbers
from evalsampling.stats.poisson import Threshold, conditional

COUNT = np.array([3, 5, 2])
HELD = PermanentNumbers(
    cell=np.array([0, 0, 0, 1, 1, 2, 2]),
    number=np.array([0.1, 0.4, 0.9, 0.2, 0.3, 0.5, 0.6]),
    count=COUNT,
)
"""All rows of the first and the last cell; two of five of the second."""


def test_numbers_are_the_first_bits_of_the_hash() -> None:
    hashes = np.array([0, 1 << 11, (1 << 64) - 1, 1 << 63], dtype=np.uint64)
    assert permanent_numbers(hashes).tolist() == [0, 2.0**-53, 1 - 2.0**-53, 0.5]
    numbers = PermanentNumbers.of_hashes(np.zeros(4, dtype=np.int64), hashes, np.array([4]))
    assert numbers.number.tolist() == permanent_numbers(hashes).tolist()


def drawn_until(until: np.ndarray, before: np.ndarray, cap: int | None = None) -> np.ndarray:
    """Rows of each cell that a round draws, those below ``before`` having been drawn."""
    known = HELD.number < before[HELD.cell]
    drawn = np.bincount(HELD.cell[known], minlength=3)
    fresh = HELD.fresh(drawn, before)
    threshold = Threshold(np.ones(3), before, until)
    _, sizes = threshold.draw(COUNT - drawn, np.random.default_rng(0), cap, fresh)
    return sizes


def test_rows_are_those_below_the_probability_that_were_not_before() -> None:
    none, half = np.zeros(3), np.array([0.5, 0.25, 0.55])
    assert drawn_until(half, none).tolist() == [2, 1, 1]
    assert drawn_until(np.array([0.95, 0.28, 0.58]), half).tolist() == [1, 0, 0]
    assert drawn_until(half, half).tolist() == [0, 0, 0]
    assert drawn_until(np.ones(3), np.array([1.0, 0.25, 1.0]))[[0, 2]].tolist() == [0, 0]


def test_a_cell_whose_numbers_end_asks_for_one_row_more() -> None:
    """Two of its five rows are known and both are drawn: nobody knows about the third."""
    assert drawn_until(np.full(3, 0.35), np.zeros(3)).tolist() == [1, 3, 0]


def test_cap_takes_the_rows_that_enter_first() -> None:
    sizes = drawn_until(np.array([1.0, 0.25, 1.0]), np.zeros(3), cap=3)
    assert sizes.tolist() == [2, 1, 0]
    made, _ = Threshold(np.ones(3), np.zeros(3), np.ones(3)).draw(
        COUNT, np.random.default_rng(0), 2, HELD.fresh(np.zeros(3, dtype=int), np.zeros(3))
    )
    assert made.until == pytest.approx(0.3)  # that of the first row beyond the cap


def test_fresh_numbers_are_uniform_given_what_was_drawn() -> None:
    """Their share of what is left is below the chance of a round iff the number is below its end"""
    before, until = np.full(3, 0.3), np.full(3, 0.55)
    fresh = HELD.fresh(np.array([1, 2, 0]), before)
    assert (fresh.share < conditional(until, before)[fresh.cell]).tolist() == [
        True, False, True, False
    ]  # fmt: skip
    rng = np.random.default_rng(2)
    number = np.sort(rng.random(4000))
    many = PermanentNumbers(np.zeros(4000, dtype=np.int64), number, np.array([4000]))
    share = many.fresh(np.array([np.sum(number < 0.7)]), np.array([0.7])).share
    assert np.mean(share) == pytest.approx(0.5, abs=4 * np.sqrt(1 / 12 / len(share)))


CLUSTERS = np.array([5, 5, 2, 2, 2, 9]) << 13
"""Clusters of six rows, by numbers of 53 bits."""


def by_cluster(cell: list[int], count: list[int]) -> PermanentNumbers:
    """Return the numbers of the six rows, the first ones of their cells."""
    keys = keys_by_cluster(np.arange(6, dtype=np.uint64) << np.uint64(40), CLUSTERS)
    order = np.lexsort((keys, cell))
    return PermanentNumbers.of_hashes(np.array(cell)[order], keys[order], np.array(count))


def test_keys_keep_rows_of_a_cluster_together() -> None:
    """Whatever the hash of the row, of which the last bits decide within a cluster."""
    rng = np.random.default_rng(1)
    hashes = rng.integers(0, 1 << 63, 300, dtype=np.uint64)
    cluster = rng.integers(0, 1 << 53, 40)[rng.integers(0, 40, 300)]
    ordered = cluster[np.argsort(keys_by_cluster(hashes, cluster))]
    assert np.count_nonzero(np.diff(ordered)) == len(np.unique(cluster)) - 1
    assert len(np.unique(keys_by_cluster(hashes, cluster))) == 300


@pytest.mark.parametrize(
    ("wanted", "drawn", "rows"),
    [
        (1, [0, 0], {(0, 0), (1, 0), (1, 1)}),
        (3, [0, 0], {(0, 0), (1, 0), (1, 1)}),
        (4, [0, 0], {(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)}),
        (1, [1, 2], {(0, 1), (1, 2)}),
        (99, [1, 2], {(0, 1), (0, 2), (1, 2)}),
        (1, [3, 3], set()),
    ],
)
def test_next_clusters_are_whole(wanted: int, drawn: list[int], rows: set[Any]) -> None:
    """Cells 0 and 1 have a row and two of the first cluster, one of each of the next, one alone."""
    numbers = by_cluster([0, 1, 0, 1, 1, 0], [3, 3])
    cell, rank = numbers.next_clusters(np.array(drawn), wanted, np.random.default_rng(0))
    assert set(zip(cell.tolist(), rank.tolist(), strict=True)) == rows


def test_a_cell_that_may_have_more_rows_of_these_clusters_asks_for_one() -> None:
    """The last row known of cell 1 is of the second cluster, and there are rows after it."""
    numbers = by_cluster([0, 1, 0, 1, 1, 0], [3, 4])
    drawn, rng = np.zeros(2, dtype=np.int64), np.random.default_rng(0)
    assert len(numbers.next_clusters(drawn, 3, rng)[0]) == 3
    cell, rank = numbers.next_clusters(drawn, 4, rng)
    assert (1, 3) in set(zip(cell.tolist(), rank.tolist(), strict=True))
