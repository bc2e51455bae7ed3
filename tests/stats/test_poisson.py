"""Poisson samples in rounds: one sample of the whole budget, and the hard cap."""

import numpy as np
import pytest

from evalsampling.stats.inclusion import draw_next, water_fill
from evalsampling.stats.poisson import Threshold, conditional, inclusion_so_far, poisson_rounds
from tests.samplers.pools import make_pool

POOL = make_pool(300, 4, seed=3, positive=0.4)
SIZE = np.random.default_rng(1).lognormal(0, 1, len(POOL.table))


def test_rounds_together_are_one_sample() -> None:
    """1 - prod (1 - b) of three rounds is the probability of the largest budget."""
    table, history = POOL.table, POOL.start()
    for expected in (20, 35, 150):
        before = inclusion_so_far(table, history)
        until = water_fill(SIZE, table.count, expected)
        chance = Threshold(SIZE, before, until).chance
        sizes = np.random.default_rng(expected).binomial(
            table.count - history.drawn_by_cell(len(table)), chance
        )
        history = draw_next(table, history, chance, sizes, np.random.default_rng(0))
    assert inclusion_so_far(table, history) == pytest.approx(until, abs=1e-12)


def test_chance_of_certain_and_of_impossible_rows() -> None:
    before, until = np.array([0.0, 0.2, 1.0, 0.5]), np.array([0.0, 1.0, 1.0, 0.4])
    assert conditional(until, before).tolist() == [0, 1, 0, 0]


def test_rounds_know_their_questions_and_the_rows_left() -> None:
    table, history = POOL.table, POOL.start()
    chance = np.full(len(table), 0.5)
    for number in range(2):
        sizes = np.arange(len(table)) % 2 + number
        history = draw_next(table, history, chance, sizes, np.random.default_rng(number))
    first, second = poisson_rounds(table, history)
    assert (first.begin, second.begin) == (0, len(first.question))
    assert np.array_equal(first.fresh, table.count)
    assert np.array_equal(second.fresh, table.count - np.arange(len(table)) % 2)
    assert first.expected == pytest.approx(POOL.table.rows / 2)


def test_cap_is_never_exceeded_and_rows_keep_their_order() -> None:
    rng = np.random.default_rng(7)
    threshold = Threshold(SIZE, np.zeros(len(SIZE)), water_fill(SIZE, POOL.table.count, 40))
    sizes = []
    for _ in range(300):
        made, drawn = threshold.draw(POOL.table.count, rng, cap=40)
        sizes.append(drawn.sum())
        assert np.all(made.until <= threshold.until + 1e-12)
        assert np.all(drawn[made.chance == 0] == 0)
    assert max(sizes) == 40
    assert np.mean(np.array(sizes) == 40) > 0.4


@pytest.mark.slow
def test_capped_totals_are_unbiased() -> None:
    """6,000 samples of on average 12 rows, at most 11: totals to 4 standard errors.

    Fixed to the uncapped probabilities they would miss by far more.
    """
    table, rng = POOL.table, np.random.default_rng(5)
    values = np.random.default_rng(6).random(len(table))
    threshold = Threshold(SIZE, np.zeros(len(SIZE)), water_fill(SIZE, table.count, 12))
    totals, naive = [], []
    for _ in range(6000):
        made, drawn = threshold.draw(table.count, rng, cap=11)
        held = drawn > 0
        totals.append(np.sum(drawn[held] * values[held] / made.chance[held]))
        naive.append(np.sum(drawn[held] * values[held] / threshold.chance[held]))
    truth = values @ table.count
    error = np.std(totals) / np.sqrt(len(totals))
    assert np.mean(totals) == pytest.approx(truth, abs=4 * error)
    assert abs(np.mean(naive) - truth) > 8 * error
