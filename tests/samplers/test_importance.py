"""Static importance sampling against its formula row by row, and its error against simulation."""

import dataclasses

import numpy as np
import pytest

from evalsampling.inference.score_calibration import recalibrated
from evalsampling.measures import Accuracy, FBeta, Joint, Measure, Precision, Recall
from evalsampling.samplers import Importance
from tests.samplers.pools import (
    Lopsided,
    Pool,
    leaf_means,
    make_pool,
    optimal_proposal,
    with_second_system,
)

MEASURES = [FBeta(), Precision(), Recall(), Accuracy(), Joint((FBeta(), Accuracy()))]
IDS = [measure.name for measure in MEASURES]


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("measure", MEASURES, ids=IDS)
def test_proposal_follows_the_formula(measure: Measure, classes: int, oracle: str) -> None:
    pool = make_pool(300, 8, seed=4, classes=classes)
    proposal = Importance(measure, oracle).proposal(pool.table, pool.start())
    q = pool.row_probability(proposal, pool.start(), pool.order(0))
    assert q.sum() == pytest.approx(1, abs=1e-12)
    prior = leaf_means(pool)[pool.leaf].tolist()
    expected = optimal_proposal(pool, measure, 1e-9, prior, oracle == "stochastic")
    # Probabilities in the table are rounded to 2^-33, which loses some of 1e-9 relative.
    np.testing.assert_allclose(q, expected, rtol=1e-7)
    assert q.max() > 2 * q.min()


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
def test_one_proposal_for_several_systems(oracle: str) -> None:
    """The F1s of two systems: q follows the size of both errors together."""
    pool = with_second_system(make_pool(200, 6, seed=4, positive=0.3), seed=1)
    both = Joint((FBeta(), FBeta(system=1)))
    proposal = Importance(both, oracle).proposal(pool.table, pool.start())
    q = pool.row_probability(proposal, pool.start(), pool.order(0))
    prior = leaf_means(pool)[pool.leaf].tolist()
    expected = optimal_proposal(pool, both, 1e-9, prior, oracle == "stochastic")
    np.testing.assert_allclose(q, expected, rtol=1e-7)
    assert q.sum() == pytest.approx(1, abs=1e-12)


def test_pool_may_be_mixed_in() -> None:
    pool = make_pool(300, 8, seed=4)
    plain, mixed = (
        Importance(Precision(), delta=delta).proposal(pool.table, pool.start()).cell_probability
        for delta in (0.0, 0.2)
    )
    np.testing.assert_allclose(mixed, 0.8 * plain + 0.2 / 300, rtol=1e-12)
    assert pool.table.count @ mixed == pytest.approx(1, abs=1e-12)
    sampler = Importance(Precision(), delta=0.2)
    assert np.all(sampler.support(pool.table))
    assert sampler.can_estimate(pool.table, Recall())
    assert not Importance(Precision()).can_estimate(pool.table, Recall())
    assert np.array_equal(
        Importance(Precision()).support(pool.table), pool.table.outputs.prediction[:, 0] == 1
    )


def test_loss_that_hardly_matters_weighs_the_floor() -> None:
    pool = make_pool(300, 8, seed=4)
    q = Importance(Lopsided()).proposal(pool.table, pool.start()).cell_probability
    prior = leaf_means(pool)[pool.table.leaf]
    predicted = pool.table.outputs.prediction[:, 0] == 1
    weight = np.where(predicted, prior[:, 0], 1e-9 * prior[:, 1])
    np.testing.assert_allclose(q, weight / (pool.table.count @ weight), rtol=1e-6)


def test_labels_do_not_change_the_proposal() -> None:
    pool = make_pool(300, 8, seed=4)
    sampler = Importance(FBeta())
    history, _ = pool.run(sampler, rounds=2, new_rows=40, seed=1)
    before = sampler.proposal(pool.table, pool.start()).cell_probability
    np.testing.assert_array_equal(sampler.proposal(pool.table, history).cell_probability, before)


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
