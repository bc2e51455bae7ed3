"""Estimates corrected for wrong labels: Rogan and Gladen's formula, and coverage."""

import dataclasses
import itertools

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.inference.label_error import CorrectedEstimate, correct
from evalsampling.measures import BY_NAME
from tests.slow import fast, slowly

ROWS = 4000


def evaluation(
    measure: str, seed: int = 0, labels: int = 600, sampler: str = "passive"
) -> tuple[Evaluation, np.ndarray]:
    """An evaluation with so many rows drawn, and the true class of each."""
    rng = np.random.default_rng(seed)
    truth = rng.random(ROWS) < 0.3
    score = rng.normal(size=ROWS) + 2 * truth
    one = Evaluation.from_arrays(
        score, (score > 1).astype(int), measure=[measure], sampler=sampler, seed=seed,
        strata={"leaves": 8},
    )  # fmt: skip
    one.label(ids := one.sample(labels), truth[ids].astype(int))
    return one, truth


def band(one: Evaluation, gold: np.ndarray) -> CorrectedEstimate:
    inputs = one.analysis.sampler.inputs(one.analysis.table, one.history, 0.95)
    found = correct(one.analysis.sampler.measure, inputs, gold, 1, one.estimate()[0])
    assert found is not None
    return found


def with_errors(one: Evaluation, rates: np.ndarray, rng: np.random.Generator) -> Evaluation:
    """The evaluation with labels that are wrong at some rates."""
    wrong = rng.random(len(one.history)) > rates[one.history.label, one.history.label]
    label = np.where(wrong, 1 - one.history.label, one.history.label)
    analysis = one.analysis.with_history(one.history.with_labels(label))
    return Evaluation(dataclasses.replace(one.state, analysis=analysis))


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


MEASURES = ("f1", "mcc", "brier", "recall", "precision", "accuracy")
SAMPLERS = ("passive", "poisson", "active_risk", "calibrated")
PAIRS = [(measure, SAMPLERS[place % 4]) for place, measure in enumerate(MEASURES)]


@pytest.mark.parametrize(
    ("measure", "sampler"),
    fast(4, [*PAIRS, *sorted({*itertools.product(MEASURES, SAMPLERS)} - {*PAIRS})]),
)
def test_labels_without_errors_change_nothing(measure: str, sampler: str) -> None:
    """Of weights as they are, of weights by their sum, and of an estimate that a model is in."""
    one, _ = evaluation(measure, sampler=sampler)
    found = band(one, np.diag([10_000, 10_000]))
    estimate = one.estimate()[0]
    assert found.value == pytest.approx(estimate.value, abs=1e-9)
    assert found.sampling_error == pytest.approx(estimate.standard_error, rel=1e-6)
    assert not found.dominates
    assert found.low < (found.value or 0) < found.high


@pytest.mark.parametrize("measure", ["f1", "accuracy", *slowly("precision", "recall")])
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


def test_ten_classes_of_which_half_of_the_labels_are_right_are_told() -> None:
    """A determinant of half to the power of nine says no more of each class than one half."""
    rng = np.random.default_rng(6)
    label = rng.integers(0, 10, 2000)
    one = Evaluation.from_arrays(
        rng.normal(size=2000), rng.integers(0, 10, 2000), measure=["accuracy"], sampler="passive",
        labels={"classes": list(range(10))}, probability=np.full((2000, 10), 0.1), seed=1,
    )  # fmt: skip
    one.label(ids := one.sample(500), label[ids])
    assert band(one, np.full((10, 10), 5) + np.diag([45] * 10)).value is not None
    assert band(one, np.full((10, 10), 5)).value is None


def test_few_gold_rows_make_a_wide_band() -> None:
    one, _ = evaluation("f1")
    few, many = band(one, np.diag([5, 5])), band(one, np.diag([500, 500]))
    assert few.high - few.low > 1.3 * (many.high - many.low)


def test_measures_of_several_numbers_have_none() -> None:
    one, _ = evaluation("f1")
    inputs = one.analysis.sampler.inputs(one.analysis.table, one.history, 0.95)
    curve = BY_NAME["roc_curve"]
    thresholds = np.linspace(-1, 1, 4)
    estimate = one.estimate()[0]
    assert correct(curve(tuple(thresholds.tolist())), inputs, np.diag([9, 9]), 1, estimate) is None


def test_by_the_model_too_the_share_of_positives_is_that_of_rogan_and_gladen() -> None:
    """Each draw of the model is corrected; with many gold rows the band is that of the model.

    Ends within 0.006: draws of the same model, with equal tails in place of the shortest interval,
    and half of the labels that the model draws for each row without one.
    """
    one, _ = evaluation("prevalence")
    wrong = with_errors(one, np.array([[0.95, 0.05], [0.1, 0.9]]), np.random.default_rng(2))
    model = wrong.analysis.label_model
    shares = wrong.analysis.sampler.measure.values(
        model.everywhere.risks(wrong.analysis.sampler.measure)
    )[:, 0]
    low, high = (np.quantile(shares, [0.025, 0.975]) + 0.95 - 1) / (0.9 + 0.95 - 1)
    inputs = wrong.analysis.sampler.inputs(wrong.analysis.table, wrong.history, 0.95)
    gold = np.array([[95, 5], [10, 90]]) * 10_000
    found = correct(wrong.analysis.sampler.measure, inputs, gold, 1, wrong.estimate()[0], model)
    reach = 0.75 * 1.96 * (found.sampling_error or 0)
    assert found.low == pytest.approx(min(low, (found.value or 0) - reach), abs=0.006)
    assert found.high == pytest.approx(max(high, (found.value or 0) + reach), abs=0.006)


def test_losses_under_another_class_are_those_of_the_rows() -> None:
    """All rows labelled: the mean over the rows with each label, at the class that is asked for."""
    one, truth = evaluation("f1", labels=ROWS)
    model = one.analysis.label_model
    measure, label = one.analysis.sampler.measure, truth.astype(int)
    outputs = one.history.outputs
    for given in (0, 1):
        rows = np.flatnonzero(one.history.label == given)
        for true in (0, 1):
            losses = measure.loss(outputs.take(rows), np.full(len(rows), true)).sum(axis=0) / ROWS
            found = model.everywhere.losses_if(measure, given, true)
            assert found == pytest.approx(np.tile(losses, (len(found), 1)))
    assert label.sum() == (one.history.label == 1).sum()


@pytest.mark.slow
def test_bands_hold_where_positives_are_rare() -> None:
    """Three votes of annotators with sensitivity .9 and specificity .98; 5 % are positive.

    Normal errors do not know of positives that no label has met: with them 26 of 30 bands held the
    truth, and the others lay above it. 40 repeats of a level of .95: below 35 with a chance of
    one in a hundred.
    """
    held = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 11])
        truth = (rng.random(20_000) < 0.05).astype(np.int64)
        score = rng.normal(size=20_000) + 3 * truth
        one = Evaluation.from_arrays(
            score, score > 2, probability=1 / (1 + np.exp(-(3 * score - 7.4))), measure=["f1"],
            sampler={"name": "ais", "delta": 0.1}, seed=seed,
        )  # fmt: skip
        while len(one.history) < 400:
            ids = one.sample(100)
            one.label(ids, majority(truth[ids], rng))
        known = np.repeat([0, 1], 50)
        gold = np.zeros((2, 2), dtype=np.int64)
        np.add.at(gold, (known, majority(known, rng)), 1)
        inputs = one.analysis.sampler.inputs(one.analysis.table, one.history, 0.95)
        model = one.analysis.label_model
        found = correct(one.analysis.sampler.measure, inputs, gold, seed, one.estimate()[0], model)
        hits = (truth & (score > 2)).sum()
        held += found.low <= 2 * hits / (truth.sum() + (score > 2).sum()) <= found.high
    assert held >= 38


def majority(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What most of three annotators say of rows of known class."""
    right = np.where(truth == 1, 0.9, 0.98)
    votes = np.where(rng.random((3, len(truth))) < right, truth, 1 - truth)
    return np.asarray(2 * votes.sum(axis=0) > 3).astype(np.int64)


def predictions(seed: int) -> np.ndarray:
    """What the system of `evaluation` says."""
    rng = np.random.default_rng(seed)
    truth = rng.random(ROWS) < 0.3
    return np.asarray(rng.normal(size=ROWS) + 2 * truth > 1)


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
