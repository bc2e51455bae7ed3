"""Measures against confusion matrices, scikit-learn and finite differences."""

import math

import numpy as np
import pytest

from evalsampling import measures
from evalsampling.measures import Accuracy, FBeta, Measure, Precision, Recall

BINARY = [FBeta(), FBeta(beta=2.0), FBeta(beta=0.3), Precision(), Recall(), Accuracy()]
IDS = [measure.name for measure in BINARY]


def rows_of(tp: int, fp: int, fn: int, tn: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a confusion matrix: predictions, shape (n, 1), and labels."""
    prediction = np.repeat([1, 1, 0, 0], [tp, fp, fn, tn])
    return prediction[:, None], np.repeat([1, 0, 1, 0], [tp, fp, fn, tn])


def value_of(measure: Measure, prediction: np.ndarray, label: np.ndarray) -> float:
    return measure.value(measure.loss(prediction, label).mean(axis=0))


def by_hand(name: str, tp: int, fp: int, fn: int, tn: int) -> float:
    return {
        "f1": 2 * tp / (2 * tp + fp + fn),
        "f_beta(beta=2)": 5 * tp / (5 * tp + 4 * fn + fp),
        "f_beta(beta=0.3)": 1.09 * tp / (1.09 * tp + 0.09 * fn + fp),
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "accuracy": (tp + tn) / (tp + fp + fn + tn),
    }[name]


MATRICES = [(3, 2, 4, 11), (1, 0, 0, 0), (5, 0, 3, 90), (5, 3, 0, 0), (0, 2, 3, 7), (40, 1, 1, 900)]


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("measure", BINARY, ids=IDS)
def test_values_of_confusion_matrices(measure: Measure, matrix: tuple[int, ...]) -> None:
    expected = by_hand(measure.name, *matrix)
    assert value_of(measure, *rows_of(*matrix)) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert measure.bounds == (0, 1)


@pytest.mark.parametrize("positive", [0, 1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_values_equal_those_of_scikit_learn(seed: int, positive: int) -> None:
    """Three classes, one of them the positive one; the rows' order does not matter."""
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, 60)
    prediction = np.where(rng.random(60) < 0.6, label, rng.integers(0, 3, 60))
    y, f = label == positive, prediction == positive
    expected = {
        FBeta(positive): metrics.f1_score(y, f),
        FBeta(positive, beta=2.0): metrics.fbeta_score(y, f, beta=2),
        FBeta(positive, beta=0.3): metrics.fbeta_score(y, f, beta=0.3),
        Precision(positive): metrics.precision_score(y, f),
        Recall(positive): metrics.recall_score(y, f),
        Accuracy(positive): metrics.accuracy_score(label, prediction),
    }
    for measure, value in expected.items():
        assert value_of(measure, prediction[:, None], label) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("measure", BINARY, ids=IDS)
def test_jacobian_equals_central_differences(measure: Measure, seed: int) -> None:
    """Their error is of the order h^2 = 1e-10 times the third derivative, of order 100."""
    rng = np.random.default_rng(seed)
    size = measure.loss(*rows_of(1, 1, 1, 1)).shape[1]
    risk = np.sort(rng.uniform(0.2, 0.8, size))
    jacobian = measure.jacobian(risk)
    assert jacobian.shape == (1, size)
    for i in range(size):
        step = 1e-5 * np.eye(size)[i]
        slope = (measure.value(risk + step) - measure.value(risk - step)) / 2e-5
        assert jacobian[0, i] == pytest.approx(slope, rel=1e-7, abs=1e-8)


UNDEFINED = [(FBeta(), (0, 0, 0, 9)), (Precision(), (0, 0, 4, 9)), (Recall(), (0, 3, 0, 9))]


@pytest.mark.parametrize(("measure", "matrix"), UNDEFINED)
def test_nothing_by_nothing_is_undefined(measure: Measure, matrix: tuple[int, ...]) -> None:
    risk = measure.loss(*rows_of(*matrix)).mean(axis=0)
    assert math.isnan(measure.value(risk))
    assert measure.jacobian(risk).shape == (1, 2)
    assert np.isnan(measure.jacobian(risk)).all()


@pytest.mark.parametrize(
    ("measure", "losses"),
    [
        (FBeta(), [[1, 1], [0, 0.5], [0, 0.5], [0, 0]]),
        (FBeta(beta=2.0), [[1, 1], [0, 0.2], [0, 0.8], [0, 0]]),
        (Precision(), [[1, 1], [0, 1], [0, 0], [0, 0]]),
        (Recall(), [[1, 1], [0, 0], [0, 1], [0, 0]]),
        (Accuracy(), [[0], [1], [1], [0]]),
    ],
    ids=["f1", "f2", "precision", "recall", "accuracy"],
)
def test_losses_are_those_of_the_paper(measure: Measure, losses: list[list[float]]) -> None:
    """[MR] table 1 for a true positive, false positive, false negative and true negative."""
    np.testing.assert_allclose(measure.loss(*rows_of(1, 1, 1, 1)), losses, rtol=1e-15)


def test_names() -> None:
    assert IDS == [
        "f1", "f_beta(beta=2)", "f_beta(beta=0.3)", "precision", "recall", "accuracy",
    ]  # fmt: skip


def test_names_of_a_spec_build_the_measures() -> None:
    built = {name: build(positive=2) for name, build in measures.BY_NAME.items()}
    assert {name: measure.name for name, measure in built.items()} == {
        "f1": "f1",
        "f_beta": "f1",
        "precision": "precision",
        "recall": "recall",
        "accuracy": "accuracy",
    }
    assert measures.BY_NAME["f_beta"](positive=2, beta=2.0) == FBeta(2, beta=2.0)
    prediction, label = np.array([[2], [2], [1], [0]]), np.array([2, 1, 2, 0])
    assert value_of(built["f1"], prediction, label) == 0.5
    assert value_of(built["accuracy"], prediction, label) == 0.5


@pytest.mark.parametrize(
    ("measure", "evidence", "words"),
    [
        (FBeta(), [True, False, True, False], "positives"),
        (Precision(), [True, True, False, False], "predicted positives"),
        (Recall(), [True, False, True, False], "positives"),
        (Accuracy(), [True, True, True, True], "labels"),
    ],
    ids=["f1", "precision", "recall", "accuracy"],
)
def test_evidence(measure: Measure, evidence: list[bool], words: str) -> None:
    assert measure.evidence(*rows_of(1, 1, 1, 1)).tolist() == evidence
    assert measure.evidence_name == words


@pytest.mark.parametrize("beta", [0, -1, math.inf, math.nan])
def test_weight_must_be_a_positive_number(beta: float) -> None:
    with pytest.raises(ValueError, match=r"between 0\.001 and 1000"):
        FBeta(beta=beta)
