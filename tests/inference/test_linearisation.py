"""Standard errors that rates make expect, against all labels that rows might have had."""

import dataclasses
import itertools

import numpy as np
import pytest

from evalsampling.inference import linearisation
from evalsampling.inference.domains import Domain
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.linearisation import (
    Linearisation,
    influence_by_cell,
    influences_by_cell,
)
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures import (
    Accuracy,
    Brier,
    FBeta,
    MatthewsCorrelation,
    Measure,
    PRCurve,
)
from evalsampling.samplers import CalibratedDesign
from evalsampling.stats.arrays import BoolArray, IntArray
from evalsampling.stats.history import History
from tests.samplers.pools import make_pool

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
