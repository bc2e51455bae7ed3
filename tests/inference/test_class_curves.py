"""Curves of classes: whether there can be any, and which way they go."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import special

from evalsampling import Evaluation
from evalsampling.inference.calibration_curve import PREDICTION_SPREAD, CalibrationCurve
from evalsampling.inference.class_curves import (
    fit_curves,
    fit_either_way,
    labels_by_cell,
    likeliness,
    obstacle,
    pooled,
    unexplained_predictions,
)
from evalsampling.inference.curve_coordinates import STEPS
from evalsampling.inference.domains import Domain
from evalsampling.inference.predictive import LabelModel, likely_rates
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.slices import SliceCodes
from tests.samplers.pools import make_pool
from tests.stats.histories import labelled_at_random, labelled_rows

POOL = make_pool(300, 6, seed=3, positive=0.2)


def test_cells_keep_the_curve_of_a_prior() -> None:
    """It is the same object for other labels, and another one for another prior."""
    fits = [
        fit_curves(POOL.table, labelled_at_random(POOL, labels, seed=2), hidden)[1]
        for labels in (20, 40)
        for hidden in (HiddenPrior(), HiddenPrior(0.2))
    ]
    assert fits[0].curve is fits[2].curve
    assert fits[1].curve is fits[3].curve
    assert fits[0].curve.hidden.share != fits[1].curve.hidden.share


def test_curve_falls_where_labels_are_likelier_so() -> None:
    """Labels of the two ends alone tell; the draws are of the curve that they favour."""
    pool = make_pool(2000, 8, seed=7, positive=0.3, strength=4)
    upside_down = dataclasses.replace(pool, probability=pool.probability[:, ::-1])
    ends = [np.flatnonzero(pool.leaf == leaf)[:60] for leaf in (0, 7)]
    history = labelled_rows(upside_down, np.concatenate(ends))
    right, turned = (
        fit_curves(one.table, history, HiddenPrior())[1] for one in (pool, upside_down)
    )
    lowest = np.argmin(pool.table.leaf)
    assert right.curve.corner[lowest] == turned.curve.corner[lowest] == STEPS
    model = LabelModel.fit(upside_down.table, history, (1,))
    assert len(model.rates) == len(model.curves[0].z)
    assert model.contradiction is None
    hidden = model.everywhere.unlabelled[:, :, 1].sum(axis=1)
    low, high = np.quantile(hidden, [0.025, 0.975])
    assert low < np.sum(pool.label == 1) - 60 < high


@pytest.mark.parametrize("seed", range(2))
def test_curve_is_the_likelier_of_two(seed: int) -> None:
    """Of few labels that a prior turned round was given; both are fitted here by themselves."""
    pool = make_pool(2000, 8, seed=7, positive=0.3, strength=1)
    upside_down = dataclasses.replace(pool, probability=pool.probability[:, ::-1])
    table, history = upside_down.table, labelled_at_random(upside_down, 25, seed=seed)
    found = fit_curves(table, history, HiddenPrior())[1]
    seen = labels_by_cell(table, history, Domain())
    rank = likeliness(table, 1)
    evidence = []
    for x in (rank, -rank):
        predicted = table.count @ table.kinds.predicted(1)
        effect = PREDICTION_SPREAD * unexplained_predictions(table, 1, x)
        curve = CalibrationCurve.from_cells(x, table.count, predicted, effect)
        evidence.append(curve.fit(seen.sum(axis=1), seen[:, 1]).log_evidence)
    assert found.log_evidence == pytest.approx(max(evidence))


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
    curve = fit_curves(evaluation.analysis.table, evaluation.history, HiddenPrior())[1].curve
    highest = np.argmax(evaluation.analysis.table.prior[:, 1])
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
        assert "same in all leaves" in reason
    with pytest.raises(ValueError, match="same in all leaves"):
        LabelModel.fit(flat.table, labelled_at_random(flat, 5, seed=1), (1,))
    assert obstacle(POOL.table) is None
    one_leaf = dataclasses.replace(flat, leaf=np.zeros(300, dtype=np.int64))
    assert obstacle(one_leaf.table) is None


def test_many_classes_have_no_model() -> None:
    pool = make_pool(300, 4, seed=1, classes=11, positive=0.9)
    assert "11 classes" in str(obstacle(pool.table))


def test_curves_of_several_classes_may_jump_where_a_class_is_predicted() -> None:
    """Rows next in rank, of which another class is likeliest, took .05 off the mean precision."""
    errors = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        prior = special.softmax(-0.3 * np.arange(10))
        label = rng.choice(10, 8000, p=prior)
        evidence = 3 * np.eye(10)[label] + rng.normal(size=(8000, 10))
        probability = special.softmax(np.log(prior) + evidence, axis=1)
        predicted = probability.argmax(axis=1)
        evaluation = Evaluation.from_arrays(
            None,
            predicted,
            probability=probability,
            labels={"classes": list(range(10))},
            measure="accuracy",
            seed=seed,
        )
        for _ in range(2):
            rows = evaluation.sample(300)
            evaluation.label(rows, label[rows])
        table = evaluation.analysis.table
        rates = likely_rates(table, evaluation.analysis.history)
        for y in range(10):
            expected = np.average(rates[:, y], weights=table.count * table.kinds.predicted(y))
            errors.append(expected - np.mean(label[predicted == y] == y))
    assert abs(np.mean(errors)) < 0.02


def test_labels_calibrate_probabilities_of_several_classes() -> None:
    """Many labels find the weights and the slope of which they are; none leave the order alone."""
    rng = np.random.default_rng(5)
    prior = special.softmax(rng.normal(0, 2, (400, 4)), axis=1)
    true = special.softmax(1.3 * np.log(prior) + [1.5, 0.5, 0, -1], axis=1)
    many = np.rint(1e6 * true).astype(np.int64)
    none = np.zeros((400, 4), dtype=np.int64)
    assert pooled([prior], many) == pytest.approx(true, abs=1e-4)
    assert pooled([prior], none) == pytest.approx(prior)
    other = special.softmax(rng.normal(0, 2, (400, 4)), axis=1)
    both = special.softmax(0.9 * np.log(prior) + 0.3 * np.log(other) + [0.7, 0, 0, 0], axis=1)
    many = np.rint(1e6 * both).astype(np.int64)
    assert pooled([prior, other], many) == pytest.approx(both, abs=1e-4)
    even = special.softmax((np.log(prior) + np.log(other)) / 2, axis=1)
    assert pooled([prior, other], none) == pytest.approx(even)


def test_labels_say_which_system_knows_the_classes() -> None:
    """With the greatest rank by any system the accuracies of two were off by .03 once."""
    names, errors = ["a", "b", "c", "d"], []
    mean = 2.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    for seed in range(6):
        rng = np.random.default_rng(seed)
        true = rng.choice(4, 4000, p=[0.6, 0.28, 0.09, 0.03])
        seen = rng.normal(size=(4000, 2)) + mean[true]
        frame: dict[str, Any] = {}
        systems = {
            system: {
                "prediction": system,
                "probability": {name: f"{system}_{name}" for name in names},
            }
            for system in ("good", "poor")
        }
        for system, noise in (("good", 0.0), ("poor", 1.5)):
            noisy = seen + noise * rng.normal(size=seen.shape)
            level = -((noisy[:, None] - mean) ** 2).sum(axis=2) / 2 / (1 + noise**2)
            chance = special.softmax(level, axis=1)
            frame |= {f"{system}_{name}": chance[:, y] for y, name in enumerate(names)}
            frame[system] = np.array(names)[chance.argmax(axis=1)]
        evaluation = Evaluation.from_frame(
            frame,
            labels={"classes": names},
            systems=systems,
            measure=[{"difference": "accuracy"}],
            seed=1,
        )
        for _ in range(2):
            rows = np.asarray(evaluation.sample(200))
            evaluation.label(rows, np.array(names)[true[rows]])
        table = evaluation.analysis.table
        rates = likely_rates(table, evaluation.analysis.history)
        for s, system in enumerate(systems):
            right = sum((table.count * table.kinds.predicted(y, s)) @ rates[:, y] for y in range(4))
            truth = np.mean(frame[system] == np.array(names)[true])
            errors.append(right / table.rows - truth)
    assert np.sqrt(np.mean(np.square(errors))) < 0.02


def test_labels_of_a_row_may_have_other_odds_than_their_probabilities() -> None:
    """A tagger was trained on balanced data: precision of its first label was .04 too low once."""
    names, errors = ("a", "b"), []
    columns = [f"{of}_{name}" for of in ("chance", "says") for name in names]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        latent = 0.6 * rng.normal(size=(6000, 1)) + 0.8 * rng.normal(size=(6000, 2))
        true = latent > -special.ndtri([0.3, 0.05])
        chance = special.expit(2 * rng.normal(size=true.shape) + 4 * true - 2)
        values = np.concatenate([chance, chance > 0.5], axis=1).T
        evaluation = Evaluation.from_frame(
            dict(zip(columns, values, strict=True)),
            labels={"multilabel": list(names)},
            prediction=dict(zip(names, columns[2:], strict=True)),
            probability=dict(zip(names, columns[:2], strict=True)),
            measure={"f1": {"average": "macro"}},
            seed=seed,
        )
        for _ in range(2):
            rows = evaluation.sample(150)
            evaluation.label(rows, [[names[k] for k in np.flatnonzero(true[row])] for row in rows])
        table = evaluation.analysis.table
        rates = likely_rates(table, evaluation.analysis.history)
        predicted = table.kinds.by_cell(np.isin(table.kinds.prediction[:, 0], [1, 3]) * 1.0)
        expected = np.average(rates[:, [1, 3]].sum(axis=1), weights=table.count * predicted)
        errors.append(expected - true[chance[:, 0] > 0.5, 0].mean())
    assert abs(np.mean(errors)) < 0.02


def test_what_else_cuts_cells_is_learned() -> None:
    """Rows that cost or count more, or are in a slice, are positive five times as often."""
    pool = make_pool(6000, 12, seed=3, positive=0.1)
    some = (np.arange(len(pool.table)) % 2)[pool.table.kinds.cell]
    positive = np.where(np.arange(len(pool.table)) % 2, 10, 2)
    seen = np.stack([20 - positive, positive], axis=1)
    rest = {"cost": 1.0 + 8 * some}, {"weight": 1.0 + 8 * some}, {}
    for sizes in rest:
        slices = None if sizes else SliceCodes({"s": ("a",)}, some[:, None])
        kinds = dataclasses.replace(pool.table.kinds, magnitudes=sizes, slices=slices)
        table = dataclasses.replace(pool.table, kinds=kinds)
        fit = fit_either_way(table, 1, seen, HiddenPrior())
        rate = fit.at_mode.rates()[0]
        dear = np.arange(len(table)) % 2 == 1
        assert rate[dear].mean() > 2 * rate[~dear].mean()
