"""Cells as a ranked list."""

import dataclasses

import numpy as np
import pytest

from evalsampling.stats.ranked_list import RankedList
from tests.ranked_lists import Ranked
from tests.samplers.pools import make_pool


def test_bins_with_two_predictions_share_a_rank() -> None:
    """Row by row: the rank of a score is the number of rows with as much or more."""
    pool = make_pool(400, 6, seed=2, positive=0.3)
    ranked = RankedList.of_cells(pool.table)
    score = pool.outputs.score[:, 0]
    assert ranked.threshold.tolist() == sorted(set(score.tolist()), reverse=True)
    assert ranked.rank.tolist() == [int(np.sum(score >= one)) for one in ranked.threshold]
    assert ranked.rows.sum() == len(pool)
    of_row = ranked.group[pool.cell]
    assert np.array_equal(ranked.threshold[of_row], score)
    assert ranked.sums(pool.cell).tolist() == ranked.rows.tolist()
    assert ranked.sums(pool.cell, pool.label).sum() == pool.label.sum()


def test_places_of_ranks_and_thresholds() -> None:
    ranked = RankedList.of_cells(Ranked(np.array([5, 10, 20, 40]), np.zeros(4, int)).known.table)
    assert ranked.rank.tolist() == [5, 15, 35, 75]
    assert [ranked.at_rank(one) for one in (1, 5, 6, 35, 75, 1000)] == [0, 0, 1, 2, 3, 3]
    assert ranked.nearest(20, 0, 3) == 1, "by the logarithm"
    assert ranked.nearest(24, 0, 3) == 2
    assert ranked.threshold.tolist() == [3, 2, 1, 0]
    place = ranked.reaching(np.array([-1.0, 0, 0.5, 3, 3.5]))
    assert place.tolist() == [3, 3, 2, 0, -1]


def test_a_threshold_within_a_bin_is_told_of() -> None:
    known = Ranked(np.array([5, 10]), np.zeros(2, int)).known
    kinds = dataclasses.replace(known.table.kinds, upper=np.array([[0.9], [1.9]]))
    ranked = RankedList.of_cells(dataclasses.replace(known.table, kinds=kinds))
    assert ranked.reaching(np.array([0.5])) is None
    assert ranked.reaching(np.array([1.5])) is None
    assert ranked.reaching(np.array([0.95, 1.0, 1.95])).tolist() == [0, 0, -1]  # type: ignore[union-attr]


def test_cells_that_are_not_bins_of_the_score_have_no_ranks() -> None:
    known = Ranked(np.array([5, 10]), np.zeros(2, int)).known
    kinds = dataclasses.replace(known.table.kinds, score=np.full((2, 1), -np.inf))
    with pytest.raises(ValueError, match="strata must be cut from it"):
        RankedList.of_cells(dataclasses.replace(known.table, kinds=kinds))
