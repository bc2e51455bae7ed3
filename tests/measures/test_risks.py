"""Mean losses of probabilities, against scikit-learn."""

import math
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from evalsampling import Evaluation
from evalsampling.errors import InputError
from evalsampling.measures import Brier, FBeta, GeneralizedRisk, LogLoss, TableRisk
from evalsampling.measures.build import build_measures
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.outputs import Outputs
from tests.measures.pools import make_pool, value_of
from tests.spec.specs import parse


def two_classes(seed: int, rows: int = 40) -> tuple[Outputs, np.ndarray]:
    rng = np.random.default_rng(seed)
    probability = rng.random(rows)
    label = (rng.random(rows) < probability).astype(np.int64)
    both = np.stack([1 - probability, probability], axis=1)[:, None]
    codes = (probability > 0.5).astype(np.int64)[:, None]
    return Outputs(codes, probability[:, None], both), label


def test_brier_score_of_two_classes_is_twice_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    outputs, label = two_classes(0)
    probability = outputs.probability[:, 0, 1]
    value = value_of(Brier(), outputs, label)
    assert value == pytest.approx(2 * np.mean((probability - label) ** 2), rel=1e-12)
    assert value == pytest.approx(2 * metrics.brier_score_loss(label, probability), rel=1e-12)


@pytest.mark.parametrize("system", [0, 1])
def test_log_loss_equals_that_of_scikit_learn(system: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    outputs, label = make_pool(0)
    expected = metrics.log_loss(label, outputs.probability[:, system], labels=[0, 1, 2])
    assert value_of(LogLoss(system), outputs, label) == pytest.approx(expected, rel=1e-9)


def test_brier_score_of_three_classes() -> None:
    outputs, label = make_pool(1)
    truth = np.eye(3)[label]
    expected = np.mean(np.sum((outputs.probability[:, 1] - truth) ** 2, axis=1))
    before = outputs.probability.copy()
    assert value_of(Brier(system=1), outputs, label) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(outputs.probability, before)


def test_certainty_that_is_wrong_costs_the_most_there_is() -> None:
    codes = np.zeros((2, 1), dtype=np.int64)
    outputs = Outputs(codes, codes * 1.0, np.array([[[1.0, 0.0]], [[1.0, 0.0]]]))
    label = np.array([1, 0])
    assert Brier().loss(outputs, label).tolist() == [[2], [0]]
    for measure in (LogLoss(), LogLoss(clip=0.01)):
        wrong, right = measure.loss(outputs, label)[:, 0]
        assert wrong == pytest.approx(measure.bounds[1], rel=1e-12)
        assert right == pytest.approx(-math.log(1 - measure.clip), rel=1e-12)
    assert Brier().adds(outputs, label).tolist() == [True, False]


def test_names_and_bounds() -> None:
    assert (LogLoss().name, LogLoss(clip=0.01).name) == ("log_loss", "log_loss(clip=0.01)")
    assert LogLoss().bounds == (0, pytest.approx(6 * math.log(10)))
    assert Brier().bounds == (0, 2)


@pytest.mark.parametrize("clip", [0, 0.5, -1, math.nan, "a", True])
def test_clip_must_be_a_small_number(clip: object) -> None:
    with pytest.raises(ValueError, match="clip must be"):
        LogLoss(clip=clip)


def test_zero_one_risk_is_the_error_rate() -> None:
    outputs, label = make_pool(3)
    (value,) = value_of(TableRisk(classes=3), outputs, label)
    assert value == pytest.approx(1 - metrics.accuracy_score(label, outputs.prediction[:, 0]))


@pytest.mark.parametrize(
    ("losses", "reference"),
    [("squared", metrics.mean_squared_error), ("absolute", metrics.mean_absolute_error)],
)
def test_losses_of_grades_are_those_of_regression(losses: str, reference: Any) -> None:
    outputs, label = make_pool(5)
    grade = np.array([1.0, 2.5, 7.0])
    measure = TableRisk(losses, 3, ("1", "2.5", "7"), system=1)
    (value,) = value_of(measure, outputs, label)
    assert value == pytest.approx(reference(grade[label], grade[outputs.prediction[:, 1]]))


def test_table_has_a_row_for_each_prediction() -> None:
    """One false positive at 5, two false negatives at 1, five rows."""
    outputs, _ = make_pool(1, rows=6)
    outputs = outputs.take([0] * 5)
    outputs.prediction[:, 0] = [1, 0, 0, 1, 0]
    (value,) = value_of(TableRisk(((0, 1), (5, 0))), outputs, np.array([0, 1, 1, 1, 0]))
    assert value == pytest.approx(7 / 5)


@pytest.mark.parametrize("eta", [0.0, 0.3, 0.5, 1.0])
def test_f_eta_is_a_generalized_risk(eta: float) -> None:
    """Corollary 3.1 of the thesis: w = eta f + (1 - eta) y, l = 1 less the zero-one loss."""
    outputs, label = make_pool(2)
    label = (label == 1).astype(int)
    outputs.prediction[:, 0] = outputs.prediction[:, 0] == 1
    measure = GeneralizedRisk(((1, 0), (0, 1)), weights=((0, 1 - eta), (eta, 1)))
    assert value_of(measure, outputs, label) == pytest.approx(
        value_of(FBeta(alpha=eta), outputs, label)
    )
    beta = np.inf if eta == 0 else np.sqrt(1 / eta - 1)
    expected = metrics.recall_score(label, outputs.prediction[:, 0])
    if eta:
        expected = metrics.fbeta_score(label, outputs.prediction[:, 0], beta=beta)
    assert value_of(measure, outputs, label)[0] == pytest.approx(expected)


def test_weighted_mean_is_that_of_the_rows() -> None:
    outputs, label = make_pool(8)
    losses, weights = np.arange(9.0).reshape(3, 3), np.array([[1, 2, 0], [0, 1, 1], [3, 1, 1.0]])
    measure = GeneralizedRisk(losses.tolist(), 3, weights=weights.tolist())
    f = outputs.prediction[:, 0]
    expected = np.average(losses[f, label], weights=weights[f, label])
    assert value_of(measure, outputs, label)[0] == pytest.approx(expected)
    assert measure.bounds == (0, 8)


def spec(measure: Any, classes: list[Any]) -> EvaluationSpec:
    probability = {str(one): f"p{one}" for one in classes}
    return parse(
        pool={"path": "x", "probability": probability}, labels={"classes": classes}, measure=measure
    )


def test_built_from_a_spec() -> None:
    asked = spec({"name": "risk", "losses": "squared"}, [1, 2, 4])
    (measure,) = build_measures(asked.reading)
    assert isinstance(measure, TableRisk)
    assert measure.table.tolist() == [[0, 1, 9], [1, 0, 4], [9, 4, 0]]
    assert (measure.name, measure.bounds) == ("risk(losses=squared)", (0, 9))


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ({"name": "risk", "losses": "cubed"}, "losses must be zero_one, squared, absolute or a"),
        ({"name": "risk", "losses": "squared"}, "squared needs classes that are numbers, got no"),
        ({"name": "risk", "losses": [[0, 1]]}, "a row for each of the 2 predicted classes"),
        ({"name": "risk", "losses": [[0, "x"], [1, 0]]}, "a finite number for each label"),
        ({"name": "risk", "losses": [[0, float("nan")], [1, 0]]}, "a finite number"),
        ({"name": "risk", "losses": [[0, True], [1, 0]]}, "a finite number"),
        ({"name": "risk", "losses": 5}, "losses must have a row"),
        ("generalized_risk", "weights is missing"),
        ({"name": "generalized_risk", "weights": [[0, -1], [1, 1]]}, "at least 0 throughout"),
        ({"name": "generalized_risk", "weights": [[0, 0], [0, 0]]}, "above 0 somewhere"),
        ({"name": "f_beta", "alpha": 2}, "alpha must be between 0 and 1"),
    ],
)
def test_wrong_tables_are_refused(measure: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        build_measures(spec(measure, ["no", "yes"]).reading)


@pytest.mark.parametrize("measure", ["brier", "log_loss", {"risk": {"losses": [[0, 1], [5, 0]]}}])
def test_classes_are_called_by_their_names(measure: Any) -> None:
    """Code 1 of the classes 1 and 2 is class 2."""
    chance = np.linspace(0.01, 0.99, 40)
    labels = {"classes": [1, 2], "positive": 2}
    evaluation = Evaluation.from_arrays(
        chance, np.where(chance > 0.5, 2, 1), labels=labels, measure=measure
    )
    ids = evaluation.sample(12)
    evaluation.label(ids, np.where(np.arange(12) < 9, 2, 1))
    (warning,) = evaluation.estimate()[0].warnings
    assert "only 3 labels of class 1 seen" in warning
