"""The prior of scores that are an order: by hand, and that only ranks count."""

import json

import numpy as np
import pytest

from evalsampling.parts.records import as_plain, read_record
from evalsampling.stats.rank_prior import RankPrior
from evalsampling.stats.score_counts import ScoreCounts


def prior(scores: np.ndarray, predicted: int, limit: int = 4096) -> RankPrior:
    return RankPrior.of(ScoreCounts.from_scores(scores, limit).bins(), predicted)


def test_two_scores_by_hand() -> None:
    """Eight rows of 0, two of 5: u = .6 and .1, odds c (2/3)^1.5 and c 9^1.5; c makes 2 of them."""
    found = prior(np.array([0.0] * 8 + [5.0] * 2), 2)
    low, high = found.find(np.array([0.0, 5.0]))
    assert 8 * low + 2 * high == pytest.approx(2)
    assert (high / (1 - high)) / (low / (1 - low)) == pytest.approx((9 * 3 / 2) ** 1.5)


@pytest.mark.parametrize("predicted", [1, 40, 400, 999])
def test_as_many_are_expected_as_are_predicted(predicted: int) -> None:
    scores = np.random.default_rng(1).normal(size=1000)
    rates = prior(scores, predicted).find(np.sort(scores))
    assert rates.sum() == pytest.approx(predicted)
    assert np.all(np.diff(rates) >= 0)


def test_of_a_class_that_is_never_predicted_there_is_one_row_in_ten() -> None:
    scores = np.random.default_rng(1).normal(size=1000)
    assert prior(scores, 0).find(scores).sum() == pytest.approx(100)
    assert prior(scores, 1000).find(scores).sum() == pytest.approx(900)


def test_only_ranks_count() -> None:
    """Where scores have bins of their own, as forty marks do."""
    marks = np.random.default_rng(2).integers(0, 40, 2000).astype(float)
    first = prior(marks, 100)
    for other in (3 * marks - 7, marks / 1000, np.sqrt(marks) * 60):
        np.testing.assert_allclose(prior(other, 100).find(other), first.find(marks), rtol=1e-9)


def test_equal_scores_have_the_share_predicted() -> None:
    found = prior(np.full(50, 7.0), 10)
    assert found.find(np.array([-3.0, 7.0, 1e9])) == pytest.approx([0.2] * 3)


def test_steps_are_few_and_come_back_as_they_were() -> None:
    scores = np.random.default_rng(3).standard_cauchy(20_000)
    found = prior(scores, 200)
    assert len(found.rates) <= 1025
    again = read_record(RankPrior, json.loads(json.dumps(as_plain(found))))
    np.testing.assert_array_equal(again.find(scores), found.find(scores))
    assert found.find(scores).sum() == pytest.approx(200, rel=1e-6)
