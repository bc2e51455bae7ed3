"""Intervals against scipy, and their coverage."""

import math

import numpy as np
import pytest
from scipy import special, stats

from evalsampling.inference.intervals import (
    Interval,
    beta,
    clopper_pearson,
    degrees_of_freedom,
    interval_score,
    korn_graubard,
    log_student,
    logit,
    student,
    wald,
    wilson,
)


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


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("degrees", [1, 3.7, 200])
def test_student_is_the_t_interval(degrees: float, confidence: float) -> None:
    found = student(0.4, 0.05, confidence, (-100, 100), degrees)
    low, high = stats.t.interval(confidence, degrees, 0.4, 0.05)
    assert found.low == pytest.approx(low, rel=1e-9)
    assert found.high == pytest.approx(high, rel=1e-9)
    assert found.method == "student"


def test_student_with_infinite_degrees_is_wald() -> None:
    found, normal = student(0.4, 0.05, 0.9, (0, 1), math.inf), wald(0.4, 0.05, 0.9, (0, 1))
    assert (found.low, found.high) == pytest.approx((normal.low, normal.high))


def test_student_is_cut_at_the_bounds() -> None:
    found = student(0.5, 0.2, 0.95, (0, 1), 1)
    assert (found.low, found.high) == (0, 1)


def test_degrees_of_freedom_by_hand() -> None:
    """Squares 1, 1, 2 of 10 terms: 6/16 - 1/10 = .275."""
    assert degrees_of_freedom(np.array([1.0, 1, 2]), 10) == pytest.approx(2 / 0.275 - 1)
    padded = np.array([1.0, 1, 2, 0, 0, 0, 0, 0, 0, 0])
    assert degrees_of_freedom(padded, 10) == pytest.approx(2 / 0.275 - 1)
    assert degrees_of_freedom(padded * 1e-30, 10) == pytest.approx(2 / 0.275 - 1)


def test_degrees_of_freedom_of_one_term_that_dominates_are_one() -> None:
    squares = np.full(1000, 1e-6)
    squares[0] = 1.0
    assert degrees_of_freedom(squares, 1000) == pytest.approx(1, abs=0.01)


def test_degrees_of_freedom_of_equal_terms_are_the_most_there_can_be() -> None:
    assert degrees_of_freedom(np.ones(50), 50) == 49


@pytest.mark.parametrize(("squares", "terms"), [([], 1), ([0.0, 0.0], 2), ([2.0], 1)])
def test_degrees_of_freedom_without_variation_are_one(squares: list[float], terms: int) -> None:
    assert degrees_of_freedom(np.array(squares), terms) == 1


def test_degrees_of_freedom_match_the_spread_of_the_variance_estimate() -> None:
    """Of 4,000 draws 1 % have a normal residual: sum e^2 has relative variance 2 / (df + 1).

    Over 3,000 samples; the tolerance is 3.3 of the standard errors of a variance (2.6 %) and
    as much again for the kurtosis, which is estimated.
    """
    rng = np.random.default_rng(6)
    hit = rng.random((3000, 4000)) < 0.01
    squares = np.where(hit, rng.standard_normal((3000, 4000)) ** 2, 0)
    totals = squares.sum(axis=1)
    found = np.mean([1 / (degrees_of_freedom(row, 4000) + 1) for row in squares])
    assert 2 * found == pytest.approx(totals.var() / totals.mean() ** 2, rel=0.17)


def test_logit_by_hand() -> None:
    """At .8 with error .04: logit ln 4, reach z x .04 / .16 = z / 4."""
    found = logit(0.8, 0.04, 0.95)
    for end, sign in [(found.low, -1), (found.high, 1)]:
        odds = 4 * math.exp(sign * 1.959963984540054 / 4)
        assert end == pytest.approx(odds / (1 + odds))
    assert found.method == "logit"


def test_logit_between_minus_one_and_one_is_fishers_z() -> None:
    found = logit(0.6, 0.1, 0.9, (-1, 1))
    reach = stats.norm.ppf(0.95) * 0.1 / (1 - 0.36)
    assert found.low == pytest.approx(math.tanh(math.atanh(0.6) - reach))
    assert found.high == pytest.approx(math.tanh(math.atanh(0.6) + reach))


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 1.1])
def test_logit_at_and_beyond_the_bounds_claims_nothing(value: float) -> None:
    found = logit(value, 0.1, 0.95)
    assert (found.low, found.high, found.method) == (0, 1, "logit at a bound")


@pytest.mark.parametrize("bounds", [(0.0, math.inf), (-math.inf, math.inf)])
def test_logit_without_finite_bounds_claims_nothing(bounds: tuple[float, float]) -> None:
    found = logit(0.5, 0.1, 0.95, bounds)
    assert (found.low, found.high) == bounds


@pytest.mark.parametrize("value", [1e-300, 1e-9, 0.5, 1 - 1e-16])
@pytest.mark.parametrize("error", [0.0, 1e-12, 0.3, 1e9, 1e300])
def test_logit_is_always_an_interval_around_the_value(value: float, error: float) -> None:
    found = logit(value, error, 0.95)
    assert 0 <= found.low <= value * (1 + 1e-12)
    assert value * (1 - 1e-12) <= found.high <= 1
    if error > 1e6:
        assert (found.low, found.high) == (0, 1)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("hits", "size"), [(1, 10), (9, 10), (2, 200), (137, 1000)])
def test_wilson_of_a_simple_random_sample_is_wilsons(
    hits: int, size: int, confidence: float
) -> None:
    share = hits / size
    exact = stats.binomtest(hits, size).proportion_ci(confidence, method="wilson")
    for error in (math.sqrt(share * (1 - share) / size), 1e-9):
        draws = size if error < 1e-6 else 10 * size
        found = wilson(share, error, draws, confidence)
        assert found.low == pytest.approx(exact.low, rel=1e-9)
        assert found.high == pytest.approx(exact.high, rel=1e-9)
        assert found.method == "wilson"


@pytest.mark.parametrize("value", [0.0, -0.2, 1.0, 1.2])
def test_wilson_at_and_beyond_the_ends_claims_nothing(value: float) -> None:
    found = wilson(value, 0.1, 100, 0.95)
    assert (found.low, found.high) == pytest.approx((0, 1), abs=1e-12)


def test_interval_score_by_hand() -> None:
    interval = Interval(0.2, 0.5, "", "")
    assert interval_score(interval, 0.3, 0.95) == pytest.approx(0.3)
    assert interval_score(interval, 0.5, 0.95) == pytest.approx(0.3)
    assert interval_score(interval, 0.1, 0.95) == pytest.approx(0.3 + 40 * 0.1)
    assert interval_score(interval, 0.52, 0.9) == pytest.approx(0.3 + 20 * 0.02)


def test_beta_interval_has_the_mean_and_the_error() -> None:
    """Tails of the distribution with these moments; everything where there is none."""
    found = beta(0.3, 0.1, 0.9)
    strength = 0.3 * 0.7 / 0.01 - 1
    distribution = stats.beta(0.3 * strength, 0.7 * strength)
    assert distribution.mean() == pytest.approx(0.3)
    assert distribution.std() == pytest.approx(0.1)
    assert [found.low, found.high] == pytest.approx(distribution.ppf([0.05, 0.95]), abs=1e-6)
    for value, error in [(0.0, 0.1), (1.0, 0.1), (0.3, 0.5)]:
        assert (beta(value, error, 0.9).low, beta(value, error, 0.9).high) == (0, 1)


def test_ratio_interval_is_students_of_the_logarithm() -> None:
    """log r +- t s / r, mapped back: the same for the ratio turned over."""
    found = log_student(1.25, 0.2, 0.95, 7.0)
    reach = float(special.stdtrit(7.0, 0.975)) * 0.2 / 1.25
    assert (found.low, found.high) == pytest.approx([1.25 * np.exp(-reach), 1.25 * np.exp(reach)])
    turned = log_student(0.8, 0.2 / 1.25**2, 0.95, 7.0)
    assert (1 / turned.high, 1 / turned.low) == pytest.approx((found.low, found.high))
    assert log_student(1e-9, 1.0, 0.95, 3.0).high < math.inf


@pytest.mark.parametrize(("hits", "trials"), [(0, 7), (3, 7), (7, 7), (1, 1)])
def test_exact_interval_is_that_of_scipy(hits: int, trials: int) -> None:
    expected = stats.binomtest(hits, trials).proportion_ci(0.9, method="exact")
    assert clopper_pearson(hits, trials, 0.9) == pytest.approx((expected.low, expected.high))


def test_nothing_is_known_without_trials() -> None:
    assert clopper_pearson(0, 0, 0.95) == (0.0, 1.0)


def test_a_part_of_a_trial_lies_between_whole_ones() -> None:
    narrower, between, wider = (clopper_pearson(n / 2, n, 0.95) for n in (10, 9.5, 9))
    assert wider[0] < between[0] < narrower[0]
    assert narrower[1] < between[1] < wider[1]
