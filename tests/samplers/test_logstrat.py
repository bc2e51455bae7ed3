"""LogStrat: its ranks, its one wave, and the condition of theorem 1."""

import numpy as np
import pytest

from evalsampling.measures import PRCurve
from evalsampling.samplers import LogStrat
from evalsampling.stats.history import History
from evalsampling.stats.precision_queries import logarithmic_ranks
from evalsampling.stats.ranked_list import RankedList
from tests.ranked_lists import Ranked, finish, labels, next_round

CURVE = PRCurve(thresholds=(0.0,))


def test_it_queries_the_nearest_ranks_to_powers() -> None:
    one = Ranked(np.ones(2000, dtype=np.int64), np.zeros(2000, dtype=np.int64))
    sampler = LogStrat(CURVE, epsilon=0.1, first=150, m=10)
    ranked = RankedList.of_cells(one.known.table)
    head, queried = sampler.head_and_queries(ranked)
    exact, wanted = logarithmic_ranks(2000, 150, 0.1)
    assert ranked.rank[head] == exact
    assert ranked.rank[queried] == pytest.approx(wanted, abs=0.51)


def test_one_wave_is_all_and_the_curve_is_within_its_factor() -> None:
    one = Ranked.of_labels(labels(30_000, 2), bins=400, first=200)
    sampler = LogStrat(CURVE, epsilon=0.1, beta=1.15, p_min=0.28, first=250, m=20)
    history = next_round(sampler, one.known, History.start())
    assert sampler.exhausted(one.known.table, history)
    curve = sampler.curve(one.known.table, history)
    assert curve is not None
    assert curve.guarantee.factor is not None
    assert curve.guarantee.factor <= 1.15 * 1.1
    ratio = curve.precision.value / one.precision
    assert max(ratio.max(), 1 / ratio.min()) <= curve.guarantee.factor
    assert len(finish(sampler, one.known)) == len(history)


def test_pool_shorter_than_the_head_is_known_throughout() -> None:
    """With the defaults any pool of fewer than 3,500 rows is all head."""
    one = Ranked.of_labels(labels(1_000, 2), bins=100)
    sampler = LogStrat(CURVE)
    history = finish(sampler, one.known)
    assert len(history) == 1_000
    curve = sampler.curve(one.known.table, history)
    assert curve is not None
    assert curve.guarantee.factor == 1
    assert curve.precision.value == pytest.approx(one.precision)


def test_m_beyond_theorem_1_is_refused() -> None:
    LogStrat(CURVE, first=3550, m=106)
    with pytest.raises(ValueError, match=r"m is 107, and theorem 1 allows at most .* = 106"):
        LogStrat(CURVE, first=3550, m=107)
