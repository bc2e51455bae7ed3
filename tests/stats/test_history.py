"""The record of rounds."""

import dataclasses

import numpy as np
import pytest

from evalsampling.inference.score_bands import score_bands
from evalsampling.measures import Accuracy, Measure, Precision
from evalsampling.samplers import AdaptiveImportance, Importance, Oasis, Passive, Poisson, Sampler
from evalsampling.stats.history import NO_LABEL, History, Round, Votes
from evalsampling.stats.outputs import Outputs
from tests.samplers.pools import Pool, make_pool


def outputs_of(prediction: list[int]) -> Outputs:
    """One system, two classes, probabilities that tell the rows apart."""
    p = np.array(prediction) / 10
    return Outputs(
        np.array(prediction)[:, None], p[:, None] + 1, np.stack([1 - p, p], axis=1)[:, None]
    )


def test_history_grows_by_rounds_and_labels_and_is_never_changed() -> None:
    empty = History.start(slices=2)
    assert len(empty) == len(empty.question) == len(empty.probability) == len(empty.labelled) == 0
    assert empty.drawn_by_cell(3).tolist() == [0, 0, 0]
    assert empty.slice.shape == (0, 2)

    first = Round(np.array([0, 1, 0]), np.array([0.1, 0.2, 0.1]), np.array([True, True, False]))
    one = empty.with_round(first, np.array([2, 0]), np.array([0, 0]), outputs_of([4, 5]))
    assert one.label.tolist() == [NO_LABEL, NO_LABEL]
    assert one.slice.tolist() == [[-1, -1], [-1, -1]]
    labelled = one.with_labels(np.array([NO_LABEL, 1]))
    second = Round(np.array([2, 1]), np.array([0.3, 0.25]), np.array([True, False]))
    two = labelled.with_round(
        second, np.array([2]), np.array([1]), outputs_of([6]), np.array([[3, 0]])
    )

    assert len(two) == 3
    assert two.cell.tolist() == [2, 0, 2]
    assert two.rank.tolist() == [0, 0, 1]
    assert two.label.tolist() == [NO_LABEL, 1, NO_LABEL]
    assert two.labelled.tolist() == [1]
    assert two.question.tolist() == [0, 1, 0, 2, 1]
    assert two.probability.tolist() == [0.1, 0.2, 0.1, 0.3, 0.25]
    assert two.drawn_by_cell(4).tolist() == [1, 0, 2, 0]
    assert two.outputs.prediction.tolist() == [[4], [5], [6]]
    assert two.slice.tolist() == [[-1, -1], [-1, -1], [3, 0]]
    assert two.rounds == (first, second)
    assert len(empty.rounds) == 0
    assert one.label.tolist() == [NO_LABEL, NO_LABEL]
    assert len(one.rounds) == 1
    assert one.outputs.prediction.tolist() == [[4], [5]]


def test_rounds_still_waiting_for_their_first_answer_are_unheard() -> None:
    """The last two; not one before, and not one that asked nothing."""

    def add(history: History, new: int) -> History:
        known = len(history)
        question = np.append(np.arange(known, known + new), [0])
        drawn = Round(question, np.full(new + 1, 0.1), np.append(np.full(new, True), False))
        rows = outputs_of([*range(new)])
        return history.with_round(drawn, np.zeros(new, np.int64), np.arange(new) + known, rows)

    history = History.start(slices=1)
    for new in (2, 3, 2, 1):
        history = add(history, new)
    label = np.array([1, NO_LABEL, NO_LABEL, 0, NO_LABEL, NO_LABEL, NO_LABEL, NO_LABEL])
    until_last_answered_round = history.with_labels(label).until_last_answered_round()
    assert len(until_last_answered_round.rounds) == 2
    assert until_last_answered_round.label.tolist() == [1, NO_LABEL, NO_LABEL, 0, NO_LABEL]
    assert until_last_answered_round.rank.tolist() == [*range(5)]
    assert until_last_answered_round.outputs.prediction[:, 0].tolist() == [0, 1, 0, 1, 2]
    assert until_last_answered_round.slice.shape == (5, 1)
    late = label.copy()
    late[7] = 1
    assert len(history.with_labels(late).until_last_answered_round().rounds) == 4
    assert len(add(history.with_labels(label), 0).until_last_answered_round().rounds) == 5
    silent = history.until_last_answered_round()
    assert len(silent) == len(silent.rounds) == 0


SHARES = np.array([[1 / 3, 2 / 3, 0], [0, 0, 0], [0.5, 0, 0.5]])
LABEL = np.array([1, 2, 0])


def test_a_question_is_there_once_for_each_class_it_was_given() -> None:
    votes = Votes.of_labels(LABEL, SHARES)
    assert votes.row.tolist() == [0, 0, 1, 2, 2]
    assert votes.label.tolist() == [0, 1, 2, 0, 2]
    assert votes.spread(np.array([3.0, 5, 8])).tolist() == pytest.approx([1, 2, 5, 4, 4])
    values = np.array([[3.0, 0], [6, 3], [7, 7], [1, 0], [0, 1]])
    np.testing.assert_allclose(votes.mean(values), [[5, 2], [7, 7], [0.5, 0.5]])
    assert votes.mean(values[:, 0]).tolist() == pytest.approx([5, 7, 0.5])


@pytest.mark.parametrize("shares", [None, np.zeros((3, 3))])
def test_one_answer_each_is_the_labels(shares: np.ndarray | None) -> None:
    votes, values = Votes.of_labels(LABEL, shares), np.arange(3.0)
    assert (votes.row.tolist(), votes.label.tolist()) == ([0, 1, 2], LABEL.tolist())
    assert votes.mean(values) is values
    assert votes.spread(values) is values


# --- what votes as they are make of an estimate


def ask(
    pool: Pool, sampler: Sampler, chance: np.ndarray, votes: int, questions: int, seed: int
) -> tuple[History, np.ndarray]:
    """Draw one round and ask for several answers of each draw; also the positive ones of each."""
    rng = np.random.default_rng(seed)
    order = pool.order(seed)
    history = sampler.design(pool.table, pool.start(), questions, rng)
    positive = rng.binomial(votes, chance[pool.rows(history, order)])
    return answered(pool.answer(history, order), positive, votes), positive


def answered(history: History, positive: np.ndarray, votes: int) -> History:
    label = (2 * positive > votes).astype(np.int64)
    share = positive / votes
    differ = (share > 0) & (share < 1)
    shares = np.where(differ[:, None], np.stack([1 - share, share], axis=1), 0.0)
    return dataclasses.replace(history, label=label, shares=shares)


@pytest.fixture(scope="module")
def pool() -> Pool:
    return make_pool(300, 8, seed=5, positive=0.3)


@pytest.fixture(scope="module")
def chance(pool: Pool) -> np.ndarray:
    """Rows on which annotators nearly agree: votes on one say little more than the first."""
    return np.where(pool.label == 1, 0.9, 0.05)


def test_estimate_is_the_mean_over_draws_of_the_mean_over_their_votes(
    pool: Pool, chance: np.ndarray
) -> None:
    """Value and error by the formulas of Hansen and Hurwitz for clusters, written out here."""
    sampler = Importance(Accuracy(), "stochastic", delta=0.2)
    history, positive = ask(pool, sampler, chance, 3, 100, seed=1)
    (found,) = sampler.estimate(pool.table, history, [Accuracy()], 0.95)
    wrong = np.where(history.outputs.prediction[:, 0] == 1, 1 - positive / 3, positive / 3)
    drawn = history.rounds[0]
    weighted = wrong[drawn.question] / (300 * drawn.probability)
    assert found.value == pytest.approx(1 - weighted.mean())
    assert found.standard_error == pytest.approx(weighted.std(ddof=1) / np.sqrt(100))


@pytest.mark.parametrize("kind", [AdaptiveImportance, Oasis])
def test_adaptive_samplers_learn_from_each_vote(
    pool: Pool, chance: np.ndarray, kind: type[Sampler]
) -> None:
    """One vote of three for another class moves the next proposal, and by less than all three."""
    measure = Precision()
    sampler = kind(measure, "stochastic")
    history, _ = ask(pool, sampler, chance, 3, 40, seed=2)
    none = answered(history, np.zeros(40, dtype=np.int64), 3)
    positives = [np.where(history.outputs.prediction[:, 0] == 1, one, 0) for one in (1, 3)]
    proposals = [
        sampler.proposal(pool.table, one)
        for one in (none, *(answered(history, positive, 3) for positive in positives))
    ]
    start, some, every = (one.cell_probability for one in proposals if one is not None)
    assert 0 < np.abs(some - start).sum() < np.abs(every - start).sum()


def test_answers_of_each_class_are_counted_by_cell(pool: Pool, chance: np.ndarray) -> None:
    """Also by the bands of a report: by votes, not by majorities."""
    sampler = Importance(Accuracy(), "stochastic", delta=0.2)
    history, positive = ask(pool, sampler, chance, 3, 60, seed=4)
    seen = history.seen(len(pool.table), 2)
    by_hand = np.bincount(history.cell, positive / 3, len(pool.table))
    np.testing.assert_allclose(seen[:, 1], by_hand)
    np.testing.assert_allclose(seen.sum(axis=1), np.bincount(history.cell, minlength=len(seen)))
    bands = score_bands(pool.table, history, [1], 0.95, most=1)
    assert [(one.labelled, one.met) for one in bands] == [(60, round(positive.sum() / 3))]


def test_labels_that_are_set_stand_for_all_answers(pool: Pool, chance: np.ndarray) -> None:
    sampler = Importance(Accuracy(), "stochastic", delta=0.2)
    history, _ = ask(pool, sampler, chance, 3, 60, seed=3)
    split = int(np.flatnonzero(history.shares.any(axis=1))[0])
    label = history.label.copy()
    label[split] = 1 - label[split]
    moved = history.with_labels(label)
    assert moved.votes(np.array([split])).share.tolist() == [1.0]
    others = np.delete(np.arange(60), split)
    assert moved.votes(others).share.tolist() == history.votes(others).share.tolist()
    assert len(history.first(0).votes(np.arange(0)).row) == 0
    assert NO_LABEL not in history.label


@pytest.mark.parametrize(
    "sampler",
    [
        Passive(Accuracy(), "stochastic"),
        Importance(Accuracy(), "stochastic", delta=0.2),
        Poisson(Accuracy(), "stochastic"),
    ],
    ids=lambda one: one.name,
)
def test_a_mean_is_that_of_the_means_by_each_annotator(
    pool: Pool, chance: np.ndarray, sampler: Sampler
) -> None:
    """Every annotator answers all tasks; what is linear in labels is so in their votes."""
    rng = np.random.default_rng(8)
    order = pool.order(8)
    history = sampler.design(pool.table, pool.start(), 80, rng)
    rows = pool.rows(history, order)
    said = (rng.random((len(rows), 3)) < chance[rows, None]).astype(np.int64)
    history = pool.answer(history, order, said[:, 0])

    def accuracy(one: History) -> float:
        return float(sampler.value(pool.table, one, Accuracy(), 0.95)[0])

    alone = [accuracy(history.with_labels(votes)) for votes in said.T]
    assert len({*alone}) > 1
    assert accuracy(answered(history, said.sum(axis=1), 3)) == pytest.approx(np.mean(alone))


def test_no_answers() -> None:
    votes = Votes.of_labels(LABEL[:0], SHARES[:0])
    assert votes.mean(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.slow
@pytest.mark.parametrize("measure", [Accuracy(), Precision()], ids=lambda one: one.name)
def test_variance_is_that_of_many_samples_and_votes_of_a_row_are_not_independent(
    pool: Pool, chance: np.ndarray, measure: Measure
) -> None:
    """150 rounds of 150 draws with three votes: a variance is known to 12 %, allowed are 40 %.

    With each vote a draw of its own it would be half as large. Intervals of .95 hold the truth in
    all but a few: .95 less 3.5 standard errors is .89.
    """
    sampler = Importance(Accuracy(), "stochastic", delta=0.2)
    predicted = pool.outputs.prediction[:, 0]
    right = np.where(predicted == 1, chance, 1 - chance)
    truth = right.mean() if measure.name == "accuracy" else right[predicted == 1].mean()
    values, variances, held = [], [], 0
    for seed in range(150):
        history, _ = ask(pool, sampler, chance, 3, 150, seed=seed)
        (found,) = sampler.estimate(pool.table, history, [measure], 0.95)
        assert found.value is not None
        values.append(found.value)
        variances.append(found.standard_error**2)
        held += found.intervals[0].low <= truth <= found.intervals[0].high
    assert held / 150 > 0.89
    assert np.mean(values) == pytest.approx(truth, abs=4 * np.std(values) / np.sqrt(150))
    assert np.mean(variances) == pytest.approx(np.var(values), rel=0.4)
