"""Static importance sampling against its formula row by row, and its error against simulation."""

import dataclasses

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.inference.score_calibration import recalibrated
from evalsampling.measures import Accuracy, FBeta, Joint, Measure, Precision, Prevalence, Recall
from evalsampling.samplers import Given, Importance, Passive
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from tests.samplers.pools import (
    Lopsided,
    Pool,
    leaf_means,
    make_pool,
    one_two_three,
    optimal_proposal,
    with_second_system,
)

SYSTEMS = Joint((FBeta(), FBeta(system=1)))
MEASURES = [FBeta(), Precision(), Recall(), Accuracy(), Joint((FBeta(), Accuracy())), SYSTEMS]


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_proposal_follows_the_formula(measure: Measure, classes: int, oracle: str) -> None:
    """Of the F1s of two systems q follows the size of both errors together."""
    pool = with_second_system(make_pool(300, 8, seed=4, classes=classes), seed=1)
    proposal = Importance(measure, oracle).proposal(pool.table, pool.start())
    q = pool.row_probability(proposal, pool.start(), pool.order(0))
    assert q.sum() == pytest.approx(1, abs=1e-12)
    prior = leaf_means(pool)[pool.leaf].tolist()
    expected = optimal_proposal(pool, measure, 1e-9, prior, oracle == "stochastic")
    # Probabilities in the table are rounded to 2^-33, which loses some of 1e-9 relative.
    np.testing.assert_allclose(q, expected, rtol=1e-7)
    assert q.max() > 2 * q.min()


def test_loss_that_hardly_matters_weighs_the_floor() -> None:
    pool = make_pool(300, 8, seed=4)
    q = Importance(Lopsided()).proposal(pool.table, pool.start()).cell_probability
    prior = leaf_means(pool)[pool.table.leaf]
    predicted = pool.table.kinds.prediction[:, 0] == 1
    weight = np.where(predicted, prior[:, 0], 1e-9 * prior[:, 1])
    np.testing.assert_allclose(q, weight / (pool.table.count @ weight), rtol=1e-6)


def test_labels_do_not_change_the_proposal() -> None:
    pool = make_pool(300, 8, seed=4)
    sampler = Importance(FBeta())
    history, _ = pool.run(sampler, rounds=2, new_rows=40, seed=1)
    before = sampler.proposal(pool.table, pool.start()).cell_probability
    np.testing.assert_array_equal(sampler.proposal(pool.table, history).cell_probability, before)


@pytest.mark.slow
def test_error_of_f1_is_the_one_reported() -> None:
    """400 repeats of 400 draws.

    The standard deviation of 400 estimates is known to 1 / sqrt(800) = 3.5 %; the delta method
    leaves out terms of relative order 1 / draws and the tails of ratios, a few per cent more.
    """
    pool = make_pool(3000, 16, seed=5, positive=0.1)
    sampler, truth = Importance(FBeta(), draws=400), pool.value(FBeta())
    values, errors, covered = [], [], 0
    for seed in range(400):
        history, _ = pool.run(sampler, rounds=1, new_rows=400, seed=seed)
        (estimate,) = sampler.estimate(pool.table, history, [FBeta()], 0.95)
        values.append(estimate.value)
        errors.append(estimate.standard_error)
        covered += estimate.intervals[0].low <= truth <= estimate.intervals[0].high
    deviation, reported = np.std(values, ddof=1), np.sqrt(np.mean(np.square(errors)))
    assert reported == pytest.approx(deviation, rel=0.15)
    assert np.mean(values) == pytest.approx(truth, abs=4 * deviation / 20 + 0.2 * deviation)
    # Nominal .95; 400 repeats know a coverage to .011, Korn-Graubard is conservative.
    assert 0.91 < covered / 400 <= 1


def test_it_beats_passive_sampling_of_rare_positives() -> None:
    """Closed form, no draws: the variance of w (l1 - F l2) under the proposals.

    The least that any proposal can reach is (mean |l1 - F l2|)^2.
    """
    pool = make_pool(3000, 16, seed=6, positive=0.02)
    proposal = Importance(FBeta()).proposal(pool.table, pool.start())
    q = pool.row_probability(proposal, pool.start(), pool.order(0))
    losses = FBeta().loss(pool.outputs, pool.label)
    residual = losses[:, 0] - pool.value(FBeta()) * losses[:, 1]
    rows = len(pool)
    importance = np.sum(np.divide(residual**2, q, out=np.zeros(rows), where=q > 0)) / rows**2
    passive = np.mean(residual**2)
    assert np.mean(np.abs(residual)) ** 2 < importance < passive / 2


@pytest.mark.parametrize("measure", [FBeta(), Recall(), Accuracy()], ids=["f1", "recall", "acc"])
def test_rows_of_a_certain_prior_keep_a_chance(measure: Measure) -> None:
    """A score of exactly 0 or 1 (or far out before expit) does not prove what a row is."""
    leaf, prediction = np.repeat([0, 1, 2], 10), np.repeat([0, 1, 1], 10)
    positive = np.repeat([0.0, 0.7, 1.0], 10)
    probability = np.stack([1 - positive, positive], axis=1)
    pool = Pool(leaf, prediction, probability, np.repeat([0, 1, 0, 1, 0], [9, 3, 7, 9, 2]))
    sampler = Importance(measure)
    proposal = sampler.proposal(pool.table, pool.start())
    q = pool.row_probability(proposal, pool.start(), pool.order(0))
    prior = np.maximum(leaf_means(pool), 1e-9)[leaf].tolist()
    expected = optimal_proposal(pool, measure, 1e-9, prior)
    np.testing.assert_allclose(q, expected, rtol=1e-6)
    adds = np.any(measure.loss(pool.outputs, pool.label) != 0, axis=1)
    assert sampler.can_estimate(pool.table, measure)
    assert np.all(q[adds] > 0)


@pytest.mark.parametrize("calibration", ["logistic", "isotonic"])
def test_calibrated_scores_are_taken_at_their_word(calibration: str) -> None:
    """The next round is that of a pool whose prior is the calibrated one."""
    pool = make_pool(600, 12, seed=6, positive=0.3)
    sampler = Importance(FBeta(), calibration=calibration)
    history, _ = pool.run(sampler, 2, 40, seed=1)
    q = sampler.proposal(pool.table, history).cell_probability
    prior = recalibrated(pool.table, history, calibration)
    again = dataclasses.replace(pool.table, prior=prior)
    np.testing.assert_array_equal(q, Importance(FBeta()).proposal(again, history).cell_probability)
    plain = Importance(FBeta()).proposal(pool.table, history).cell_probability
    assert np.abs(q / plain - 1).max() > 0.05
    with pytest.raises(ValueError, match="calibration must be logistic, isotonic or module:object"):
        Importance(FBeta(), calibration="beta")


PLAIN = [FBeta(), Precision(), Recall(), Accuracy()]


def test_every_row_has_the_same_chance() -> None:
    pool = make_pool(500, 8, seed=1)
    proposal = Passive(FBeta()).proposal(pool.table, pool.start())
    assert np.all(proposal.cell_probability == 1 / 500)
    assert len(proposal.atom) == len(proposal.atom_probability) == 0


def test_estimates_are_the_proportions_of_the_draws() -> None:
    """Repeats included: three rounds of a small pool meet many rows twice."""
    pool = make_pool(150, 4, seed=2, positive=0.4)
    history, order = pool.run(Passive(FBeta(), draws=80), rounds=3, new_rows=80, seed=3)
    rows = pool.rows(history, order)[history.question]
    assert len(rows) == 240
    assert len(set(rows.tolist())) < 150
    f, y = pool.prediction[rows], pool.label[rows]
    tp, fp, fn = int(np.sum(f * y)), int(np.sum(f * (1 - y))), int(np.sum((1 - f) * y))
    expected = {
        "f1": 2 * tp / (2 * tp + fp + fn),
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "accuracy": 1 - (fp + fn) / 240,
    }
    found = Passive(FBeta()).estimate(pool.table, history, PLAIN, 0.95)
    for estimate in found:
        assert estimate.value == pytest.approx(expected[estimate.measure], rel=1e-12)
    share = expected["accuracy"]
    error = np.sqrt(share * (1 - share) / 239)
    assert found[3].standard_error == pytest.approx(error, rel=1e-12)


POOL = make_pool(90, 5, seed=1, positive=0.3)


def predicted_only(table: CellTable, history: History) -> np.ndarray:
    return np.asarray(table.kinds.prediction[:, 0] == 1)


def more_where_labelled(table: CellTable, history: History) -> np.ndarray:
    """Weights that adapt."""
    return 1 + np.bincount(history.cell, minlength=len(table))


@pytest.mark.parametrize("weights", [one_two_three, predicted_only, more_where_labelled])
def test_rows_are_drawn_in_proportion_to_the_weights(weights: object) -> None:
    sampler = Given(FBeta(), weights=weights)  # type: ignore[arg-type]
    history, order = POOL.run(sampler, 2, 10, seed=1)
    of_cell = np.asarray(weights(POOL.table, history), dtype=float)  # type: ignore[operator]
    of_row = of_cell[POOL.cell]
    q = POOL.row_probability(sampler.proposal(POOL.table, history), history, order)
    np.testing.assert_allclose(q, of_row / of_row.sum(), rtol=1e-12)


def test_support_is_what_the_weights_reach() -> None:
    some = Given(FBeta(), weights=predicted_only)
    np.testing.assert_array_equal(some.support(POOL.table), POOL.table.kinds.prediction[:, 0] == 1)
    assert some.can_estimate(POOL.table, Precision())
    for measure in (FBeta(), Recall(), Accuracy(), Prevalence()):
        assert not some.can_estimate(POOL.table, measure)
        assert Given(FBeta(), weights=one_two_three).can_estimate(POOL.table, measure)
    assert not some.covers_pool(POOL.table)
    assert Given(FBeta(), weights=one_two_three).covers_pool(POOL.table)
    history, _ = POOL.run(some, 1, 20, seed=1)
    precision, recall = some.estimate(POOL.table, history, [Precision(), Recall()], 0.95)
    assert precision.value is not None
    assert "no chance of being drawn" in str(recall.reason)


@pytest.mark.parametrize("weights", [None, 3.0, "uniform", np.ones(4)])
def test_weights_are_a_function(weights: object) -> None:
    with pytest.raises(ValueError, match="weights must be a function"):
        Given(FBeta(), weights=weights)  # type: ignore[arg-type]


BAD = {
    "negative": lambda t, h: -np.ones(len(t)),
    "one negative": lambda t, h: np.where(np.arange(len(t)) == 1, -1e-9, 1),
    "all zero": lambda t, h: np.zeros(len(t)),
    "not a number": lambda t, h: np.full(len(t), np.nan),
    "infinite": lambda t, h: np.full(len(t), np.inf),
}


@pytest.mark.parametrize("weights", BAD)
def test_weights_that_are_none_are_refused(weights: str) -> None:
    sampler = Given(FBeta(), weights=BAD[weights])
    with pytest.raises(InputError, match="weights must be finite, at least 0, and one of them"):
        sampler.proposal(POOL.table, POOL.start())


@pytest.mark.parametrize("shape", [(1,), (), (90,), (2, 2)])
def test_there_is_one_weight_for_each_cell(shape: tuple[int, ...]) -> None:
    sampler = Given(FBeta(), weights=lambda t, h: np.ones(shape))
    with pytest.raises(InputError, match=r"weights must have shape \(\d+,\), got"):
        sampler.design(POOL.table, POOL.start(), 5, np.random.default_rng(0))
