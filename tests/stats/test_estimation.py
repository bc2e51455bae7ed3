"""The weighted estimator by hand, by numpy, and at the limits of what data allow."""

import math

import numpy as np
import pytest

from evalsampling.stats.estimation import (
    FEWEST_EVIDENCE,
    Estimate,
    WeightedRisk,
    estimate_measure,
    unsupported,
    weighted_risk,
)


def test_weighted_risk_by_hand() -> None:
    """Terms w l are (1, 1), (0, 1), (2, 4); deviations from (1, 2): (0, -1), (-1, -1), (1, 2)."""
    weights = np.array([1.0, 0.5, 2.0])
    losses = np.array([[1.0, 1.0], [0.0, 2.0], [1.0, 2.0]])
    risk = weighted_risk(weights, losses)
    assert risk.mean.tolist() == [1, 2]
    np.testing.assert_allclose(risk.covariance, [[2 / 6, 3 / 6], [3 / 6, 6 / 6]], rtol=1e-15)
    assert risk.draws == 3


def test_covariance_is_that_of_a_mean() -> None:
    rng = np.random.default_rng(0)
    weights, losses = rng.exponential(size=50), rng.normal(size=(50, 3))
    risk = weighted_risk(weights, losses)
    terms = weights[:, None] * losses
    np.testing.assert_allclose(risk.mean, np.average(terms, axis=0), rtol=1e-12)
    np.testing.assert_allclose(risk.covariance, np.cov(terms, rowvar=False) / 50, rtol=1e-12)


def test_risk_of_one_and_of_no_draw() -> None:
    one = weighted_risk(np.array([2.0]), np.array([[0.5, 1.0]]))
    assert one.mean.tolist() == [1, 2]
    assert not one.covariance.any()
    none = weighted_risk(np.zeros(0), np.zeros((0, 2)))
    assert none.mean.tolist() == [0, 0]
    assert not none.covariance.any()
    assert none.draws == 0


def estimate(
    value: float = 0.5,
    jacobian: list[float] | None = None,
    covariance: list[list[float]] | None = None,
    draws: int = 100,
    evidence: int = 50,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Estimate:
    risk = WeightedRisk(
        np.array([0.5, 1.0]), np.array(covariance or [[0.01, 0.002], [0.002, 0.04]]), draws, draws
    )
    return estimate_measure(
        name="f1",
        bounds=bounds,
        value=value,
        jacobian=np.array([jacobian or [1.0, -0.5]]),
        risk=risk,
        evidence=evidence,
        evidence_name="positives",
        confidence=0.95,
    )


def test_standard_error_by_the_delta_method() -> None:
    """.01 - 2 x .5 x .002 + .25 x .04 = .018."""
    found = estimate()
    assert found.standard_error == pytest.approx(math.sqrt(0.018), rel=1e-14)
    assert found.value == 0.5
    assert [i.method for i in found.intervals] == ["korn-graubard", "wald"]
    reach = 1.959963984540054 * math.sqrt(0.018)
    assert found.intervals[1].low == pytest.approx(0.5 - reach, rel=1e-14)
    assert found.intervals[1].high == pytest.approx(0.5 + reach, rel=1e-14)
    assert (found.reason, found.warnings) == (None, ())


def test_standard_error_of_a_ratio_is_that_of_its_residuals() -> None:
    """Survey formula: the variance of the ratio is that of the mean of w (l1 - G l2) / R2."""
    rng = np.random.default_rng(1)
    weights = rng.exponential(size=80)
    losses = np.stack([rng.random(80) < 0.4, rng.random(80) + 0.5], axis=1).astype(float)
    risk = weighted_risk(weights, losses)
    ratio = risk.mean[0] / risk.mean[1]
    jacobian = np.array([[1 / risk.mean[1], -ratio / risk.mean[1]]])
    found = estimate_measure("ratio", (0, 1), ratio, jacobian, risk, 50, "rows", 0.9)
    residuals = weights * (losses[:, 0] - ratio * losses[:, 1]) / risk.mean[1]
    assert found.standard_error == pytest.approx(np.std(residuals, ddof=1) / np.sqrt(80), rel=1e-12)


def assert_whole_range(found: Estimate, word: str) -> None:
    default = found.intervals[0]
    assert (default.low, default.high) == (0, 1)
    assert len(found.warnings) == 1
    assert word in found.warnings[0]


def test_no_draws() -> None:
    found = estimate(value=math.nan, draws=0)
    assert (found.value, found.standard_error) == (None, None)
    assert found.reason == "no labels yet"
    assert (found.intervals[0].low, found.intervals[0].high) == (0, 1)


def test_undefined_value_is_none_with_a_reason() -> None:
    found = estimate(value=math.nan, jacobian=[math.nan, math.nan])
    assert (found.value, found.standard_error) == (None, None)
    assert found.reason is not None
    assert "0/0" in found.reason
    assert "positives" in found.reason
    assert_whole_range(found, "undefined")


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_zero_variance_claims_nothing(value: float) -> None:
    found = estimate(value=value, covariance=[[0.0, 0.0], [0.0, 0.0]])
    assert_whole_range(found, "zero")
    assert found.standard_error == 0
    assert found.value == value
    assert (found.intervals[1].low, found.intervals[1].high) == (value, value)


def test_variance_that_rounding_made_negative_is_zero() -> None:
    found = estimate(covariance=[[0.01, 0.02], [0.02, 0.04 - 1e-17]])
    assert_whole_range(found, "zero")


def test_variance_of_rounding_errors_is_zero() -> None:
    """Rows that all agree, each with both losses alike: l1 - G l2 is zero for any weights."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        risk = weighted_risk(rng.exponential(size=40), np.ones((40, 2)))
        r1, r2 = risk.mean
        jacobian = np.array([[1 / r2, -r1 / r2**2]])
        found = estimate_measure("f1", (0, 1), r1 / r2, jacobian, risk, 40, "positives", 0.95)
        assert found.value == 1
        assert_whole_range(found, "zero")


@pytest.mark.parametrize("evidence", [0, 1, FEWEST_EVIDENCE - 1])
def test_few_rows_of_evidence_claim_nothing(evidence: int) -> None:
    found = estimate(evidence=evidence)
    assert_whole_range(found, f"only {evidence} positives")
    assert found.intervals[1].method == "wald"
    assert found.intervals[1].high < 1
    assert found.value == 0.5


def test_enough_evidence_claims_something() -> None:
    found = estimate(evidence=FEWEST_EVIDENCE)
    assert found.warnings == ()
    assert 0 < found.intervals[0].low < 0.5 < found.intervals[0].high < 1


def test_whole_range_is_that_of_the_measure() -> None:
    found = estimate(value=-0.25, evidence=1, bounds=(-1.0, 1.0))
    assert (found.intervals[0].low, found.intervals[0].high) == (-1, 1)
    assert found.intervals[1].low < -0.25


def test_unsupported_measure_names_both() -> None:
    found = unsupported("recall", (0.0, 1.0), 0.9, "precision")
    assert (found.value, found.standard_error, found.confidence) == (None, None, 0.9)
    assert found.reason is not None
    assert "recall" in found.reason
    assert "precision" in found.reason
    assert_whole_range(found, "no chance")
