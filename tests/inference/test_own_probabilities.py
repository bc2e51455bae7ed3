"""What rows' own probabilities add to draws that give each row the mean one of its cell."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import Evaluation
from evalsampling.inference.linearisation import Linearisation
from evalsampling.inference.own_probabilities import OwnProbabilities
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures import Brier, FBeta, LogLoss, Measure
from evalsampling.samplers import Passive
from tests.samplers.pools import Pool, make_pool
from tests.stats.histories import labelled_rows

SEEN = make_pool(200, 4, seed=5, positive=0.3)
ROWS = np.random.default_rng(4).permutation(200)


def spread(pool: Pool) -> Pool:
    """The pool with probabilities that differ within its cells."""
    positive = np.clip(pool.probability[:, 1] + np.resize([-0.1, 0.02, 0.15], len(pool)), 0.01, 0.9)
    return dataclasses.replace(pool, probability=np.stack([1 - positive, positive], axis=1))


def found_of(pool: Pool, measure: Measure, labels: int) -> OwnProbabilities | None:
    """It of rows that were drawn alike without replacement, the first ones of an order."""
    history = labelled_rows(pool, ROWS[:labels])
    usual = Passive(measure).inputs(pool.table, history, 0.95)
    chance = np.full(labels, labels / len(pool))
    sample = WeightedSample.without_replacement(np.arange(labels), chance, len(pool))
    inputs = dataclasses.replace(usual, sample=sample)
    return OwnProbabilities.of_labelled(Linearisation(measure, inputs))


@pytest.mark.parametrize("measure", [Brier(), LogLoss()])
def test_shift_is_what_rows_without_a_label_are_expected_to_add(measure: Measure) -> None:
    """By hand, of 80 of 200 rows: each stands for 1.5 others."""
    pool, rows = spread(SEEN), ROWS[:80]
    found = found_of(pool, measure, 80)
    assert found is not None
    by_cell = np.array([pool.probability[pool.cell == c].mean(axis=0) for c in pool.cell[rows]])
    own, label = pool.outputs.take(rows), pool.label[rows]
    of_cell = dataclasses.replace(own, probability=by_cell[:, None])
    slope = measure.jacobian(np.zeros(1))[0, 0]
    further = slope * (measure.loss(own, label) - measure.loss(of_cell, label))[:, 0]
    assert found.shift[0] == pytest.approx(0.6 * further.mean())
    assert found.error[0] == pytest.approx(0.6 * np.sqrt(0.6 * np.mean(further**2) / 80))


def test_none_where_cells_have_one_probability_or_every_row_a_label() -> None:
    alike = np.array([SEEN.probability[SEEN.cell == c].mean(axis=0) for c in SEEN.cell])
    for pool, labels in ((dataclasses.replace(SEEN, probability=alike), 80), (spread(SEEN), 200)):
        found = found_of(pool, Brier(), labels)
        assert found is not None
        assert found.shift == pytest.approx(0, abs=1e-9)
        assert found.error == pytest.approx(0, abs=1e-9)


def test_measures_that_do_not_look_at_probabilities_have_none() -> None:
    assert found_of(spread(SEEN), FBeta(), 80) is None


def test_draws_stay_within_the_range() -> None:
    own = OwnProbabilities(np.array([0.5]), np.array([0.1]), (np.zeros(1), np.ones(1)))
    moved = own.added_to(np.array([[0.2], [0.7]]), np.array([1.0, 2.0]))
    assert moved[:, 0].tolist() == pytest.approx([0.8, 1.0])


@pytest.mark.slow
def test_intervals_hold_where_probabilities_are_not_made_of_the_score() -> None:
    """Overconfident ones of another model: the mean of a cell says .73 where the loss is 1.16."""
    rng, held = np.random.default_rng(0), 0
    latent = rng.normal(-1, 2, 10_000)
    label = (rng.random(10_000) < 1 / (1 + np.exp(-latent))).astype(int)
    said = 1 / (1 + np.exp(-3 * (latent + 1.5 * rng.normal(size=10_000))))
    pool = pa.table({"id": np.arange(10_000), "score": latent, "p": said, "prediction": label})
    chance = np.where(label == 1, said, 1 - said)
    truth = -np.log(np.clip(chance, 1e-6, 1 - 1e-6)).mean()
    for seed in range(20):
        evaluation = Evaluation.from_frame(
            pool, id="id", probability="p", seed=seed, measure="log_loss", sampler="calibrated"
        )
        ids = evaluation.sample(300)
        evaluation.label(ids, label[ids])
        (one,) = evaluation.estimate()
        (modelled,) = (each for each in one.intervals if each.kind == "model-based")
        held += modelled.low <= truth <= modelled.high
    assert held >= 17  # 19 expected; 13 by the mean probabilities of cells
