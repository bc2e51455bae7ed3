"""Weighted samples against the formulas draw by draw, and against all samples there can be."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from evalsampling.inference.sample import (
    WeightedSample,
    design_effect,
    effective_size,
    largest_share,
)


def assert_agree(sample: WeightedSample, values: np.ndarray, exact: bool = True) -> None:
    """Variance, covariance and contributions tell the same story."""
    covariance = sample.covariance(values)
    np.testing.assert_allclose(covariance, covariance.T, rtol=1e-12, atol=1e-18)
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance))).max() + 1e-300
    np.testing.assert_allclose(
        sample.variance(values), np.diag(covariance), rtol=1e-9, atol=1e-12 * scale
    )
    terms = sample.contributions(values)
    assert terms.shape == values.shape
    if exact:
        np.testing.assert_allclose(
            (terms**2).sum(axis=0), np.diag(covariance), rtol=1e-9, atol=1e-12 * scale
        )


def make_draws(
    seed: int, questions: int = 30, draws: int = 80
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Questions drawn, a weight for each question, losses of each."""
    rng = np.random.default_rng(seed)
    question = rng.integers(0, questions, draws)
    weight = rng.exponential(size=questions)
    return question, weight, rng.normal(size=(questions, 3))


@pytest.mark.parametrize("seed", range(2))
def test_draws_with_replacement_equal_the_mean_of_the_draws(seed: int) -> None:
    """Rows drawn again included, each with the same weight every time."""
    question, weight, losses = make_draws(seed)
    sample = WeightedSample.with_replacement(question, weight[question], 30)
    terms = weight[question, None] * losses[question]
    values = losses[sample.question]
    np.testing.assert_allclose(sample.mean(values), terms.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        sample.covariance(values), np.cov(terms, rowvar=False) / 80, rtol=1e-9
    )
    assert sample.question.tolist() == sorted(set(question.tolist()))
    assert_agree(sample, values)


@pytest.mark.parametrize("seed", range(2))
def test_weights_that_change_from_round_to_round_and_draws_without_label(seed: int) -> None:
    """Weights belong to draws; a draw of weight 0 counts in N and in nothing else.

    Contributions of a row drawn with different weights are pooled, which loses some of its own
    variance: their squares add up to no more than the variance.
    """
    rng = np.random.default_rng(seed)
    question, _, losses = make_draws(seed)
    weight = rng.exponential(size=80) * (rng.random(80) < 0.7)
    weight[question == 4] = 0
    sample = WeightedSample.with_replacement(question, weight, 30)
    assert 4 not in sample.question
    terms = weight[:, None] * losses[question]
    values = losses[sample.question]
    assert sample.draws == 80
    np.testing.assert_allclose(sample.mean(values), terms.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        sample.covariance(values), np.cov(terms, rowvar=False) / 80, rtol=1e-9
    )
    assert_agree(sample, values, exact=False)
    squares = (sample.contributions(values) ** 2).sum(axis=0)
    assert np.all(squares <= sample.variance(values) * (1 + 1e-12))
    assert np.all(squares > 0.5 * sample.variance(values))


def test_risk_of_one_and_of_no_draw() -> None:
    one = WeightedSample.with_replacement(np.array([0]), np.array([2.0]), 1)
    losses = np.array([[0.5, 1.0]])
    assert one.mean(losses).tolist() == [1, 2]
    assert not one.covariance(losses).any()
    assert one.variance(losses).tolist() == [0, 0]
    none = WeightedSample.with_replacement(np.zeros(0, np.int64), np.zeros(0), 0)
    losses = np.zeros((0, 2))
    assert none.mean(losses).tolist() == [0, 0]
    assert not none.covariance(losses).any()
    assert none.draws == 0
    assert none.with_latest(np.zeros(0)).latest_variance(losses) is None


def test_variance_as_the_latest_proposal_would_have_it() -> None:
    """Sigma = (1/N) sum_j p^2 l l' / (q_N q_{j-1}) - R^ R^', over N: [MR] section 3."""
    rng = np.random.default_rng(5)
    question, _, losses = make_draws(5)
    rows, p = 200, 1 / 200
    q, q_latest = rng.uniform(0.1, 2, 80) / rows, rng.uniform(0.1, 2, 30) / rows
    sample = WeightedSample.with_replacement(question, p / q, 30)
    assert sample.latest_variance(losses[sample.question]) is None
    sample = sample.with_latest(p / q_latest)
    l = losses[question]  # noqa: E741
    risk = np.mean((p / q)[:, None] * l, axis=0)
    sigma = sum(
        p**2 * np.outer(l[j], l[j]) / (q_latest[question[j]] * q[j]) for j in range(80)
    ) / 80 - np.outer(risk, risk)
    found = sample.latest_variance(losses[sample.question])
    np.testing.assert_allclose(found, np.diag(sigma) / 80, rtol=1e-12)


def test_variance_of_the_latest_proposal_is_never_negative() -> None:
    sample = WeightedSample.with_replacement(np.array([0, 1]), np.ones(2), 2)
    found = sample.with_latest(np.array([0.1, 0.1])).latest_variance(np.ones((2, 1)))
    assert found.tolist() == [0]


# Without replacement: three strata, two losses.
STRATA = [np.array([0, 0, 0, 0]), np.array([1, 1, 1]), np.array([2, 2, 2, 2, 2])]
ROWS = np.array([4, 3, 5])
VALUES = np.random.default_rng(7).normal(size=(12, 2)) + np.repeat([0, 3, -1], ROWS)[:, None]


def samples(sizes: tuple[int, ...], rows: np.ndarray = ROWS) -> Iterator[np.ndarray]:
    """All stratified samples of given sizes, each as likely: indices of rows."""
    ends = np.cumsum(rows)
    parts = [
        itertools.combinations(range(end - count, end), size)
        for count, end, size in zip(rows.tolist(), ends.tolist(), sizes, strict=True)
    ]
    for choice in itertools.product(*parts):
        yield np.array([row for part in choice for row in part])


def stratified(chosen: np.ndarray, rows: np.ndarray = ROWS) -> WeightedSample:
    stratum = np.repeat(np.arange(len(rows)), rows)
    return WeightedSample.stratified(np.arange(len(chosen)), stratum[chosen], rows)


def cochran(chosen: np.ndarray, column: np.ndarray) -> tuple[float, float]:
    """Mean and variance stratum by stratum: sections 5.3, 5.4 of Cochran."""
    stratum, mean, variance = np.repeat(np.arange(3), ROWS), 0.0, 0.0
    for k, total in enumerate(ROWS.tolist()):
        inside = column[chosen[stratum[chosen] == k]]
        n, share = len(inside), total / ROWS.sum()
        mean += share * inside.mean()
        variance += share**2 * (1 - n / total) * inside.var(ddof=1) / n
    return mean, variance


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 4), (4, 3, 5), (2, 3, 3)], ids=str)
def test_strata_give_the_survey_formulas_which_are_unbiased(sizes: tuple[int, ...]) -> None:
    means, covariances = [], []
    for chosen in samples(sizes):
        sample = stratified(chosen)
        values = VALUES[chosen]
        for i in range(2):
            mean, variance = cochran(chosen, VALUES[:, i])
            assert sample.mean(values)[i] == pytest.approx(mean, abs=1e-12)
            assert sample.variance(values)[i] == pytest.approx(variance, abs=1e-12)
        means.append(sample.mean(values))
        covariances.append(sample.covariance(values))
        assert sample.weight.sum() == pytest.approx(1, abs=1e-12)
        assert sample.draws == sum(sizes)
        assert_agree(sample, values)
    np.testing.assert_allclose(np.mean(means, axis=0), VALUES.mean(axis=0), atol=1e-12)
    actual = np.cov(np.array(means), rowvar=False, ddof=0) if len(means) > 1 else np.zeros((2, 2))
    np.testing.assert_allclose(np.mean(covariances, axis=0), actual, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 1, 3), (1, 2, 1), (2, 1, 2), (1, 3, 5)], ids=str)
@pytest.mark.parametrize("values", ["apart", "alike"])
def test_strata_with_one_row_err_on_the_large_side(sizes: tuple[int, ...], values: str) -> None:
    """On average over all samples; also where all strata have the same mean, or one is alone.

    ``alike``: strata whose weighted means are the same, so that nothing lies between them.
    """
    column = VALUES[:, :1].copy()
    if values == "alike":
        for k, part in enumerate(STRATA):
            rows = np.repeat(np.arange(3), ROWS) == k
            column[rows] += 1 / len(part) - column[rows].mean()
    means, variances = [], []
    for chosen in samples(sizes):
        sample = stratified(chosen)
        means.append(sample.mean(column[chosen]))
        variances.append(sample.variance(column[chosen]))
        assert_agree(sample, column[chosen])
    np.testing.assert_allclose(np.mean(means), column.mean(), atol=1e-12)
    actual = np.var(means)
    assert np.mean(variances) >= actual * (1 - 1e-12)
    if values == "alike" and sizes == (1, 1, 1):
        assert np.mean(variances) == pytest.approx(actual, rel=1e-12)


def test_strata_of_one_row_are_known_for_sure() -> None:
    """They are a census: no variance, whatever their neighbours are."""
    rows = np.array([1, 4, 1, 1])
    values = np.array([[5.0], [0.0], [1.0], [7.0], [-3.0]])
    sample = WeightedSample.stratified(np.arange(5), np.array([0, 1, 1, 2, 3]), rows)
    assert sample.mean(values)[0] == pytest.approx((5 + 4 * 0.5 + 7 - 3) / 7)
    expected = (4 / 7) ** 2 * (1 - 2 / 4) * 0.5 / 2
    assert sample.variance(values)[0] == pytest.approx(expected, rel=1e-12)
    assert_agree(sample, values)


def test_strata_without_a_label_are_left_out() -> None:
    """The others are renormalised, as the authors of [MR] do."""
    rows = np.array([10, 90, 30])
    sample = WeightedSample.stratified(np.array([3, 5, 8]), np.array([0, 2, 2]), rows)
    np.testing.assert_allclose(sample.weight, [10 / 40, 15 / 40, 15 / 40])
    assert sample.question.tolist() == [3, 5, 8]
    values = np.array([[1.0], [2.0], [4.0]])
    assert sample.mean(values)[0] == pytest.approx(0.25 * 1 + 0.75 * 3)


def test_no_labels_in_any_stratum() -> None:
    none = np.zeros(0, dtype=np.int64)
    sample = WeightedSample.stratified(none, none, np.array([3, 0]))
    assert sample.draws == 0
    assert sample.mean(np.zeros((0, 2))).tolist() == [0, 0]


def test_census_of_all_strata_has_no_variance() -> None:
    sample = stratified(np.arange(12))
    np.testing.assert_allclose(sample.mean(VALUES), VALUES.mean(axis=0))
    assert sample.variance(VALUES).tolist() == [0, 0]


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_effective_size_does_not_depend_on_the_unit(unit: float) -> None:
    assert effective_size(np.array([1.0, 2.0, 3.0]) * unit) == pytest.approx(36 / 14)
    assert largest_share(np.array([1.0, 2.0, 3.0]) * unit) == pytest.approx(1 / 2)


@pytest.mark.parametrize("weight", [np.zeros(0), np.zeros(3)])
def test_no_weight_is_no_sample(weight: np.ndarray) -> None:
    assert effective_size(weight) == largest_share(weight) == 0


def test_design_effect_of_a_simple_random_sample_is_one() -> None:
    assert design_effect(math.sqrt(0.3 * 0.7 / 200), 0.3 * 0.7, 200) == pytest.approx(1)
    assert design_effect(0.1, 0.25, 100) == pytest.approx(4)
    assert design_effect(0.0, 0.25, 100) == 0
    assert design_effect(0.1, 0.0, 100) is None


def test_effective_size_predicts_the_variance_under_weights_that_know_nothing() -> None:
    """Variance of a weighted mean of 50 unit normals, 40,000 samples: within 3.3 s.e. (2.3 %)."""
    rng = np.random.default_rng(7)
    weight = rng.gamma(1.0, size=50)
    means = rng.standard_normal((40_000, 50)) @ weight / weight.sum()
    assert means.var() * effective_size(weight) == pytest.approx(1, rel=3.3 * math.sqrt(2 / 40_000))


def test_design_effect_of_recall_counts_how_seldom_positives_are_drawn() -> None:
    """20,000 random samples of 400, prevalence .3: the linearised variance is within 5 %."""
    rng = np.random.default_rng(8)
    positives = rng.binomial(400, 0.3, 20_000)
    recall = rng.binomial(positives, 0.8) / positives
    effect = design_effect(float(recall.std()), 0.8 * 0.2 / 0.3, 400)
    assert effect == pytest.approx(1, rel=0.05)
