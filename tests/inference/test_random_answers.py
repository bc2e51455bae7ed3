"""Answers at random: all Poisson samples and all answers of a few rows; the model of labels."""

import dataclasses
import itertools

import numpy as np
import pytest

from evalsampling.inference.predictive import LabelModel
from evalsampling.inference.random_answers import one_answer_a_row, with_random_answers
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures import Accuracy
from evalsampling.stats.history import History, Round, Votes
from evalsampling.stats.outputs import Outputs
from tests.samplers.pools import Pool, make_pool

RATE = np.array([0.3, 0.8, 0.5])
"""P(1 | row) of three rows."""
VALUE = np.array([[2.0, -1.0], [0.5, 3.0], [-1.0, 1.0]])
"""d of each row with the label 0 and with the label 1."""
CHANCE = np.array([0.4, 0.4, 1.0])
CELL = np.array([0, 0, 1])


def votes_of(counts: np.ndarray, answers: np.ndarray) -> Votes:
    """Votes on questions, counts of the answers 1 among so many."""
    shares = np.stack([answers - counts, counts], axis=1) / answers[:, None]
    return Votes.of_labels(counts, shares, answers)


def moments(answers: np.ndarray) -> tuple[float, float, float]:
    """Mean and variance of an estimated mean, and the mean of its estimated variance."""
    first = second = told = 0.0
    size = np.bincount(CELL)[CELL].astype(float)
    for chosen in itertools.product((False, True), repeat=3):
        p = float(np.prod(np.where(chosen, CHANCE, 1 - CHANCE)))
        rows = np.flatnonzero(chosen)
        if not p:
            continue
        asked = answers[rows]
        for said in itertools.product(*(itertools.product((0, 1), repeat=m) for m in asked)):
            counts = np.array([sum(each) for each in said], dtype=np.int64)
            rate = RATE[rows]
            q = p * float(np.prod(rate**counts * (1 - rate) ** (asked - counts)))
            sample = WeightedSample.without_replacement(np.arange(len(rows)), CHANCE[rows], 3)
            votes = votes_of(counts, asked)
            made = with_random_answers(sample, votes, CHANCE[rows], CELL[rows], size[rows])
            d = VALUE[rows[made.question], votes.label][:, None]
            mean, variance = float(made.mean(d)[0]), float(made.variance(d)[0])
            assert variance >= -1e-12
            by_question = made.by_question(made.contributions(d) ** 2)
            assert len(by_question) == len(rows)
            assert by_question.sum() == pytest.approx(variance, abs=1e-12)
            first, second, told = first + q * mean, second + q * mean**2, told + q * variance
    return first, second - first**2, told


EXPECTED = (VALUE * np.stack([1 - RATE, RATE], axis=1)).sum(axis=1)


@pytest.mark.parametrize("answers", [[2, 2, 2], [3, 2, 4]])
def test_several_answers_make_the_variance_unbiased(answers: list[int]) -> None:
    """[Y] eq. 25 with m answers, whose variance is a mth: both terms, by enumeration."""
    m = np.array(answers)
    mean, variance, told = moments(m)
    within = RATE * (1 - RATE) * (VALUE[:, 1] - VALUE[:, 0]) ** 2
    paper = np.sum((EXPECTED**2 + within / m) / CHANCE - EXPECTED**2) / 9
    assert mean == pytest.approx(EXPECTED.mean())
    assert variance == pytest.approx(paper)
    assert told == pytest.approx(paper)


@pytest.mark.parametrize("answers", [[1, 1, 1], [1, 1, 2], [2, 1, 1]])
def test_one_answer_makes_it_no_smaller(answers: list[int]) -> None:
    mean, variance, told = moments(np.array(answers))
    assert mean == pytest.approx(EXPECTED.mean())
    assert told >= variance - 1e-12


def test_one_answer_takes_products_of_rows_of_a_cell() -> None:
    _, _, told = moments(np.array([1, 1, 1]))
    square = (VALUE**2 * np.stack([1 - RATE, RATE], axis=1)).sum(axis=1)
    assert told == pytest.approx((np.sum(square / CHANCE) - 2 * EXPECTED[0] * EXPECTED[1]) / 9)


def test_answers_of_equal_rates_have_the_variance_of_the_paper() -> None:
    """What one answer a row cannot tell is how rates differ: with equal ones nothing is left."""
    rng, rows, rate, chance = np.random.default_rng(3), 400, 0.3, 0.8
    values, told = [], []
    for _ in range(2000):
        n = rng.binomial(rows, chance)
        d = (rng.random((n, 1)) < rate).astype(float)
        sample = WeightedSample.without_replacement(np.arange(n), np.full(n, chance), rows)
        votes, zeros = Votes.of_labels(d[:, 0].astype(np.int64)), np.zeros(n, dtype=np.int64)
        made = with_random_answers(sample, votes, np.full(n, chance), zeros, np.full(n, 400.0))
        values.append(float(made.mean(d)[0]))
        told.append(float(made.variance(d)[0]))
    paper = (rate / chance - rate**2) / rows
    assert np.mean(told) == pytest.approx(paper, rel=0.01)
    assert np.var(values) == pytest.approx(paper, rel=4 * np.sqrt(2 / 2000))


def test_one_answer_a_row_keeps_the_shares_of_neighbours() -> None:
    """A third of three answers: a third of the rows; a row asked about twice counts once."""
    n = 90
    history = dataclasses.replace(
        asked(np.repeat([0, 1], n // 2), np.tile(np.arange(n // 2), 2)),
        label=np.zeros(n, dtype=np.int64),
        shares=np.tile([2 / 3, 1 / 3], (n, 1)),
        answers=np.full(n, 3),
    )
    one = one_answer_a_row(history, 2)
    assert (len(one), one.shares, one.answers, one.rounds) == (n, None, None, ())
    assert one.seen(2, 2) == pytest.approx(np.full((2, 1), 45) * [2 / 3, 1 / 3], abs=1)
    again = dataclasses.replace(
        asked(np.zeros(4, dtype=np.int64), np.array([1, 0, 1, 2])), label=np.array([1, 0, 1, -1])
    )
    kept = one_answer_a_row(again, 2)
    assert (kept.rank.tolist(), kept.label.tolist()) == ([0, 1], [0, 1])


def asked(cell: np.ndarray, rank: np.ndarray) -> History:
    """Questions about rows, without answers."""
    n = len(cell)
    new = Round(np.arange(n), np.ones(n), np.ones(n, dtype=bool))
    return History.start().with_round(new, cell, rank, Outputs(*outputs_of(n)))


def outputs_of(n: int) -> tuple[np.ndarray, ...]:
    return np.ones((n, 1), dtype=np.int64), np.zeros((n, 1)), np.full((n, 1, 2), 0.5)


def test_the_model_of_random_answers_knows_no_row() -> None:
    """With every row labelled: accuracy is that of the rates, and its draws still spread.

    Their standard deviation is at least that of the rates of 0 and 1 which it assumes.
    """
    pool = make_pool(400, 10, seed=2, positive=0.3)
    history = pool.answer(asked_all(pool), pool.order(1))
    fitted = [
        LabelModel.fit(pool.table, history, (1,), stochastic=stochastic)
        for stochastic in (False, True)
    ]
    known, drawn = (Accuracy().values(model.everywhere.risks(Accuracy()))[:, 0] for model in fitted)
    assert np.ptp(known) == 0
    assert known[0] == pytest.approx(pool.value(Accuracy()))
    predicted = pool.table.kinds.prediction[pool.table.kinds.first, 0]
    rate = fitted[1].rates[:, np.arange(len(pool.table)), predicted]
    of_rates = rate @ pool.table.count / len(pool)
    assert drawn.mean() == pytest.approx(of_rates.mean(), abs=4 * drawn.std() / len(drawn) ** 0.5)
    least = np.sqrt((rate * (1 - rate)).mean(axis=0) @ pool.table.count) / len(pool)
    assert drawn.std() > 0.9 * least


def asked_all(pool: Pool) -> History:
    """A question about every row."""
    cell = np.repeat(np.arange(len(pool.table)), pool.table.count)
    rank = np.concatenate([np.arange(n) for n in pool.table.count])
    return asked(cell, rank)
