"""Estimates corrected for wrong labels: Rogan and Gladen's formula, and coverage."""

import dataclasses

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.inference.label_error import LabelErrorBand, correct
from evalsampling.measures import BY_NAME
from evalsampling.measures.base import Measure

ROWS = 4000


def evaluation(measure: str, seed: int = 0, labels: int = 600) -> tuple[Evaluation, np.ndarray]:
    """An evaluation with so many rows drawn, and the true class of each."""
    rng = np.random.default_rng(seed)
    truth = rng.random(ROWS) < 0.3
    score = rng.normal(size=ROWS) + 2 * truth
    one = Evaluation.from_arrays(
        score, (score > 1).astype(int), measure=[measure], sampler="passive", seed=seed,
        strata={"leaves": 8},
    )  # fmt: skip
    one.label(ids := one.sample(labels), truth[ids].astype(int))
    return one, truth


def band(one: Evaluation, gold: np.ndarray, measure: Measure | None = None) -> LabelErrorBand:
    inputs = one.sampler.inputs(one.table, one.history, 0.95)
    found = correct(measure or one.sampler.measure, inputs, gold, 1)
    assert found is not None
    return found


def with_errors(one: Evaluation, rates: np.ndarray, rng: np.random.Generator) -> Evaluation:
    """The evaluation with labels that are wrong at some rates."""
    wrong = rng.random(len(one.history)) > rates[one.history.label, one.history.label]
    label = np.where(wrong, 1 - one.history.label, one.history.label)
    return dataclasses.replace(one, history=one.history.with_labels(label))


def test_rogan_and_gladen() -> None:
    """The share of positives, by their formula: a simple random sample of all rows."""
    one, _ = evaluation("prevalence")
    gold = np.array([[45, 5], [4, 36]])
    rng = np.random.default_rng(1)
    wrong = with_errors(one, gold / gold.sum(axis=1, keepdims=True), rng)
    found = band(wrong, gold)
    share = float(wrong.estimate()[0].value or 0)
    specificity, sensitivity = 45 / 50, 36 / 40
    assert share > 0.3
    expected = (share + specificity - 1) / (sensitivity + specificity - 1)
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.sampling_error == pytest.approx(
        float(wrong.estimate()[0].standard_error or 0) / (sensitivity + specificity - 1), rel=1e-6
    )


@pytest.mark.parametrize("measure", ["f1", "precision", "recall", "accuracy", "mcc"])
def test_labels_without_errors_change_nothing(measure: str) -> None:
    one, _ = evaluation(measure)
    found = band(one, np.diag([10_000, 10_000]))
    estimate = one.estimate()[0]
    assert found.value == pytest.approx(estimate.value, abs=1e-9)
    assert found.sampling_error == pytest.approx(estimate.standard_error, rel=1e-6)
    assert not found.dominates
    assert found.low < (found.value or 0) < found.high


@pytest.mark.parametrize("measure", ["f1", "precision", "recall", "accuracy"])
def test_the_value_tends_to_the_truth(measure: str) -> None:
    """All rows labelled, a fifth of the labels wrong: the correction finds the true value.

    Four standard errors of the misclassification of 4,000 rows.
    """
    one, truth = evaluation(measure, labels=ROWS)
    exact = float(one.estimate()[0].value or 0)
    rates = np.array([[0.9, 0.1], [0.2, 0.8]])
    wrong = with_errors(one, rates, np.random.default_rng(3))
    gold = (rates * 1_000_000).astype(int)
    found = band(wrong, gold)
    plain = float(wrong.estimate()[0].value or 0)
    assert abs(float(found.value or 0) - exact) < 0.03
    assert abs(plain - exact) > 0.05
    assert found.dominates
    assert truth.any()


def test_labels_that_tell_nothing() -> None:
    one, _ = evaluation("f1")
    for gold in (np.array([[5, 5], [5, 5]]), np.array([[1, 9], [9, 1]])):
        found = band(one, gold)
        assert (found.value, found.low, found.high) == (None, 0.0, 1.0)
        assert found.dominates


def test_few_gold_rows_make_a_wide_band() -> None:
    one, _ = evaluation("f1")
    few, many = band(one, np.diag([5, 5])), band(one, np.diag([500, 500]))
    assert few.high - few.low > 1.3 * (many.high - many.low)


def test_measures_of_several_numbers_have_none() -> None:
    one, _ = evaluation("f1")
    inputs = one.sampler.inputs(one.table, one.history, 0.95)
    curve = BY_NAME["roc_curve"]
    thresholds = np.linspace(-1, 1, 4)
    assert correct(curve(tuple(thresholds.tolist())), inputs, np.diag([9, 9]), 1) is None


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["f1", "recall"])
def test_bands_hold_the_truth(measure: str) -> None:
    """300 labels with sensitivity .85 and specificity .95, 60 gold rows of each class.

    200 repeats; a level of .95 has a standard error of .015, so not below .9.
    """
    rates = np.array([[0.95, 0.05], [0.15, 0.85]])
    held = plain = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 5])
        one, truth = evaluation(measure, seed, 300)
        wrong = with_errors(one, rates, rng)
        gold = np.stack([rng.multinomial(60, row) for row in rates])
        found = band(wrong, gold)
        prediction = predictions(seed)
        hits = float((truth & prediction).sum())
        recall, precision = hits / truth.sum(), hits / prediction.sum()
        exact = recall if measure == "recall" else 2 / (1 / recall + 1 / precision)
        held += found.low <= exact <= found.high
        interval = wrong.estimate()[0].intervals[0]
        plain += interval.low <= exact <= interval.high
    assert held / 200 >= 0.9
    assert plain / 200 <= 0.8


def predictions(seed: int) -> np.ndarray:
    """What the system of `evaluation` says."""
    rng = np.random.default_rng(seed)
    truth = rng.random(ROWS) < 0.3
    return np.asarray(rng.normal(size=ROWS) + 2 * truth > 1)
