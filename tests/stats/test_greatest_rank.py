"""Leaves by the greatest rank of several scores, against exact ranks."""

import itertools
import json

import numpy as np
import pytest

from evalsampling.parts.records import as_plain, read_record
from evalsampling.stats.greatest_rank import GreatestRank
from evalsampling.stats.score_counts import ScoreCounts
from evalsampling.stats.strata import LOGIT_RANK, cut_edges

ROWS, LEAVES = 4000, 32


def scores() -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    tied = np.where(rng.random(ROWS) < 0.9, 0.0, rng.random(ROWS))
    return [rng.normal(size=ROWS), tied, rng.integers(0, 6, ROWS).astype(np.float64)]


def cut(of: list[np.ndarray]) -> GreatestRank:
    counts = [ScoreCounts.from_scores(each, LOGIT_RANK.bins(LEAVES)) for each in of]
    return GreatestRank.cut([f"score {place}" for place in range(len(of))], counts, LEAVES)


def test_a_row_is_as_high_as_the_score_that_ranks_it_highest_has_it() -> None:
    """The share of the rows below, by brute force, rises from leaf to leaf, within a bin's rows."""
    of = scores()
    leaf = cut(of).find(of)
    below = np.max([[np.mean(each < value) for value in each] for each in of], axis=0)
    ends = [(below[leaf == k].min(), below[leaf == k].max()) for k in np.unique(leaf)]
    for (_, high), (low, _) in itertools.pairwise(ends):
        assert high <= low + 2e-3
    assert len(ends) > LEAVES // 2


def test_the_order_of_the_scores_does_not_matter() -> None:
    of = scores()
    assert np.array_equal(cut(of).find(of), cut(of[::-1]).find(of[::-1]))


def test_one_score_alone_makes_its_own_leaves() -> None:
    (one, *_) = scores()
    counts = ScoreCounts.from_scores(one, LOGIT_RANK.bins(LEAVES))
    alone = np.searchsorted(cut_edges(LOGIT_RANK, counts, LEAVES), one, side="right")
    assert np.array_equal(cut([one]).find([one]), alone)


def test_a_lowest_score_that_most_rows_share_ranks_none_of_them() -> None:
    """Of two scores one is the same for nine rows in ten: there the other tells them apart."""
    one, tied, _ = scores()
    leaves = cut([one, tied])
    at_bottom = tied == 0
    assert len(np.unique(leaves.find([one, tied])[at_bottom])) > LEAVES // 2


def test_leaves_outlive_files_and_processes() -> None:
    of = scores()
    leaves = cut(of)
    copy = read_record(GreatestRank, json.loads(json.dumps(as_plain(leaves))))
    assert np.array_equal(copy.find(of), leaves.find(of))
    assert copy.leaves == leaves.leaves


@pytest.mark.parametrize("value", [0.0, -3.5])
def test_scores_that_are_all_alike_make_one_leaf(value: float) -> None:
    of = [np.full(50, value), np.full(50, 1.0)]
    leaves = cut(of)
    assert leaves.leaves == 1
    assert not leaves.find(of).any()
