"""Intervals against scipy, and their coverage."""

import math

import numpy as np
import pytest
from scipy import stats

from evalsampling.stats.intervals import Interval, interval_score, korn_graubard, wald


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(("hits", "size"), [(1, 10), (9, 10), (5, 10), (2, 200), (137, 1000)])
def test_korn_graubard_of_a_simple_random_sample_is_clopper_pearson(
    hits: int, size: int, confidence: float
) -> None:
    share = hits / size
    found = korn_graubard(share, math.sqrt(share * (1 - share) / size), 10 * size, confidence)
    exact = stats.binomtest(hits, size).proportion_ci(confidence, method="exact")
    assert found.low == pytest.approx(exact.low, rel=1e-9)
    assert found.high == pytest.approx(exact.high, rel=1e-9)
    assert (found.kind, found.method) == ("design-based", "korn-graubard")


@pytest.mark.parametrize(("hits", "size"), [(1, 10), (5, 10), (19, 20)])
def test_korn_graubard_counts_no_more_rows_than_were_drawn(hits: int, size: int) -> None:
    found = korn_graubard(hits / size, 1e-6, size, 0.95)
    exact = stats.binomtest(hits, size).proportion_ci(0.95, method="exact")
    assert found.low == pytest.approx(exact.low, rel=1e-9)
    assert found.high == pytest.approx(exact.high, rel=1e-9)


def test_korn_graubard_is_the_beta_interval_of_the_effective_size() -> None:
    """Design effect 3 at .4 from 300 draws: n = 100, x = 40; at .37 x = 37."""
    for share in (0.4, 0.37, 0.123):
        error = math.sqrt(3 * share * (1 - share) / 300)
        found = korn_graubard(share, error, 300, 0.9)
        x = 100 * share
        assert found.low == pytest.approx(stats.beta.ppf(0.05, x, 101 - x), rel=1e-9)
        assert found.high == pytest.approx(stats.beta.ppf(0.95, x + 1, 100 - x), rel=1e-9)


@pytest.mark.parametrize("value", [0.0, -0.2, 1.0, 1.2])
def test_korn_graubard_at_and_beyond_the_ends_claims_nothing(value: float) -> None:
    """The effective size is zero there."""
    found = korn_graubard(value, 0.1, 100, 0.95)
    assert (found.low, found.high) == (0, 1)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_wald_is_the_normal_interval(confidence: float) -> None:
    found = wald(0.4, 0.05, confidence, (-10, 10))
    low, high = stats.norm.interval(confidence, 0.4, 0.05)
    assert found.low == pytest.approx(low, rel=1e-12)
    assert found.high == pytest.approx(high, rel=1e-12)


def test_wald_is_cut_at_the_bounds() -> None:
    assert (wald(0.01, 0.1, 0.95, (0, 1)).low, wald(0.99, 0.1, 0.95, (0, 1)).high) == (0, 1)
    assert wald(-0.99, 0.1, 0.95, (-1, 1)).low == -1
    narrow = wald(0.3, 0.0, 0.95, (0, 1))
    assert (narrow.low, narrow.high) == (0.3, 0.3)


@pytest.mark.parametrize("value", [-0.5, 1.5])
def test_wald_of_a_value_beyond_the_bounds_is_an_interval(value: float) -> None:
    found = wald(value, 0.1, 0.95, (0, 1))
    assert 0 <= found.low <= found.high <= 1


def test_interval_score_by_hand() -> None:
    interval = Interval(0.2, 0.5, "", "")
    assert interval_score(interval, 0.3, 0.95) == pytest.approx(0.3)
    assert interval_score(interval, 0.5, 0.95) == pytest.approx(0.3)
    assert interval_score(interval, 0.1, 0.95) == pytest.approx(0.3 + 40 * 0.1)
    assert interval_score(interval, 0.52, 0.9) == pytest.approx(0.3 + 20 * 0.02)


def test_interval_score_is_least_for_the_quantiles() -> None:
    """It is a proper score: of all intervals the 80 % quantiles of the truth have the least."""
    truth = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)

    def mean_score(low: float, high: float) -> float:
        interval = Interval(low, high, "", "")
        return float(np.mean([interval_score(interval, t, 0.8) for t in truth]))

    z = 1.2816
    best = mean_score(-z, z)
    for low, high in [(-z - 0.2, z), (-z, z + 0.2), (-z + 0.2, z - 0.2), (-z, z - 0.2)]:
        assert mean_score(low, high) > best


def _korn_graubard_of_proportion(hits: int, draws: int, confidence: float) -> tuple[float, float]:
    """As the estimator does: N - 1 in the variance, the whole range where that is zero."""
    share = hits / draws
    error = math.sqrt(share * (1 - share) / (draws - 1))
    if not error:
        return 0.0, 1.0
    found = korn_graubard(share, error, draws, confidence)
    return found.low, found.high


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("draws", [15, 60, 250])
def test_korn_graubard_covers_every_proportion(draws: int, confidence: float) -> None:
    """Exact coverage, summed over all outcomes: never below the level, as for Clopper-Pearson."""
    ends = np.array([_korn_graubard_of_proportion(x, draws, confidence) for x in range(draws + 1)])
    for share in np.linspace(0.003, 0.997, 143):
        chance = stats.binom.pmf(np.arange(draws + 1), draws, share)
        covered = chance[(ends[:, 0] <= share) & (share <= ends[:, 1])].sum()
        assert covered >= confidence


def test_korn_graubard_covers_a_weighted_proportion() -> None:
    """Coverage of 3,000 simulated importance samples of 200 draws.

    Strata of three-quarters and a quarter of the pool are drawn as often, and the normalising
    weights make the estimate a ratio. Korn-Graubard is conservative but approximate here: the
    observed coverage, give or take 3.3 of its standard errors (sqrt(.95 x .05 / 3,000) = .004,
    a chance of 1 in 1,000), must lie between the nominal .95 and .98.
    """
    rng = np.random.default_rng(4)
    share, draws, repeats = np.array([0.1, 0.4]), 200, 3000
    truth = 0.75 * 0.1 + 0.25 * 0.4
    stratum = rng.integers(0, 2, (repeats, draws))
    hit = rng.random((repeats, draws)) < share[stratum]
    weights = np.array([0.75, 0.25])[stratum] / 0.5
    value = (weights * hit).sum(axis=1) / weights.sum(axis=1)
    residuals = weights * (hit - value[:, None]) / weights.mean(axis=1)[:, None]
    error = residuals.std(axis=1, ddof=1) / math.sqrt(draws)
    covered = 0
    for v, e in zip(value.tolist(), error.tolist(), strict=True):
        found = korn_graubard(v, e, draws, 0.95)
        covered += found.low <= truth <= found.high
    slack = 3.3 * math.sqrt(0.95 * 0.05 / repeats)
    assert 0.95 - slack < covered / repeats < 0.98 + slack
