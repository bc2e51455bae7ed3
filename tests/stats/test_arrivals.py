"""First arrivals: independent draws in proportion to the weights, the same for any parts."""

import numpy as np
import pytest
from scipy import stats

from evalsampling.stats.arrivals import arrivals, first_arrivals
from evalsampling.stats.hashing import hash_integers

WEIGHT = np.array([0.5, 0.0, 3.0, 1.0, 1.5, 4.0])


def test_draws_are_in_proportion_to_the_weights() -> None:
    """Chi-squared of 5,000 draws, level 0.1 %; a row without weight is never drawn."""
    row, time = first_arrivals(hash_integers(np.arange(6), 7), WEIGHT, 5_000)
    found = np.bincount(row, minlength=6)
    assert found[1] == 0
    there = WEIGHT > 0
    expected = 5_000 * WEIGHT[there] / WEIGHT.sum()
    assert stats.chisquare(found[there], expected).pvalue > 0.001
    assert stats.kstest(time * WEIGHT.sum(), "expon").pvalue > 0.001


def test_draws_are_independent_of_each_other() -> None:
    """Neighbouring draws of many seeds: their joint counts against the product, level 0.1 %."""
    pairs = np.zeros((2, 2))
    for seed in range(1500):
        row, _ = first_arrivals(hash_integers(np.arange(2), seed), np.array([1.0, 2.0]), 2)
        pairs[row[0], row[1]] += 1
    expected = 1500 * np.outer([1, 2], [1, 2]) / 9
    assert stats.chisquare(pairs.ravel(), expected.ravel()).pvalue > 0.001


def test_parts_have_the_first_arrivals_of_the_whole() -> None:
    hashes = hash_integers(np.arange(500), 1)
    weight = np.random.default_rng(2).gamma(0.5, 1.0, 500)
    row, time = first_arrivals(hashes, weight, 60)
    parts = np.split(np.random.default_rng(3).permutation(500), [1, 40, 41, 300])
    best, when = np.full(60, -1), np.full(60, np.inf)
    for part in parts:
        of, at = first_arrivals(hashes[part], weight[part], 60)
        earlier = at < when
        best[earlier], when[earlier] = part[of[earlier]], at[earlier]
    assert best.tolist() == row.tolist()
    assert when.tolist() == time.tolist()


def test_arrivals_until_a_time_are_those_before_it() -> None:
    hashes = hash_integers(np.arange(50), 1)
    weight = np.ones(50)
    row, draw, time = arrivals(hashes, weight, 4, 2.0)
    sooner = arrivals(hashes, weight, 4, 1.0)
    early = time <= 1.0
    found = sorted(zip(row[early], draw[early], time[early], strict=True))
    assert found == sorted(zip(*sooner, strict=True))
    # Rows arrive at each draw at rate one: 50 x 4 x 2 arrivals, within five standard deviations.
    assert len(row) == pytest.approx(400, abs=100)


def test_no_weight_no_row() -> None:
    row, time = first_arrivals(hash_integers(np.arange(2), 0), np.zeros(2), 3)
    assert row.tolist() == [-1, -1, -1]
    assert np.isinf(time).all()
