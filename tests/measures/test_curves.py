"""Curves and areas over thresholds, against scikit-learn and dense matrices."""

import dataclasses
import math

import numpy as np
import pytest

from evalsampling.measures import (
    AveragePrecision,
    Measure,
    PRCurve,
    PrecisionAtRecall,
    ROCArea,
    ROCCurve,
)
from evalsampling.stats.outputs import Outputs
from tests.measures.pools import make_pool, risk_of, value_of

CURVES = [PRCurve, ROCCurve, AveragePrecision, ROCArea]


def scored(score: np.ndarray) -> Outputs:
    score = np.asarray(score, dtype=np.float64)[:, None]
    return Outputs((score > 0).astype(np.int64), score, np.zeros((len(score), 1, 2)))


def tied_pool(seed: int) -> tuple[Outputs, np.ndarray]:
    """Scores with many ties."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, 80)
    return scored(np.round(rng.normal(label, 1.5), 1)), label


@pytest.mark.parametrize("seed", range(2))
def test_values_on_all_distinct_scores_equal_those_of_scikit_learn(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    outputs, label = tied_pool(seed)
    score = outputs.score[:, 0]
    thresholds = tuple(np.unique(score).tolist())
    average = value_of(AveragePrecision(thresholds), outputs, label)
    assert average == pytest.approx(metrics.average_precision_score(label, score), rel=1e-12)
    area = value_of(ROCArea(thresholds), outputs, label)
    assert area == pytest.approx(metrics.roc_auc_score(label, score), rel=1e-12)
    precision, recall, at = metrics.precision_recall_curve(label, score)
    np.testing.assert_array_equal(at, thresholds)
    found = value_of(PRCurve(thresholds), outputs, label).reshape(3, -1)
    f1 = [metrics.f1_score(label, score >= threshold) for threshold in thresholds]
    np.testing.assert_allclose(found, [precision[:-1], recall[:-1], f1], rtol=1e-12)
    false_rate, true_rate, at = metrics.roc_curve(label, score, drop_intermediate=False)
    np.testing.assert_array_equal(at[:0:-1], thresholds)
    found = value_of(ROCCurve(thresholds), outputs, label).reshape(2, -1)
    np.testing.assert_allclose(found, [true_rate[:0:-1], false_rate[:0:-1]], atol=1e-12)


def test_loss_is_that_of_the_paper() -> None:
    """[MR] table 1; a score equal to a threshold reaches it."""
    found = PRCurve((0.0, 1.0)).loss(scored([1.0, 0.5, -0.1, 0.5]), np.array([1, 1, 1, 0]))
    expected = [[1, 1, 1, 1, 1], [1, 0, 1, 0, 1], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
    np.testing.assert_array_equal(found, expected)


def test_components() -> None:
    measure = PRCurve((0.25, 0.5), system=1)
    assert [dataclasses.astuple(component)[:5] for component in measure.components] == [
        ("pr_curve.precision", (0, 1), 1, 0.25, None),
        ("pr_curve.precision", (0, 1), 1, 0.5, None),
        ("pr_curve.recall", (0, 1), 1, 0.25, None),
        ("pr_curve.recall", (0, 1), 1, 0.5, None),
        ("pr_curve.f1", (0, 1), 1, 0.25, None),
        ("pr_curve.f1", (0, 1), 1, 0.5, None),
    ]
    names = [component.name for component in ROCCurve((0.5,)).components]
    assert names == ["roc_curve.true_positive_rate", "roc_curve.false_positive_rate"]
    assert [component.name for component in ROCArea((0.5,)).components] == ["roc_auc"]


UNDEFINED = [
    (PRCurve, [1, 0], 0.5, [0, 1, 0, 0, 0, 0]), (PRCurve, [0, 0], 0.5, [0, 1, 1, 1, 0, 1]),
    (ROCCurve, [1, 0], 0.5, [0, 0, 0, 0]), (ROCCurve, [0, 0], 0.5, [1, 1, 0, 0]),
    (ROCCurve, [1, 1], 0.5, [0, 0, 1, 1]), (AveragePrecision, [0, 0], 0.5, [1]),
    (AveragePrecision, [1, 0], 0.5, [0]), (ROCArea, [0, 0], 0.5, [1]), (ROCArea, [1, 1], 0.5, [1]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "label", "score", "undefined"), UNDEFINED)
def test_nothing_by_nothing_is_undefined(
    kind: type[Measure], label: list[int], score: float, undefined: list[int]
) -> None:
    """No row reaches the second threshold; there may be no positives, or no negatives."""
    measure = kind(thresholds=(0.0, 1.0))
    outputs, codes = scored(np.array([score, score - 0.1])), np.array(label)
    risk = risk_of(measure, outputs, codes)
    np.testing.assert_array_equal(np.isnan(measure.value(risk)), undefined)
    slope = measure.jacobian(risk)
    np.testing.assert_array_equal(np.isnan(slope).all(axis=1), undefined)
    np.testing.assert_array_equal(np.isnan(slope).any(axis=1), undefined)
    norm = measure.squared_norm(outputs, codes, risk)
    assert np.isfinite(norm).all()
    np.testing.assert_allclose(norm, Measure.squared_norm(measure, outputs, codes, risk))
    np.testing.assert_allclose(
        measure.influence(outputs, codes, risk), Measure.influence(measure, outputs, codes, risk)
    )


def test_no_row_is_drawn_for_f1_which_follows_from_precision_and_recall() -> None:
    """The norm is that of [MR] table 1."""
    outputs, label = make_pool(3)
    curve = PRCurve((0.0, 0.5))
    risk = risk_of(curve, outputs, label)
    own = curve.influence(outputs, label, risk)[:, :4]
    np.testing.assert_allclose(curve.squared_norm(outputs, label, risk), np.sum(own**2, axis=1))


def test_average_precision_without_rows_above_a_threshold() -> None:
    """The term is 0, and the rest is what it is without that threshold."""
    outputs, label = make_pool(3)
    with_it, without = AveragePrecision((0.0, 1.0, 99.0)), AveragePrecision((0.0, 1.0))
    assert value_of(with_it, outputs, label) == value_of(without, outputs, label)
    risks = [risk_of(measure, outputs, label) for measure in (with_it, without)]
    np.testing.assert_allclose(
        with_it.influence(outputs, label, risks[0]),
        without.influence(outputs, label, risks[1]),
        rtol=1e-12,
        atol=1e-15,
    )


@pytest.mark.parametrize("kind", CURVES)
def test_a_thousand_thresholds_agree_with_the_dense_matrices(kind: type[Measure]) -> None:
    rng = np.random.default_rng(0)
    outputs, label = make_pool(0, rows=300)
    measure = kind(thresholds=tuple(np.sort(rng.normal(size=1024)).tolist()))
    risk = risk_of(measure, outputs, label)
    dense = Measure.influence(measure, outputs, label, risk)
    found = measure.influence(outputs, label, risk)
    np.testing.assert_allclose(found, dense, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(
        measure.squared_norm(outputs, label, risk),
        np.nansum(measure.importance * dense**2, axis=1),
        rtol=1e-8,
    )


@pytest.mark.parametrize("kind", CURVES)
@pytest.mark.parametrize(
    ("thresholds", "words"),
    [
        ((), "needs at least one threshold"),
        ((1.0, 1.0), "strictly increasing"),
        ((2.0, 1.0), "strictly increasing"),
        ((0.0, math.inf), "finite"),
        ((math.nan,), "finite"),
    ],
)
def test_thresholds_must_increase(
    kind: type[Measure], thresholds: tuple[float, ...], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        kind(thresholds=thresholds)


SCORE = np.array([9.0, 8, 7, 6, 5, 4, 3, 2, 1, 0])
LABEL = np.array([1, 1, 0, 1, 0, 0, 1, 0, 0, 0])


def precision(recall: float, thresholds: tuple[float, ...]) -> float:
    outputs = Outputs(np.zeros((10, 1), int), SCORE[:, None], np.zeros((10, 1, 2)))
    return float(value_of(PrecisionAtRecall(thresholds, recall=recall), outputs, LABEL)[0])


@pytest.mark.parametrize(("recall", "expected"), [(0.25, 1), (0.5, 1), (0.75, 3 / 4), (1.0, 4 / 7)])
def test_of_all_scores_it_is_counted(recall: float, expected: float) -> None:
    """The rows down to the positive that makes the recall."""
    assert precision(recall, tuple(range(10))) == pytest.approx(expected)


def test_between_thresholds_rows_are_interpolated() -> None:
    """Of the rows 6 to 2.5, with 1 positive among 4, half a positive takes two rows."""
    assert precision(0.875, (2.5, 6.0)) == pytest.approx(3.5 / (4 + 3 / 2))
    # Beyond the last threshold nothing is reached: 1 of 3 positives among 4 rows.
    assert precision(0.25, (2.5, 6.0)) == pytest.approx(3 / 4)
    # Below the first are all rows: 2 of 4 positives among the 3 rows from 6.5 on.
    assert precision(0.75, (6.5, 8.0)) == pytest.approx(3 / (3 + 7 / 2))
    assert precision(1.0, (6.5, 8.0)) == pytest.approx(4 / 10)
    assert np.isnan(PrecisionAtRecall((0.0,)).value(np.array([0.5, 0.0, 0.0]))).all()


def test_it_is_the_curves_precision_where_a_threshold_has_the_recall() -> None:
    outputs, label = make_pool(5, rows=90)
    curve = PRCurve((-1.0, 0.0, 0.6, 1.2))
    precisions, recalls, _ = np.split(value_of(curve, outputs, label), 3)
    for one, recall in zip(precisions, recalls, strict=True):
        at = PrecisionAtRecall(curve.thresholds, recall=float(recall))
        assert value_of(at, outputs, label)[0] == pytest.approx(one)


def test_a_step_that_luck_made_high_has_the_rate_of_it_and_the_next() -> None:
    """10 positives of 10 rows and then 6 of 20: 16 of 30. Half of all 20 are found by 24 rows."""
    risk = np.array([0.6, 0.3, 0.2, 0.2, 0.16, 0.06, 0.2])
    slopes = PrecisionAtRecall((0.0, 1.0, 2.0), recall=0.5).jacobian(risk)[0, 3:6]
    assert slopes == pytest.approx(np.array([0, 0.4, 0.6]) * 0.1 / 0.24**2 / (16 / 30))


@pytest.mark.parametrize("recall", [0, 1.5, "much", True])
def test_wrong_recalls(recall: object) -> None:
    with pytest.raises(ValueError, match="recall must be"):
        PrecisionAtRecall((0.0,), recall=recall)  # type: ignore[arg-type]
