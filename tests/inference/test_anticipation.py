"""The standard error to expect, beside that of the draws themselves."""

import numpy as np
import pytest
from scipy import optimize, special

from evalsampling.inference.anticipation import anticipated_error, calibrated_prior
from evalsampling.measures import Accuracy, FBeta, Measure, Precision, Recall
from evalsampling.measures.curves import PRCurve
from evalsampling.samplers import AdaptiveImportance, Importance, Oasis, Passive
from tests.samplers.pools import Pool, make_pool
from tests.slow import fast


def test_calibrated_prior_is_the_mode_of_the_regression() -> None:
    """A general optimizer finds the same, within its tolerance."""
    pool = make_pool(400, 10, seed=2, positive=0.2)
    rng = np.random.default_rng(3)
    drawn = rng.choice(400, 90, replace=False)
    found = calibrated_prior(pool.table, pool.seen(drawn))
    chance = []
    for code in (0, 1):
        x = special.logit(pool.table.prior[:, code])
        predicted = pool.table.kinds.prediction[:, 0] == code
        design = np.stack([np.ones(len(x)), x, predicted], axis=1)
        y = pool.label[drawn] == code

        def loss(coefficient: np.ndarray, design: np.ndarray = design, y: np.ndarray = y) -> float:
            eta = design[pool.cell[drawn]] @ coefficient
            deviation = (coefficient - [0, 1, 0]) / [5, 1, 2]
            return float(np.sum(np.logaddexp(0, eta) - y * eta) + deviation @ deviation / 2)

        mode = optimize.minimize(loss, [0, 1, 0], tol=1e-10).x
        chance.append(special.expit(design @ mode))
    np.testing.assert_allclose(found[:, 1], chance[1] / (chance[0] + chance[1]), rtol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_without_labels_the_prior_stays() -> None:
    pool = make_pool(400, 10, seed=2, positive=0.2)
    nothing = pool.seen(np.zeros(0, dtype=np.int64))
    np.testing.assert_allclose(calibrated_prior(pool.table, nothing), pool.table.prior)


@pytest.mark.parametrize("classes", [2, 4])
def test_labels_correct_a_prior_that_is_far_off(classes: int) -> None:
    """All rows labelled: in sum each class has its rows, to a tenth; the prior is a fifth off."""
    pool = make_pool(3000, 20, seed=5, classes=classes, positive=0.2)
    wrong = pool.probability ** np.linspace(0.2, 1, classes)
    wrong /= wrong.sum(axis=1, keepdims=True)
    pool = Pool(pool.leaf, pool.prediction, wrong, pool.label)
    truth = np.bincount(pool.label, minlength=classes)
    assert abs(pool.table.count @ pool.table.prior / truth - 1).max() > 0.2
    found = calibrated_prior(pool.table, pool.seen(np.arange(len(pool))))
    np.testing.assert_allclose(pool.table.count @ found, truth, rtol=0.1)


@pytest.mark.parametrize("measure", [FBeta(), Recall(), Accuracy()], ids=lambda m: m.name)
def test_anticipated_error_is_that_of_draws_from_the_prior(measure: Measure) -> None:
    """Row by row, for labels of the prior: sqrt of sum_x p^2 sum_y pi (Dg l)^2 / q over N."""
    pool = make_pool(200, 5, seed=1, positive=0.3)
    table, risk = pool.table, pool.risk(measure)
    chance = np.random.default_rng(2).random(len(table)) / 200
    prior = table.prior
    found = anticipated_error(measure, table, risk, chance, prior, table.count, 50)
    total = 0.0
    for y in (0, 1):
        losses = measure.loss(pool.outputs, np.full(200, y))
        influence = losses @ measure.jacobian(risk)[0]
        total += np.sum(prior[pool.cell, y] * influence**2 / (200**2 * chance[pool.cell]))
    np.testing.assert_allclose(found, [np.sqrt(total / 50)], rtol=1e-12)


def hiding(seed: int) -> Pool:
    """Among 59,840 rows of a score that says .0005, which is right, 30 positives; 90 elsewhere."""
    rng = np.random.default_rng(seed)
    rows = 60_000
    prediction = np.zeros(rows, dtype=np.int64)
    prediction[:80] = 1
    label = np.zeros(rows, dtype=np.int64)
    label[:60] = 1
    label[80:110] = 1
    label[110 + rng.choice(rows - 110, 30, replace=False)] = 1
    leaf = np.where(np.arange(rows) < 80, 2, np.where(np.arange(rows) < 160, 1, 0))
    chance = np.array([0.0005, 0.38, 0.75])[leaf]
    return Pool(leaf, prediction, np.stack([1 - chance, chance], axis=1), label)


def test_positives_that_are_hardly_looked_for_are_warned_of() -> None:
    """60 runs of static sampling, which meets none of them in most: a quarter or more miss.

    Three in four of the runs that miss the truth claim nothing or carry the warning.
    """
    pool = hiding(1)
    sampler = Importance(FBeta())
    missed = warned = 0
    for seed in range(60):
        history, _ = pool.run(sampler, 2, 60, seed)
        (found,) = sampler.estimate(pool.table, history, [FBeta()], 0.95)
        interval = found.intervals[0]
        if not interval.low <= pool.value(FBeta()) <= interval.high:
            missed += 1
            warned += not found.reliable
    assert missed >= 15
    assert warned >= 0.75 * missed


def test_points_of_a_curve_are_warned_of_too() -> None:
    """Static sampling for F1, in 20 runs: where recall is doubted, so is that of the curve.

    All 40 thresholds are where the predictions change.
    """
    pool, curve = hiding(1), PRCurve(tuple(np.linspace(1.1, 1.9, 40)))
    sampler, doubted = Importance(FBeta()), 0
    for seed in range(20):
        history, _ = pool.run(sampler, 2, 60, seed)
        recall, *points = sampler.estimate(pool.table, history, [Recall(), curve], 0.95)
        if recall.claims and not recall.reliable:
            doubted += 1
            recalls = [one for one in points if one.measure.endswith("recall")]
            assert len(recalls) == 40
            assert not any(one.reliable for one in recalls)
    assert doubted >= 3


@pytest.mark.parametrize("measure", [FBeta(), Recall(), Accuracy()], ids=lambda m: m.name)
def test_draws_for_precision_do_not_mislead_about_what_they_leave_out(measure: Measure) -> None:
    """30 runs of OASIS driven by precision, most of whose rows are never drawn elsewhere.

    At most three intervals miss the truth without a word; of F1's, before, nearly all did.
    """
    pool = make_pool(6000, 20, seed=3, positive=0.02, strength=3)
    sampler = Oasis(Precision())
    silent = 0
    for seed in range(30):
        history, _ = pool.run(sampler, 3, 40, seed)
        (found,) = sampler.estimate(pool.table, history, [measure], 0.95)
        interval = found.intervals[0]
        silent += found.reliable and not interval.low <= pool.value(measure) <= interval.high
    assert silent <= 3


def test_rows_of_a_finished_measure_still_tell_what_to_expect() -> None:
    """Every predicted positive has a label, so precision is exact; recall hangs on the rest."""
    pool = hiding(1)
    sampler = Oasis(Precision())
    history, _ = pool.run(sampler, 8, 12, seed=1)
    assert (pool.prediction == 1).sum() == 80
    precision, recall = sampler.estimate(pool.table, history, [Precision(), Recall()], 0.95)
    assert precision.intervals[0].method == "census"
    assert not recall.reliable


@pytest.mark.slow
@pytest.mark.parametrize("kind", fast(1, [AdaptiveImportance, Passive, Importance]))
def test_there_is_no_warning_where_scores_are_right(
    kind: type[Passive | AdaptiveImportance | Importance],
) -> None:
    """30 runs of 150 labels: at most two with a doubt."""
    pool = make_pool(3000, 12, seed=6, positive=0.2)
    doubted = 0
    for seed in range(30):
        history, _ = pool.run(kind(FBeta()), 3, 50, seed)
        (found,) = kind(FBeta()).estimate(pool.table, history, [FBeta()], 0.95)
        doubted += found.claims and not found.reliable
    assert doubted <= 2
