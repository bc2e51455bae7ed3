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


@pytest.mark.parametrize("value", [1e-300, 1e-9, 0.5, 1 - 1e-16])
@pytest.mark.parametrize("error", [1e-12, 0.3, 1e9, 1e300])
def test_logit_is_always_an_interval_around_the_value(value: float, error: float) -> None:
    found = of(by_logit, value, error)
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


def _korn_graubard_of_proportion(hits: int, draws: int, confidence: float) -> tuple[float, float]:
    """As the estimator does: N - 1 in the variance, the whole range where that is zero."""
    share = hits / draws
    error = math.sqrt(share * (1 - share) / (draws - 1))
    if not error:
        return 0.0, 1.0
    found = of(by_korn_graubard, share, error, confidence, draws=draws)
    return found.low, found.high


def test_degrees_of_freedom_of_normal_terms_are_those_of_the_sample() -> None:
    """Mean over 400 samples of 100 terms: near 99, below it as more cannot be."""
    squares = np.random.default_rng(5).standard_normal((400, 100)) ** 2
    found = [degrees_of_freedom(row, 100) for row in squares]
    assert max(found) <= 99
    assert np.mean(found) == pytest.approx(95, abs=6)


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


def test_wilson_lies_within_korn_graubard() -> None:
    for share in (0.1, 0.4, 0.8):
        error = math.sqrt(2 * share * (1 - share) / 300)
        score, exact = (of(by, share, error, draws=300) for by in (by_wilson, by_korn_graubard))
        assert exact.high - exact.low > score.high - score.low


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
        found = of(by_korn_graubard, v, e, draws=draws)
        covered += found.low <= truth <= found.high
    slack = 3.3 * math.sqrt(0.95 * 0.05 / repeats)
    assert 0.95 - slack < covered / repeats < 0.98 + slack


def test_means_of_squares_have_an_interval_of_the_logarithm() -> None:
    """Errors of gamma-distributed variances, 30 labels, the mean square.

    2,000 repeats, standard error .007. Student's own interval misses it above more than three times
    as often as it should.
    """
    rng = np.random.default_rng(3)
    squares = rng.gamma(1.0, 5.0, (2000, 30)) * rng.normal(size=(2000, 30)) ** 2
    covers, above = np.zeros(2), np.zeros(2)
    for terms in squares:
        value, centred = terms.mean(), terms - terms.mean()
        error = np.sqrt(centred @ centred / 30 / 29)
        degrees = degrees_of_freedom(centred**2, 30)
        both = [
            of(by, value, error, bounds=(0.0, math.inf), degrees=degrees)
            for by in (by_log_student, by_student)
        ]
        covers += [one.low <= 5 <= one.high for one in both]
        above += [one.high < 5 for one in both]
    covers, above = covers / 2000, above / 2000
    assert covers[0] > 0.90
    assert covers[0] > covers[1] + 0.02
    assert above[1] > 3 * 0.025
    assert above[0] < 0.75 * above[1]
