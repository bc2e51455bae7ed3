"""What all samplers with replacement share."""

import dataclasses

import numpy as np
import pytest

from evalsampling import samplers
from evalsampling.measures import Accuracy, FBeta, Precision, Recall
from evalsampling.samplers import AdaptiveImportance, Importance, Passive
from evalsampling.stats.draws import DRAWS_PER_NEW_ROW
from evalsampling.stats.history import NO_LABEL, History
from tests.samplers.pools import make_pool

ALL = [*samplers.BY_NAME.values()]


@pytest.mark.parametrize("kind", ALL)
def test_name_is_that_of_the_spec(kind: type) -> None:
    assert samplers.BY_NAME[kind(FBeta()).name] is kind


@pytest.mark.parametrize("kind", ALL)
def test_round_meets_the_new_rows_wanted(kind: type) -> None:
    pool = make_pool(1000, 8, seed=1)
    history, _ = pool.run(kind(FBeta()), rounds=3, new_rows=25, seed=1)
    assert [int(r.new.sum()) for r in history.rounds] == [25, 25, 25]
    assert all(r.new[-1] for r in history.rounds)


@pytest.mark.parametrize("kind", ALL)
def test_round_has_the_draws_fixed(kind: type) -> None:
    pool = make_pool(100, 4, seed=1, positive=0.3)
    history, _ = pool.run(kind(FBeta(), draws=40), rounds=3, new_rows=40, seed=1)
    assert [len(r.row) for r in history.rounds] == [40, 40, 40]


def test_round_gives_up_when_nothing_new_is_met() -> None:
    pool = make_pool(20, 4, seed=1, positive=0.3)
    sampler = Passive(FBeta())
    history, order = pool.run(sampler, rounds=1, new_rows=20, seed=1)
    assert sampler.exhausted(pool.table, history)
    history = pool.answer(sampler.design(pool.table, history, 3, np.random.default_rng(0)), order)
    assert len(history.rounds[-1].row) == 3 * DRAWS_PER_NEW_ROW


@pytest.mark.parametrize("draws", [0, -1, 2.5, True])
def test_number_of_draws_is_checked(draws: float) -> None:
    with pytest.raises(ValueError, match="draws must be"):
        Passive(FBeta(), draws=draws)  # type: ignore[arg-type]


def test_exhausted_counts_the_rows_within_reach() -> None:
    """Precision is about rows predicted positive; accuracy about all."""
    pool = make_pool(60, 4, seed=2, positive=0.3)
    within = np.flatnonzero(pool.prediction == 1)
    for kind in (Importance, AdaptiveImportance):
        sampler = kind(Precision())
        history, order = pool.run(sampler, rounds=1, new_rows=len(within) - 1, seed=3)
        assert not sampler.exhausted(pool.table, history)
        history = pool.answer(
            sampler.design(pool.table, history, 1, np.random.default_rng(0)), order
        )
        assert sorted(pool.rows(history, order)) == within.tolist()
        assert sampler.exhausted(pool.table, history)
        assert not kind(Accuracy()).exhausted(pool.table, history)
        assert not Passive(Precision()).exhausted(pool.table, history)


def test_evidence_counts_rows_not_draws() -> None:
    """A pool of nine positives: however often they are drawn, F1 keeps its whole range."""
    pool = make_pool(400, 4, seed=5, positive=0.05)
    label = pool.label.copy()
    label[np.flatnonzero(label)[9:]] = 0
    assert label.sum() == 9
    pool = dataclasses.replace(pool, label=label)
    sampler = Passive(FBeta(), draws=1200)
    history, _ = pool.run(sampler, rounds=1, new_rows=1200, seed=1)
    positive = history.label[history.row] == 1
    assert positive.sum() > 15
    (found,) = sampler.estimate(pool.table, history, [FBeta()], 0.95)
    assert (found.intervals[0].low, found.intervals[0].high) == (0, 1)
    assert f"only {int((history.label == 1).sum())} positives" in found.warnings[0]


def test_estimate_before_any_round() -> None:
    pool = make_pool(50, 4, seed=1, positive=0.3)
    for kind in ALL:
        found = kind(FBeta()).estimate(pool.table, History(), [FBeta(), Recall()], 0.95)
        assert [f.reason for f in found] == ["no labels yet"] * 2


def test_unsupported_measure_is_none_beside_supported_ones() -> None:
    pool = make_pool(200, 4, seed=1, positive=0.3)
    sampler = AdaptiveImportance(Precision())
    history, _ = pool.run(sampler, rounds=1, new_rows=30, seed=1)
    precision, recall = sampler.estimate(pool.table, history, [Precision(), Recall()], 0.95)
    assert precision.value is not None
    assert recall.value is None
    assert "recall cannot be estimated from rows drawn for precision" in str(recall.reason)


@pytest.mark.parametrize("kind", [Importance, AdaptiveImportance])
def test_labels_missing_at_random_leave_accuracy_where_it_is(kind: type) -> None:
    """Three rounds of 60 draws, four in ten labels missing, 300 repeats.

    The mean stays within 3.5 of its standard errors (a chance of 1 in 2,000) and 2 % for the
    bias, of relative order 1/60, of dividing by the number of labels that came.
    """
    pool = make_pool(400, 8, seed=3, positive=0.3)
    truth, values = pool.value(Accuracy()), []
    for seed in range(300):
        rng, order = np.random.default_rng([9, seed]), pool.order(seed)
        sampler, history = kind(Accuracy(), draws=60), History()
        for _ in range(3):
            before = len(history.cell)
            silent = history.label == NO_LABEL
            history = pool.answer(sampler.design(pool.table, history, 60, rng), order)
            missing = rng.random(len(history.cell)) < 0.4
            missing[:before] = silent
            history = history.with_labels(np.where(missing, NO_LABEL, history.label))
        (found,) = sampler.estimate(pool.table, history, [Accuracy()], 0.95)
        values.append(found.value)
    error = np.std(values, ddof=1) / np.sqrt(300)
    assert error < 0.01
    assert abs(np.mean(values) - truth) < 3.5 * error + 0.02 * (1 - truth)


@pytest.mark.parametrize("kind", [Importance, AdaptiveImportance])
def test_round_without_any_label_leaves_f1_where_it_is(kind: type) -> None:
    """A silent round of 60, four answered ones, 100 repeats.

    The mean stays within 4 of its standard errors; the ratio's own bias, about 0.005 when all
    rounds have labels, is below one more.
    """
    pool = make_pool(4000, 32, seed=11, positive=0.001, strength=3)
    values = []
    for seed in range(100):
        rng, order = np.random.default_rng([5, seed]), pool.order(seed)
        sampler, history = kind(FBeta()), History()
        for _ in range(5):
            history = pool.answer(sampler.design(pool.table, history, 60, rng), order)
            silent = np.arange(len(history.cell)) < 60
            history = history.with_labels(np.where(silent, NO_LABEL, history.label))
        (found,) = sampler.estimate(pool.table, history, [FBeta()], 0.95)
        values.append(found.value)
    error = np.std(values, ddof=1) / 10
    assert abs(np.mean(values) - pool.value(FBeta())) < 5 * error
