"""Curves of classes: whether there can be any, and which way they go."""

import dataclasses

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.inference.class_curves import fit_curves, obstacle
from evalsampling.inference.predictive import LabelModel
from evalsampling.spec.hidden import HiddenPrior
from tests.samplers.pools import make_pool
from tests.stats.histories import labelled_at_random, labelled_rows

POOL = make_pool(300, 6, seed=3, positive=0.2)


def test_falling_prior_is_found() -> None:
    """The prior says the opposite of the labels: the rates follow the labels."""
    pool = make_pool(2000, 8, seed=7, positive=0.1, strength=4)
    upside_down = dataclasses.replace(pool, probability=pool.probability[:, ::-1])
    model = LabelModel.fit(upside_down.table, labelled_at_random(upside_down, 300, seed=9), (1,))
    rates = model.rates[:, :, 1].mean(axis=0)
    top = pool.table.leaf == 7
    assert rates[top].mean() > 5 * rates[pool.table.leaf == 0].mean()
    few = LabelModel.fit(upside_down.table, labelled_at_random(upside_down, 2, seed=9), (1,))
    assert few.curves[0].curve.group[0] != few.curves[0].curve.group[-1]


def test_cells_keep_the_curve_of_a_prior() -> None:
    """It is the same object for other labels, and another one for another prior."""
    fits = [
        fit_curves(POOL.table, labelled_at_random(POOL, labels, seed=2), hidden).curves[1]
        for labels in (20, 40)
        for hidden in (HiddenPrior(), HiddenPrior(0.2))
    ]
    assert fits[0].curve is fits[2].curve
    assert fits[1].curve is fits[3].curve
    assert fits[0].curve.hidden.share != fits[1].curve.hidden.share


def test_direction_that_few_bands_show_stays_open() -> None:
    """Positives were met in the lowest leaf alone, negatives in the highest, nothing between.

    Rates are those of the rising curve in half of the draws, and those of the falling one in the
    other half.
    """
    pool = make_pool(2000, 8, seed=7, positive=0.3, strength=4)
    upside_down = dataclasses.replace(pool, probability=pool.probability[:, ::-1])
    ends = [np.flatnonzero(pool.leaf == leaf)[:60] for leaf in (0, 7)]
    history = labelled_rows(upside_down, np.concatenate(ends))
    assert fit_curves(pool.table, history, HiddenPrior()).turned is None, "the prior is right"
    found = fit_curves(upside_down.table, history, HiddenPrior())
    assert found.turned is not None
    assert found.turned[1].log_evidence > found.curves[1].log_evidence + np.log(20)
    assert found.chance == 0.5
    model = LabelModel.fit(upside_down.table, history, (1,))
    assert model.turned is not None
    assert model.turned.turned is None
    draws = len(model.curves[0].z)
    between = upside_down.table.leaf == 6
    assert model.rates[:draws, between, 1].mean() > 0.9, "as all predicted rows"
    assert model.rates[draws:, between, 1].mean() < 0.6
    mode = found.curves[1].at_mode.rates()[0]
    assert np.array_equal(model.likely_rates[:, 1], mode), "the estimate goes by the rising curve"
    weights = model.weights(0.2)
    assert weights[:draws].sum() == pytest.approx(weights[draws:].sum())
    hidden = model.everywhere.unlabelled[:, :, 1].sum(axis=1)
    low, high = np.quantile(hidden, [0.025, 0.975])
    assert low < np.sum(pool.label == 1) - 60 < high


def test_curve_that_labels_contradict_is_not_saved_by_its_reverse() -> None:
    """Each direction's draws are checked alone: half of all draws would pass."""
    pool = make_pool(2000, 8, seed=7, positive=0.3, strength=4)
    upside_down = dataclasses.replace(pool, probability=pool.probability[:, ::-1])
    ends = [np.flatnonzero(pool.leaf == leaf)[:60] for leaf in (0, 7)]
    model = LabelModel.fit(
        upside_down.table, labelled_rows(upside_down, np.concatenate(ends)), (1,)
    )
    assert model.contradiction is None
    assert model.turned is not None
    opposite = dataclasses.replace(upside_down, label=1 - pool.label)
    wrong = LabelModel.fit(opposite.table, labelled_at_random(opposite, 300, seed=9), (1,))
    assert dataclasses.replace(model, curves=wrong.curves, modes=wrong.modes).contradiction


@pytest.mark.parametrize("spam", [20, 60])
def test_spam_at_the_top_does_not_turn_the_scores_round(spam: int) -> None:
    """Negatives above all positives, which are well apart from 60,000 others."""
    rng = np.random.default_rng(spam)
    score = np.concatenate(
        [9 + rng.random(spam), rng.normal(2.5, 1.2, 150), rng.normal(-5, 1.2, 60_000 - 150 - spam)]
    )
    match = (np.arange(60_000) >= spam) & (np.arange(60_000) < spam + 150)
    evaluation = Evaluation.from_frame(
        {"score": score, "says": score > 1}, score="score", prediction="says", seed=3
    )
    for size in (50, 65, 85, 100, 100):
        ids = evaluation.sample(size)
        evaluation.label(ids, match[ids])
    curve = fit_curves(evaluation.table, evaluation.history, HiddenPrior()).curves[1].curve
    highest = np.argmax(evaluation.table.prior[:, 1])
    assert curve.corner[highest] == 0
    (one,) = evaluation.estimate()
    truth = 2 * np.sum(match & (score > 1)) / (np.sum(match) + np.sum(score > 1))
    assert one.low <= truth <= one.high
    assert one.value == pytest.approx(truth, abs=0.08)


def test_prior_that_is_the_same_everywhere_orders_nothing() -> None:
    """Leaves without rows, and rounding, do not make it another."""
    flat = dataclasses.replace(POOL, probability=np.full((300, 2), 0.5))
    apart = dataclasses.replace(flat, leaf=2 * flat.leaf, leaves=16)
    rng = np.random.default_rng(1)
    rounded = dataclasses.replace(flat, probability=0.5 + rng.normal(0, 1e-16, (300, 2)))
    for pool in (flat, apart, rounded):
        reason = obstacle(pool.table)
        assert reason is not None
        assert "same in all leaves" in reason
    with pytest.raises(ValueError, match="same in all leaves"):
        LabelModel.fit(flat.table, labelled_at_random(flat, 5, seed=1), (1,))
    assert obstacle(POOL.table) is None
    one_leaf = dataclasses.replace(flat, leaf=np.zeros(300, dtype=np.int64))
    assert obstacle(one_leaf.table) is None


def test_many_classes_have_no_model() -> None:
    pool = make_pool(300, 4, seed=1, classes=11, positive=0.9)
    assert "11 classes" in str(obstacle(pool.table))
