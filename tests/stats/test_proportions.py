"""Intervals of a proportion."""

import pytest
from scipy import stats

from evalsampling.stats.proportions import clopper_pearson


@pytest.mark.parametrize(("hits", "trials"), [(0, 7), (3, 7), (7, 7), (1, 1)])
def test_exact_interval_is_that_of_scipy(hits: int, trials: int) -> None:
    expected = stats.binomtest(hits, trials).proportion_ci(0.9, method="exact")
    assert clopper_pearson(hits, trials, 0.9) == pytest.approx((expected.low, expected.high))


def test_nothing_is_known_without_trials() -> None:
    assert clopper_pearson(0, 0, 0.95) == (0.0, 1.0)


def test_a_part_of_a_trial_lies_between_whole_ones() -> None:
    narrower, between, wider = (clopper_pearson(n / 2, n, 0.95) for n in (10, 9.5, 9))
    assert wider[0] < between[0] < narrower[0]
    assert narrower[1] < between[1] < wider[1]
