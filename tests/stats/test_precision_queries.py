"""Numbers of answers against the paper's figures, exact binomial chances and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from evalsampling.stats.precision_queries import (
    QueryBound,
    anytime_deviation,
    head_rank,
    logarithmic_ranks,
    most_m,
    votes_of_head,
)


def test_published_sizes() -> None:
    """Equation 5 by hand, and the answers of LogStrat that the paper prints (figure 3).

    18 K, 54 K and 73 K labels are those of theorem 1 with p_min = .5: l~ + e / (1 + e) s K.
    """
    bound = QueryBound(beta=1.05, eta=0.0, delta=0.05)
    assert bound.published(0.3, 18) == math.ceil(math.log(720) / (2 * 0.05**2 * 0.3**2)) == 14621
    for queries, printed in [(78, 18e3), (234, 54e3), (312, 73e3)]:
        labels = 3550 + 0.03 / 1.03 * bound.published(0.5, queries) * queries
        assert labels == pytest.approx(printed, rel=0.03)
    noisy = QueryBound(beta=1.2, eta=0.1, delta=0.05)
    assert noisy.published(0.4, 3) == math.ceil(1.1**2 / (2 * 0.1**2 * 0.16) * math.log(120))


@pytest.mark.parametrize(
    ("beta", "eta", "p_min", "queries"),
    [
        *((beta, 0.0, p_min, 5) for beta in (1.05, 1.3) for p_min in (0.1, 0.3, 0.5, 0.9)),
        *((1.25, eta, 0.35, 1) for eta in (0.02, 0.1)),
    ],
)
def test_so_many_draws_keep_the_error(beta: float, eta: float, p_min: float, queries: int) -> None:
    """The chance of an answer further off, by the binomial distribution, at p_min and above."""
    delta = 0.05
    draws = QueryBound(beta, eta, delta).draws(p_min, queries)
    for p in np.linspace(p_min, 1, 12):
        q = p * (1 - eta) + (1 - p) * eta
        above = stats.binom.sf(math.floor(draws * min(p * beta, 1) + 1e-9), draws, q)
        below = stats.binom.cdf(math.ceil(draws * p / beta - 1e-9) - 1, draws, q)
        assert above + below <= delta / queries
        assert eta or max(above, below) <= delta / (2 * queries)


def test_published_size_is_kept_where_it_is_enough() -> None:
    """At p_min = .3 the paper's is; at .9 it misses on the lower side, and more are taken."""
    bound = QueryBound(1.05, 0.0, 0.05)
    assert bound.draws(0.3, 18) == bound.published(0.3, 18)
    assert bound.draws(0.5, 18) == pytest.approx(1.07 * bound.published(0.5, 18), rel=0.03)
    wider = QueryBound(1.5, 0.0, 0.05)
    assert wider.draws(0.5, 1) > 1.2 * wider.published(0.5, 1)


@pytest.mark.parametrize("p_min", [0.2, 0.5, 0.8])
def test_supported_factor_is_the_inverse(p_min: float) -> None:
    for beta in (1.02, 1.1, 1.6):
        bound = QueryBound(beta, 0.0, 0.05)
        draws = bound.draws(p_min, 4)
        assert bound.supported(draws, p_min, 4) <= beta + 1e-9
        fewer = bound.supported(draws / 2, p_min, 4)
        assert beta < fewer or bound.published(p_min, 4) == draws
        assert bound.supported(draws / 2, p_min, 40) > fewer
    assert bound.supported(0, p_min, 1) == math.inf
    assert bound.supported(1, p_min, 1) == math.inf, "one answer may well be negative"
    assert bound.supported(math.inf, p_min, 1) == pytest.approx(1, abs=1e-6)


def test_head_and_ranks_of_logstrat() -> None:
    """Numbers of queries that the paper prints: 78, 156, 234, 312 from r~ = 3,550."""
    assert head_rank(0.03, 100, 1) == math.ceil(1.03**2 * 100 / (2 * 0.03 + 0.03**2)) == 1743
    assert head_rank(0.03, 100, 3550) == 3550
    for scale, queries in [(1, 78), (10, 156), (100, 234), (1000, 312)]:
        head, ranks = logarithmic_ranks(35_615 * scale, 3550, 0.03)
        assert len(ranks) == queries
        assert ranks[-1] == 35_615 * scale
        assert 3550 <= head <= 3550 * 1.03 + 1
        assert np.all(np.array(ranks[:-1]) / np.array([head, *ranks[:-2]]) < 1.0304)
    assert most_m(3550, 0.03) == math.floor(0.03 * 1.03**277 - 1) == 106


@pytest.mark.parametrize(("rows", "eta"), [(1, 0.1), (2000, 0.05), (500, 0.3)])
def test_votes_are_the_fewest_that_do(rows: int, eta: float) -> None:
    votes = votes_of_head(rows, eta, 0.02)
    assert votes % 2 == 1

    def wrong(n: int) -> float:
        """Chance of a wrong majority, term by term."""
        return sum(
            math.comb(n, k) * eta**k * (1 - eta) ** (n - k) for k in range((n + 1) // 2, n + 1)
        )

    assert rows * wrong(votes) <= 0.02
    assert votes == 1 or rows * wrong(votes - 2) > 0.02
    assert votes_of_head(10**6, 0.0, 0.01) == 1


def test_anytime_deviation_holds_at_all_times_together() -> None:
    """400 runs of 20,000 coins: the bound is passed at any time in at most the share it says.

    It is a generous bound, so 5 % are never near: tolerance is the claim itself.
    """
    rng = np.random.default_rng(3)
    n = np.arange(1, 20_001)
    bound = np.array([anytime_deviation(int(one), 0.05) for one in n])
    passed = 0
    for _ in range(400):
        means = np.cumsum(rng.random(len(n)) < 0.4) / n
        passed += bool(np.any(means - 0.4 > bound))
    assert passed <= 0.05 * 400
    assert anytime_deviation(10_000, 0.05) < 0.03
