"""Intervals against scipy."""

import math

import numpy as np
import pytest
from scipy import special, stats

from evalsampling.inference.interval_methods import (
    IntervalMethod,
    SampledNumber,
    by_korn_graubard,
    by_log_student,
    by_logit,
    by_student,
    by_wald,
    by_wilson,
)
from evalsampling.inference.intervals import (
    Interval,
    beta,
    clopper_pearson,
    covers,
    degrees_of_freedom,
    interval_score,
)
from evalsampling.inference.results import Target


def of(
    method: IntervalMethod,
    value: float,
    error: float,
    confidence: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
    draws: int = 100,
    degrees: float = 99.0,
) -> Interval:
    """The interval of a number with given degrees of freedom."""
    number = SampledNumber(Target("a", bounds), value, error, np.zeros(0), draws, confidence)
    number.__dict__["degrees"] = degrees
    interval = method(number)
    assert interval is not None
    return interval


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(("hits", "size"), [(1, 10), (9, 10), (5, 10), (2, 200), (137, 1000)])
def test_korn_graubard_of_a_simple_random_sample_is_clopper_pearson(
    hits: int, size: int, confidence: float
) -> None:
    share = hits / size
    found = of(
        by_korn_graubard, share, math.sqrt(share * (1 - share) / size), confidence, draws=10 * size
    )
    exact = stats.binomtest(hits, size).proportion_ci(confidence, method="exact")
    assert found.low == pytest.approx(exact.low, rel=1e-9)
    assert found.high == pytest.approx(exact.high, rel=1e-9)
    assert (found.kind, found.method) == ("design-based", "korn-graubard")


@pytest.mark.parametrize(("hits", "size"), [(1, 10), (5, 10), (19, 20)])
def test_korn_graubard_counts_no_more_rows_than_were_drawn(hits: int, size: int) -> None:
    found = of(by_korn_graubard, hits / size, 1e-6, draws=size)
    exact = stats.binomtest(hits, size).proportion_ci(0.95, method="exact")
    assert found.low == pytest.approx(exact.low, rel=1e-9)
    assert found.high == pytest.approx(exact.high, rel=1e-9)


def test_korn_graubard_is_the_beta_interval_of_the_effective_size() -> None:
    """Design effect 3 at .4 from 300 draws: n = 100, x = 40; at .37 x = 37."""
    for share in (0.4, 0.37, 0.123):
        error = math.sqrt(3 * share * (1 - share) / 300)
        found = of(by_korn_graubard, share, error, 0.9, draws=300)
        x = 100 * share
        assert found.low == pytest.approx(stats.beta.ppf(0.05, x, 101 - x), rel=1e-9)
        assert found.high == pytest.approx(stats.beta.ppf(0.95, x + 1, 100 - x), rel=1e-9)


@pytest.mark.parametrize("value", [0.0, -0.2, 1.0, 1.2])
def test_shares_at_and_beyond_the_ends_claim_nothing(value: float) -> None:
    """The effective size is zero there, and the logit undefined."""
    of_logit = of(by_logit, value, 0.1)
    assert of_logit.method == "logit at a bound"
    for found in (of(by_korn_graubard, value, 0.1), of(by_wilson, value, 0.1), of_logit):
        assert (found.low, found.high) == pytest.approx((0, 1), abs=1e-12)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_wald_is_the_normal_interval(confidence: float) -> None:
    found = of(by_wald, 0.4, 0.05, confidence, (-10, 10))
    low, high = stats.norm.interval(confidence, 0.4, 0.05)
    assert found.low == pytest.approx(low, rel=1e-12)
    assert found.high == pytest.approx(high, rel=1e-12)


def test_intervals_are_cut_at_the_bounds() -> None:
    assert (of(by_wald, 0.01, 0.1).low, of(by_wald, 0.99, 0.1).high) == (0, 1)
    assert of(by_wald, -0.99, 0.1, bounds=(-1, 1)).low == -1
    narrow, wide = of(by_wald, 0.3, 0.0), of(by_student, 0.5, 0.2, degrees=1)
    assert (narrow.low, narrow.high, wide.low, wide.high) == (0.3, 0.3, 0, 1)
    for beyond in (-0.5, 1.5):
        found = of(by_wald, beyond, 0.1)
        assert 0 <= found.low <= found.high <= 1


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("degrees", [1, 3.7, 200, math.inf])
def test_student_is_the_t_interval(degrees: float, confidence: float) -> None:
    found = of(by_student, 0.4, 0.05, confidence, (-100, 100), degrees=degrees)
    low, high = stats.t.interval(confidence, degrees, 0.4, 0.05)
    assert found.low == pytest.approx(low, rel=1e-9)
    assert found.high == pytest.approx(high, rel=1e-9)
    assert found.method == "student"


@pytest.mark.parametrize(
    ("squares", "terms", "degrees"),
    [
        ([1.0, 1, 2], 10, 2 / 0.275 - 1),  # 6/16 - 1/10 = .275
        ([1.0, 1, 2, *[0] * 7], 10, 2 / 0.275 - 1),
        ([1e-30, 1e-30, 2e-30], 10, 2 / 0.275 - 1),
        ([1.0, *[1e-6] * 999], 1000, 1.0),
        ([1.0] * 50, 50, 49),
        ([], 1, 1),
        ([0.0, 0.0], 2, 1),
        ([2.0], 1, 1),
    ],
)
def test_degrees_of_freedom_by_hand(squares: list[float], terms: int, degrees: float) -> None:
    assert degrees_of_freedom(np.array(squares), terms) == pytest.approx(degrees, abs=0.01)


def test_logit_by_hand() -> None:
    """At .8 with error .04: logit ln 4, reach z x .04 / .16 = z / 4."""
    found = of(by_logit, 0.8, 0.04)
    for end, sign in [(found.low, -1), (found.high, 1)]:
        odds = 4 * math.exp(sign * 1.959963984540054 / 4)
        assert end == pytest.approx(odds / (1 + odds))
    assert found.method == "logit"


def test_logit_between_minus_one_and_one_is_fishers_z() -> None:
    found = of(by_logit, 0.6, 0.1, 0.9, (-1, 1))
    reach = stats.norm.ppf(0.95) * 0.1 / (1 - 0.36)
    assert found.low == pytest.approx(math.tanh(math.atanh(0.6) - reach))
    assert found.high == pytest.approx(math.tanh(math.atanh(0.6) + reach))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("hits", "size"), [(1, 10), (9, 10), (2, 200), (137, 1000)])
def test_wilson_of_a_simple_random_sample_is_wilsons(
    hits: int, size: int, confidence: float
) -> None:
    share = hits / size
    exact = stats.binomtest(hits, size).proportion_ci(confidence, method="wilson")
    for error in (math.sqrt(share * (1 - share) / size), 1e-9):
        draws = size if error < 1e-6 else 10 * size
        found = of(by_wilson, share, error, confidence, draws=draws)
        assert found.low == pytest.approx(exact.low, rel=1e-9)
        assert found.high == pytest.approx(exact.high, rel=1e-9)
        assert found.method == "wilson"


def test_interval_score_by_hand() -> None:
    interval = Interval(0.2, 0.5, "", "")
    assert interval_score(interval, 0.3, 0.95) == pytest.approx(0.3)
    assert interval_score(interval, 0.5, 0.95) == pytest.approx(0.3)
    assert interval_score(interval, 0.1, 0.95) == pytest.approx(0.3 + 40 * 0.1)
    assert interval_score(interval, 0.52, 0.9) == pytest.approx(0.3 + 20 * 0.02)
    assert [covers(interval, truth) for truth in (0.19, 0.2 - 1e-15, 0.5, 0.51)] == [0, 1, 1, 0]


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
    positive = 0.0, math.inf
    found = of(by_log_student, 1.25, 0.2, bounds=positive, degrees=7.0)
    reach = float(special.stdtrit(7.0, 0.975)) * 0.2 / 1.25
    assert (found.low, found.high) == pytest.approx([1.25 * np.exp(-reach), 1.25 * np.exp(reach)])
    turned = of(by_log_student, 0.8, 0.2 / 1.25**2, bounds=positive, degrees=7.0)
    assert (1 / turned.high, 1 / turned.low) == pytest.approx((found.low, found.high))
    assert of(by_log_student, 1e-9, 1.0, bounds=positive, degrees=3.0).high < math.inf


@pytest.mark.parametrize(("hits", "trials"), [(0, 7), (3, 7), (7, 7), (1, 1)])
def test_exact_interval_is_that_of_scipy(hits: int, trials: int) -> None:
    assert clopper_pearson(0, 0, 0.95) == (0.0, 1.0), "nothing is known without trials"
    expected = stats.binomtest(hits, trials).proportion_ci(0.9, method="exact")
    assert clopper_pearson(hits, trials, 0.9) == pytest.approx((expected.low, expected.high))


def test_a_part_of_a_trial_lies_between_whole_ones() -> None:
    narrower, between, wider = (clopper_pearson(n / 2, n, 0.95) for n in (10, 9.5, 9))
    assert wider[0] < between[0] < narrower[0]
    assert narrower[1] < between[1] < wider[1]
