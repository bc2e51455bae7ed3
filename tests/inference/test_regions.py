"""Regions and bands against scipy."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special, stats

from evalsampling.inference.regions import Bands, f_ellipsoid, simultaneous_bands
from tests.slow import fast

FloatArray = npt.NDArray[np.float64]

COVARIANCE = np.array([[4e-4, 1e-4, 0], [1e-4, 1e-4, -2e-5], [0, -2e-5, 9e-6]])
CENTRE = np.array([0.3, 0.5, 0.9])


def test_f_region_is_the_one_of_the_source_written_for_sigma() -> None:
    """Sigma = N x covariance: points just inside and outside the bound of [MR]."""
    draws = 25
    sigma = draws * COVARIANCE
    bound = (draws - 1) * 3 / (draws * (draws - 3)) * stats.f.ppf(0.95, 3, draws - 3)
    region = f_ellipsoid(CENTRE, COVARIANCE, draws, 0.95)
    for direction in np.random.default_rng(1).standard_normal((20, 3)):
        unit = direction / math.sqrt(direction @ np.linalg.solve(sigma, direction))
        assert region.contains(CENTRE + 0.999 * math.sqrt(bound) * unit)
        assert not region.contains(CENTRE + 1.001 * math.sqrt(bound) * unit)


@pytest.mark.parametrize("draws", [2, 5, 40])
def test_region_of_one_measure_is_the_interval(draws: int) -> None:
    value, variance = np.array([0.4]), np.array([[0.01]])
    region, high = (
        f_ellipsoid(value, variance, draws, 0.95),
        stats.t.ppf(0.975, draws - 1, 0.4, 0.1),
    )
    assert math.sqrt(region.radius) * 0.1 == pytest.approx(high - 0.4)
    assert region.contains(np.array([high - 1e-9]))
    assert not region.contains(np.array([high + 1e-9]))


def _coverage(draws: int, repeats: int, rank: int) -> float:
    """Share of F regions that hold the mean of normal terms of rank 2 or 3 in three measures."""
    rng = np.random.default_rng(draws + rank)
    mix = np.linalg.cholesky(COVARIANCE)
    if rank == 2:
        mix[2] = 2 * mix[0] - mix[1]
    held = 0
    for _ in range(repeats):
        terms = CENTRE + rng.standard_normal((draws, 3)) @ mix.T
        covariance = np.cov(terms.T) / draws
        held += f_ellipsoid(terms.mean(axis=0), covariance, draws, 0.95).contains(CENTRE)
    return held / repeats


@pytest.mark.slow
@pytest.mark.parametrize(("draws", "rank"), fast(1, [(5, 3), (12, 3), (8, 2)]))
def test_f_region_covers_a_normal_mean_exactly(draws: int, rank: int) -> None:
    """4,000 samples: within 3.3 standard errors (.011) of .95, also for a singular covariance."""
    slack = 3.3 * math.sqrt(0.95 * 0.05 / 4000)
    assert _coverage(draws, 4000, rank) == pytest.approx(0.95, abs=slack)


def test_projections_bound_what_a_singular_covariance_does_not() -> None:
    """The second measure is twice the first to first order, the third is constant."""
    covariance = 1e-4 * np.array([[1.0, 2, 0], [2, 4, 0], [0, 0, 0]])
    centre = np.array([0.2, 0.4, 0.7])
    region = f_ellipsoid(centre, covariance, 30, 0.95)
    assert region.radius == pytest.approx(stats.f.ppf(0.95, 1, 29))
    assert region.contains(np.array([0.21, 0.42, 0.7]))
    assert not region.contains(np.array([0.23, 0.46, 0.7]))
    assert region.contains(np.array([0.21, 0.4201, 0.7]))
    assert not region.contains(np.array([0.21, 0.442, 0.7]))
    assert not region.contains(np.array([0.21, 0.42, 0.701]))


def test_measures_of_different_scale_do_not_hide_each_other() -> None:
    """Costs in thousands beside a rate: the covariance is not singular."""
    covariance = np.diag([1e6, 1e-8])
    region = f_ellipsoid(np.array([5e4, 0.01]), covariance, 10**8, 0.95)
    assert region.radius == pytest.approx(stats.chi2.ppf(0.95, 2))
    assert not region.contains(np.array([5e4, 0.0105]))


def test_region_without_variance_is_the_centre() -> None:
    for region in (
        f_ellipsoid(CENTRE, np.zeros((3, 3)), 30, 0.95),
        f_ellipsoid(CENTRE, 1e-20 * np.eye(3), 30, 0.95),
    ):
        assert region.radius == 0
        assert region.contains(CENTRE)
        assert not region.contains(CENTRE + 0.001)


def test_too_few_draws_allow_no_claim() -> None:
    region = f_ellipsoid(CENTRE, COVARIANCE, 3, 0.95)
    assert region.radius == math.inf
    assert region.contains(np.array([-5.0, 0, 1e6]))


def test_a_point_with_nan_is_outside() -> None:
    region = f_ellipsoid(CENTRE, COVARIANCE, 30, 0.95)
    assert not region.contains(np.array([0.3, np.nan, 0.9]))


@pytest.mark.parametrize("spoiled", ["value", "covariance"])
def test_undefined_measures_are_refused(spoiled: str) -> None:
    value, covariance = CENTRE.copy(), COVARIANCE.copy()
    (value if spoiled == "value" else covariance)[0] = np.nan
    with pytest.raises(ValueError, match="finite"):
        f_ellipsoid(value, covariance, 30, 0.95)


def _bands(value: FloatArray, contributions: FloatArray, seed: int = 0) -> Bands:
    return simultaneous_bands(value, contributions, 0.95, (0, 1), np.random.default_rng(seed))


def test_critical_value_of_independent_components_is_that_of_their_maximum() -> None:
    """P(max of 20 |normals| <= c) = .95; 20,000 replicates, within 1 %."""
    contributions = 0.01 * np.eye(20)
    found = simultaneous_bands(
        np.full(20, 0.5), contributions, 0.95, (0, 1), np.random.default_rng(2), replicates=20_000
    )
    exact = stats.norm.ppf((1 + 0.95 ** (1 / 20)) / 2)
    assert found.critical == pytest.approx(exact, rel=0.01)
    np.testing.assert_allclose(found.low, special.expit(-0.04 * found.critical))
    np.testing.assert_allclose(found.high, special.expit(0.04 * found.critical))


def test_bands_are_never_narrower_than_the_interval_of_one_component() -> None:
    contributions = 0.01 * np.random.default_rng(3).standard_normal((30, 1))
    error = float(np.linalg.norm(contributions))
    reach = 4 * stats.norm.ppf(0.975) * error
    for seed in range(5):
        found = _bands(np.array([0.5]), contributions, seed)
        assert found.low[0] <= special.expit(-reach) + 1e-12
        assert found.high[0] >= special.expit(reach) - 1e-12
        assert found.critical == pytest.approx(stats.norm.ppf(0.975), rel=0.25)


def test_bands_do_not_end_at_the_bounds() -> None:
    """A tenth of a standard error above 0: the plain band would end below it."""
    contributions = 0.1 * np.eye(2)
    found = _bands(np.array([0.01, 0.99]), contributions)
    assert 0 < found.low[0] < 0.01 < found.high[0] <= 1
    assert 0 <= found.low[1] < 0.99 < found.high[1] < 1


def test_value_at_a_bound_has_no_band() -> None:
    contributions = 0.01 * np.random.default_rng(4).standard_normal((50, 3))
    found = _bands(np.array([0.0, 0.5, 1.0]), contributions)
    assert found.claimed.tolist() == [False, True, False]
    assert (found.low[[0, 2]].tolist(), found.high[[0, 2]].tolist()) == ([0, 0], [1, 1])


def test_each_component_has_its_own_bounds() -> None:
    """The bounds of the first were taken for all: 23.7 had a band from 0 to 1."""
    value, error = np.array([0.4, 23.7, -5.0]), np.array([0.05, 2.0, 3.0])
    low, high = np.array([0.0, 0.0, -math.inf]), np.array([1.0, 100.0, math.inf])
    rng = np.random.default_rng(1)
    found = simultaneous_bands(value, np.diag(error), 0.9, (low, high), rng)
    ends = np.stack([found.low, value, found.high])
    share = (ends[:, :2] - low[:2]) / (high[:2] - low[:2])
    slope = high[:2] * share[1] * (1 - share[1])  # of the value by its log-odds
    log_odds = special.logit(share)
    np.testing.assert_allclose(np.diff(log_odds, axis=0) * slope / error[:2], found.critical)
    np.testing.assert_allclose(np.diff(ends[:, 2]) / error[2], found.critical)


def test_components_without_value_or_error_get_the_whole_range_and_change_nothing() -> None:
    contributions = 0.01 * np.random.default_rng(4).standard_normal((50, 3))
    value = np.array([0.3, 0.5, 0.7])
    alone = _bands(value, contributions)
    spoiled = np.column_stack(
        [np.zeros(50), contributions, contributions[:, 0], np.full(50, np.nan), np.full(50, 1e-18)]
    )
    found = _bands(np.array([1.0, *value, np.nan, 0.5, 0.5]), spoiled)
    assert found.claimed.tolist() == [False, True, True, True, False, False, False]
    assert found.critical == alone.critical
    np.testing.assert_array_equal(found.low[1:4], alone.low)
    np.testing.assert_array_equal(found.high[1:4], alone.high)
    assert (found.low[~found.claimed] == 0).all()
    assert (found.high[~found.claimed] == 1).all()


@pytest.mark.parametrize("rows", [0, 5])
def test_bands_without_any_error_claim_nothing(rows: int) -> None:
    found = _bands(np.array([0.2, 0.8]), np.zeros((rows, 2)))
    assert not found.claimed.any()
    assert (found.low.tolist(), found.high.tolist()) == ([0, 0], [1, 1])


def test_bands_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    contributions = 0.01 * np.random.default_rng(5).standard_normal((60, 30))
    value = np.full(30, 0.5)
    whole = _bands(value, contributions)
    monkeypatch.setattr("evalsampling.inference.regions._ENTRIES_AT_A_TIME", 700)
    assert _bands(value, contributions).critical == pytest.approx(whole.critical, rel=1e-12)


def _process(rng: np.random.Generator, rows: int, components: int) -> FloatArray:
    """Stationary Gaussian rows of unit variance, neighbours correlated .9."""
    rows_ = np.empty((rows, components))
    rows_[:, 0] = rng.standard_normal(rows)
    for i in range(1, components):
        rows_[:, i] = 0.9 * rows_[:, i - 1] + math.sqrt(0.19) * rng.standard_normal(rows)
    return rows_


@pytest.mark.slow
def test_bands_cover_a_gaussian_process_mean() -> None:
    """500 curves of 40 points: all held at once within 3.3 standard errors (.032) of .95.

    Pointwise intervals would hold far fewer.
    """
    rows, rng = 100, np.random.default_rng(100)
    repeats, held, held_pointwise = 500, 0, 0
    for seed in range(repeats):
        sample = _process(rng, rows, 40)
        mean = sample.mean(axis=0)
        contributions = (sample - mean) / math.sqrt(rows * (rows - 1))
        found = simultaneous_bands(
            mean, contributions, 0.95, (-9, 9), np.random.default_rng(seed), replicates=500
        )
        held += bool(((found.low <= 0) & (found.high >= 0)).all())
        reach = stats.norm.ppf(0.975) * (found.high - mean) / found.critical
        held_pointwise += bool((np.abs(mean) <= reach).all())
    slack = 3.3 * math.sqrt(0.95 * 0.05 / repeats)
    assert held / repeats == pytest.approx(0.95, abs=slack)
    assert held_pointwise / repeats < 0.75
