"""Measures of hard predictions, against confusion matrices and scikit-learn."""

import math

import numpy as np
import pytest

from evalsampling import Evaluation, measures
from evalsampling.measures import Accuracy, FBeta, FowlkesMallows, Measure, Precision, Recall
from evalsampling.stats.outputs import Outputs
from tests.measures.pools import NEEDING_MORE, build, make_pool, risk_of, value_of

MEASURES = {
    "f1": FBeta(),
    "f2": FBeta(beta=2.0),
    "f.3": FBeta(beta=0.3),
    **{
        name: build(name)
        for name in (
            "precision", "recall", "accuracy", "balanced_accuracy", "specificity", "npv",
            "false_positive_rate", "prevalence", "mcc", "fowlkes_mallows",
        )
    },
}  # fmt: skip
each = pytest.mark.parametrize("key", MEASURES)


def rows_of(tp: int, fp: int, fn: int, tn: int) -> tuple[Outputs, np.ndarray]:
    """Rows of a confusion matrix."""
    prediction = np.repeat([1, 1, 0, 0], [tp, fp, fn, tn])[:, None]
    outputs = Outputs(prediction, prediction * 1.0, np.zeros((len(prediction), 1, 2)))
    return outputs, np.repeat([1, 0, 1, 0], [tp, fp, fn, tn])


def by_hand(key: str, tp: int, fp: int, fn: int, tn: int) -> float:
    """Each from the counts; 0/0 is NaN."""
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    quotients = {
        "f1": (2 * tp, 2 * tp + fp + fn),
        "f2": (5 * tp, 5 * tp + 4 * fn + fp),
        "f.3": (1.09 * tp, 1.09 * tp + 0.09 * fn + fp),
        "precision": (tp, tp + fp),
        "recall": (tp, tp + fn),
        "accuracy": (tp + tn, tp + fp + fn + tn),
        "balanced_accuracy": (tp * (fp + tn) + tn * (tp + fn), 2 * (tp + fn) * (fp + tn)),
        "specificity": (tn, tn + fp),
        "npv": (tn, tn + fn),
        "false_positive_rate": (fp, fp + tn),
        "prevalence": (tp + fn, tp + fp + fn + tn),
        "mcc": (tp * tn - fp * fn, math.sqrt(margins)),
        "fowlkes_mallows": (tp, math.sqrt((tp + fp) * (tp + fn))),
    }
    above, below = quotients[key]
    return above / below if below else math.nan


MATRICES = [
    (3, 2, 4, 11), (1, 0, 0, 0), (5, 0, 3, 90), (5, 3, 0, 0), (0, 2, 3, 7), (40, 1, 1, 900),
    (0, 0, 0, 9), (0, 0, 4, 9), (0, 3, 0, 9), (7, 0, 2, 0), (0, 5, 0, 0), (0, 0, 5, 0),
    (3, 3, 0, 4),
]  # fmt: skip


@pytest.mark.parametrize("matrix", MATRICES)
@each
def test_values_of_confusion_matrices(key: str, matrix: tuple[int, int, int, int]) -> None:
    """Where it is 0/0, the value is NaN, and so is the Jacobian: never a silent 0."""
    measure = MEASURES[key]
    rows = rows_of(*matrix)
    value = value_of(measure, *rows)
    expected = by_hand(key, *matrix)
    np.testing.assert_allclose(value, [expected], rtol=1e-12, atol=1e-15)
    slope = measure.jacobian(risk_of(measure, *rows))
    assert slope.shape == (1, measure.size)
    assert np.isnan(slope).all() == np.isnan(slope).any() == math.isnan(expected)


@each
def test_margins_of_one_by_rounding_are_undefined_too(key: str) -> None:
    """Forty-nine times 1/49 is less than 1."""
    outputs, label = rows_of(30, 0, 19, 0)
    value = MEASURES[key].value(MEASURES[key].mean_loss(outputs, label, np.full(49, 1 / 49)))
    np.testing.assert_allclose(value, [by_hand(key, 30, 0, 19, 0)], rtol=1e-12)


@pytest.mark.parametrize("positive", [0, 1, 2])
def test_values_equal_those_of_scikit_learn(positive: int) -> None:
    """Three classes, one of them the positive one."""
    metrics = pytest.importorskip("sklearn.metrics")
    outputs, label = make_pool(0)
    for system in (0, 1):
        prediction = outputs.prediction[:, system]
        y, f = label == positive, prediction == positive
        expected = {
            "f1": metrics.f1_score(y, f),
            "precision": metrics.precision_score(y, f),
            "recall": metrics.recall_score(y, f),
            "balanced_accuracy": metrics.balanced_accuracy_score(y, f),
            "specificity": metrics.recall_score(~y, ~f),
            "npv": metrics.precision_score(~y, ~f),
            "false_positive_rate": 1 - metrics.recall_score(~y, ~f),
            "mcc": metrics.matthews_corrcoef(y, f),
        }
        where = {"positive": positive, "system": system}
        for name, value in expected.items():
            assert value_of(build(name, **where), outputs, label) == pytest.approx(value, rel=1e-12)
        for beta in (0.3, 2.0):
            value = metrics.fbeta_score(y, f, beta=beta)
            measure = build("f_beta", beta=beta, **where)
            assert value_of(measure, outputs, label) == pytest.approx(value, rel=1e-12)
        value = metrics.accuracy_score(label, prediction)
        assert value_of(Accuracy(system), outputs, label) == pytest.approx(value, rel=1e-12)


LOSSES = {
    "f1": [[1, 1], [0, 0.5], [0, 0.5], [0, 0]],
    "f2": [[1, 1], [0, 0.2], [0, 0.8], [0, 0]],
    "precision": [[1, 1], [0, 1], [0, 0], [0, 0]],
    "recall": [[1, 1], [0, 0], [0, 1], [0, 0]],
    "accuracy": [[0], [1], [1], [0]],
    "balanced_accuracy": [[1, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0]],
    "mcc": [[1, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0]],
    "fowlkes_mallows": [[1, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0]],
}


@pytest.mark.parametrize("key", LOSSES)
def test_losses_are_those_of_the_paper(key: str) -> None:
    """[MR] table 1 for a true positive, false positive, false negative and true negative."""
    found = MEASURES[key].loss(*rows_of(1, 1, 1, 1))
    np.testing.assert_allclose(found, LOSSES[key], rtol=1e-15)


def test_balanced_accuracy_and_correlation_are_those_of_the_paper() -> None:
    """[MR] table 1, the mappings as printed."""
    r1, r2, r3 = risk = np.array([0.2, 0.3, 0.4])
    balanced = (r1 + r2 * (1 - r2 - r3)) / (2 * r2 * (1 - r2))
    assert MEASURES["balanced_accuracy"].value(risk) == pytest.approx(balanced, rel=1e-14)
    correlation = (r1 - r2 * r3) / math.sqrt(r2 * r3 * (1 - r2) * (1 - r3))
    assert MEASURES["mcc"].value(risk) == pytest.approx(correlation, rel=1e-14)
    assert FowlkesMallows().value(risk) == pytest.approx(r1 / math.sqrt(r2 * r3), rel=1e-14)


def test_weighted_shares_beyond_one_are_undefined() -> None:
    """Nothing to take a root of, and no share of negatives."""
    for key in ("mcc", "balanced_accuracy"):
        assert np.isnan(MEASURES[key].value(np.array([0.5, 1.2, 0.4]))).all()


def test_names_and_bounds() -> None:
    assert [measure.name for measure in MEASURES.values()] == [
        "f1", "f_beta(beta=2)", "f_beta(beta=0.3)", "precision", "recall", "accuracy",
        "balanced_accuracy", "specificity", "npv", "false_positive_rate", "prevalence", "mcc",
        "fowlkes_mallows",
    ]  # fmt: skip
    for key, measure in MEASURES.items():
        assert measure.bounds == ((-1, 1) if key == "mcc" else (0, 1))


def test_names_of_a_spec_build_the_measures() -> None:
    for name in measures.BY_NAME:
        if name in NEEDING_MORE:
            continue
        shown = "(0.9)" if name == "precision_at_recall" else ""
        assert build(name).name == ("f1" if name == "f_beta" else name + shown)
    assert build("f_beta", positive=2, beta=2.0) == FBeta(2, beta=2.0)


@each
def test_evidence(key: str) -> None:
    """For a true positive, false positive, false negative and true negative."""
    measure: Measure = MEASURES[key]
    evidence = {
        "labels": [True, True, True, True],
        "positives": [True, False, True, False],
        "negatives": [False, True, False, True],
        "predicted positives": [True, True, False, False],
        "predicted negatives": [False, False, True, True],
    }
    assert measure.evidence(*rows_of(1, 1, 1, 1)).tolist() == evidence[measure.evidence_name]
    words = {
        "precision": "predicted positives",
        "npv": "predicted negatives",
        "specificity": "negatives",
        "false_positive_rate": "negatives",
        "accuracy": "labels",
    }
    assert measure.evidence_name == words.get(key, "positives")


@pytest.mark.parametrize(
    ("beta", "words"),
    [
        *((beta, r"between 0\.001 and 1000") for beta in (0, -1)),
        *((beta, "must be a number") for beta in ("2", None, True, math.nan)),
        (math.inf, "must be finite"),
    ],
)
def test_weight_must_be_a_positive_number(beta: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        FBeta(beta=beta)  # type: ignore[arg-type]


def least_variance(measure: Measure, outputs: Outputs, label: np.ndarray) -> float:
    """Asymptotic variance times the draws, under q prop. to ||Dg l||: (sum v)^2 - (Dg R)^2."""
    share = 1 / len(label)
    risk = risk_of(measure, outputs, label)
    weight = np.sqrt(measure.squared_norm(outputs, label, risk)) * share
    return np.sum(weight) ** 2 - (measure.jacobian(risk) @ risk).item() ** 2


@pytest.mark.parametrize("seed", range(2))
def test_least_variance_has_closed_forms(seed: int) -> None:
    """Labels that do not vary: accuracy could be had exactly, recall not."""
    outputs, label = make_pool(seed)
    assert least_variance(Accuracy(), outputs, label) == pytest.approx(0, abs=1e-15)
    recall = value_of(Recall(), outputs, label).item()
    expected = 4 * recall**2 * (1 - recall) ** 2
    assert least_variance(Recall(), outputs, label) == pytest.approx(expected, rel=1e-12)
    precision = value_of(Precision(), outputs, label).item()
    expected = 4 * precision**2 * (1 - precision) ** 2
    assert least_variance(Precision(), outputs, label) == pytest.approx(expected, rel=1e-12)


def test_variance_of_passive_draws_is_that_of_the_examples() -> None:
    """[MR] examples 2 and 3: G (1 - G) of accuracy, and of recall by the share of positives."""
    outputs, label = make_pool(0)

    def variance(measure: Measure) -> float:
        risk = risk_of(measure, outputs, label)
        return float(np.var(measure.influence(outputs, label, risk)))

    accuracy, recall = (value_of(one, outputs, label).item() for one in (Accuracy(), Recall()))
    assert variance(Accuracy()) == pytest.approx(accuracy * (1 - accuracy), rel=1e-12)
    rare = np.mean(label == 1)
    assert variance(Recall()) == pytest.approx(recall * (1 - recall) / rare, rel=1e-12)


def test_corrected_prevalence_is_prevalence() -> None:
    """Rogan and Gladen's formula, with both rates from the same labels, gives the same estimate."""
    rng = np.random.default_rng(4)
    label, guess = (rng.random((2, 900)) < [[0.3], [0.2]]).astype(int)
    guess = np.where(rng.random(900) < 0.7, label, guess)
    evaluation = Evaluation.from_frame(
        {"prediction": guess}, measure=["prevalence", "recall", "specificity"],
        sampler="stratified", strata={"method": "predictions"},
    )  # fmt: skip
    ids = evaluation.sample(120)
    evaluation.label(ids, label[ids])
    told = evaluation.estimate()
    prevalence, sensitivity, specificity = (
        told[name].value for name in ("prevalence", "recall", "specificity")
    )
    corrected = (guess.mean() + specificity - 1) / (sensitivity + specificity - 1)
    assert prevalence == pytest.approx(corrected, rel=1e-12)
    assert abs(prevalence - label[ids].mean()) > 1e-6
