"""Standard errors that rates make expect, against all labels that rows might have had."""

import dataclasses
import itertools

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import Evaluation
from evalsampling.inference import linearisation
from evalsampling.inference.domains import Domain
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.linearisation import (
    Linearisation,
    OwnProbabilities,
    influence_by_cell,
    influences_by_cell,
)
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures import (
    Accuracy,
    Brier,
    FBeta,
    LogLoss,
    MatthewsCorrelation,
    Measure,
    PRCurve,
)
from evalsampling.samplers import CalibratedDesign, Passive
from evalsampling.stats.arrays import BoolArray, IntArray
from evalsampling.stats.history import History
from tests.samplers.pools import Pool, make_pool
from tests.stats.histories import labelled_rows

POOL = make_pool(40, 3, seed=2, positive=0.2)
RATE = np.random.default_rng(3).uniform(0.1, 0.6, len(POOL.table))
RATES = np.stack([1 - RATE, RATE], axis=1)
EIGHT = 8


def inputs_of(labels: int) -> EstimationInput:
    """Rows with chances of about a half, so that the difference estimator is of use."""
    history, _ = POOL.run(CalibratedDesign(FBeta()), 1, labels, seed=1)
    usual = CalibratedDesign(FBeta()).inputs(POOL.table, history, 0.95)
    chance = np.linspace(0.4, 0.6, labels)
    sample = WeightedSample.without_replacement(usual.sample.question, chance, len(POOL))
    return dataclasses.replace(usual, sample=sample)


@pytest.mark.parametrize("measure", [Accuracy(), Brier()])
@pytest.mark.parametrize("by_model", [True, False])
def test_expected_variance_is_the_mean_over_all_labels(measure: Measure, by_model: bool) -> None:
    """Exactly, of 256 ways to label eight rows: means of losses are linear in the labels."""
    inputs = inputs_of(EIGHT)
    inputs = inputs if by_model else dataclasses.replace(inputs, response=None)
    question = inputs.sample.question
    chance = RATE[inputs.history.cell[question]]
    mean = 0.0
    for labels in itertools.product([0, 1], repeat=len(question)):
        label = inputs.history.label.copy()
        label[question] = labels
        history = inputs.history.with_labels(label)
        relabelled = dataclasses.replace(inputs, history=history)
        _, influence = Linearisation(measure, relabelled).estimate()
        weight = np.prod(np.where(labels, chance, 1 - chance))
        mean += weight * float(inputs.sample.variance(influence)[0])
    found = Linearisation(measure, inputs).expected_error(RATES)
    assert found**2 == pytest.approx([mean])


class FirstTen(Domain):
    """A part of the pool that holds the first ten questions."""

    def holds(self, history: History, question: IntArray) -> BoolArray:
        """Return which questions those are."""
        return np.arange(len(question)) < 10


def test_rows_outside_a_domain_count_for_nothing() -> None:
    """As in the variance that labels give."""
    inputs = inputs_of(20)
    some = Linearisation(FBeta(), inputs, FirstTen()).expected_error(RATES)
    sample = inputs.sample
    kept = {
        name: getattr(sample, name)[:10]
        for name in ("question", "weight", "weight_square_sum", "weight_sum", "group")
    }
    alone = dataclasses.replace(inputs, sample=dataclasses.replace(sample, **kept))
    assert some == pytest.approx(Linearisation(FBeta(), alone).expected_error(RATES))


@pytest.mark.parametrize("largest", [0, linearisation.LARGEST_MATRIX])
@pytest.mark.parametrize(
    "measure", [FBeta(), MatthewsCorrelation(), Brier(), PRCurve(thresholds=(-1.0, 0.0, 1.0))]
)
def test_influences_at_many_risks_are_those_at_each(
    measure: Measure, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no matrix of losses may be made, and 0 where the measure is undefined."""
    monkeypatch.setattr(linearisation, "LARGEST_MATRIX", largest)
    rng = np.random.default_rng(5)
    risks = rng.random((5, measure.size)) / 4
    risks[2] = 0
    parts = list(influences_by_cell(measure, POOL.table, np.array_split(risks, 2)))
    assert [len(part[0]) for part in parts] == [3, 2]
    together = np.concatenate([np.stack(part) for part in parts], axis=1)
    for i, risk in enumerate(risks):
        wanted = influence_by_cell(measure, POOL.table, risk)
        assert np.moveaxis(together[:, i], 1, 2) == pytest.approx(np.moveaxis(wanted, 1, 0))


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
