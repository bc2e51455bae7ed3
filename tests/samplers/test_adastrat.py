"""AdaStrat against the theorems of its paper, and on enlarged lists."""

import dataclasses
import math

import numpy as np
import pytest

from evalsampling.measures import PRCurve
from evalsampling.samplers import AdaStrat, LogStrat, RankedSampler
from evalsampling.samplers.wave import Wave
from evalsampling.stats.envelope import Envelope
from evalsampling.stats.ranked_list import RankedList, RankStrata
from tests.ranked_lists import Ranked, finish, labels, random_list

CURVE = PRCurve(thresholds=(0.0,))


@dataclasses.dataclass(frozen=True)
class Exact:
    """A run with queries that are answered exactly (beta = 1): what it asked, and the envelope."""

    ranks: list[int]
    waves: int
    envelope: Envelope
    head: int


def run_exactly(sampler: RankedSampler, one: Ranked) -> Exact:
    ranked = RankedList.of_cells(one.known.table)
    head, queried = sampler.head_and_queries(ranked)
    stratum = (np.arange(len(ranked)) > head).astype(np.int64)
    rows = np.bincount(stratum, ranked.rows).astype(np.int64)
    answers = rows * np.array([1, 0])[: len(rows)]
    strata = RankStrata(
        ranked, stratum, rows, answers, answers.astype(float), answers.astype(float), one.hits, head
    )
    waves = 0
    while True:
        waves += 1
        points = np.append(head, queried)
        envelope = Envelope(
            ranked.rank[points],
            one.precision[points],
            np.ones(len(points), dtype=bool),
            sampler.m,
            int(ranked.rank[-1]),
        )
        wave = Wave(strata, queried, np.zeros(len(rows), dtype=np.int64), 0.1)
        more = sampler.next_queries(wave, envelope)
        if not len(more):
            ranks = ranked.rank[queried].tolist()
            return Exact(ranks, waves, envelope, int(ranked.rank[head]))
        queried = np.union1d(queried, more)


def every_rank(hits: np.ndarray) -> Ranked:
    """A list each row of which has a rank of its own."""
    return Ranked(np.ones(len(hits), dtype=np.int64), np.diff(hits, prepend=0).astype(np.int64))


def fewest_queries(precision: np.ndarray, head: int, epsilon: float, m: int) -> int:
    """OPT by dynamic programming: ranks l~ = r_0 < ... < r_K = N, K least, each interval settled.

    An interval is if the envelope of its ends is at most (1 + epsilon)^2 high.
    """
    rows = len(precision)
    best = np.full(rows + 1, np.inf)
    best[head] = 0
    for low in range(head, rows):
        if not np.isfinite(best[low]):
            continue
        for high in range(low + 1, rows + 1):
            ends = np.array([low, high])
            both = Envelope(ends, precision[ends - 1], np.ones(2, dtype=bool), m, rows)
            inside = np.arange(low + 1, high)
            height = both.height(inside).max(initial=1.0)
            if height <= (1 + epsilon) ** 2 * (1 + 1e-12):
                best[high] = min(best[high], best[low] + 1)
            elif high > low + 1 + m and height > 2 * (1 + epsilon) ** 2:
                break
    return int(best[rows])


@pytest.mark.parametrize("seed", range(2))
def test_the_curve_is_within_the_factor_and_queries_are_bounded(seed: int) -> None:
    """Theorems 3 and 4 with beta = 1, on random weakly monotone lists; regret by corollary 1."""
    epsilon, m = 0.1, 12
    hits = random_list(np.random.default_rng(seed), 1500, m)
    one = every_rank(hits)
    sampler = AdaStrat(CURVE, epsilon=epsilon, m=m)
    found = run_exactly(sampler, one)
    beyond = np.arange(found.head + 1, 1501)
    ratio = found.envelope.middle(beyond) / one.precision[found.head :]
    assert 1 / (1 + epsilon) - 1e-9 <= ratio.min() <= ratio.max() <= 1 + epsilon + 1e-9
    step = math.log1p(epsilon)
    assert len(found.ranks) <= math.log(1500 / found.head) / step + 1
    p = one.precision[found.head - 1 :]
    rise = 1500 * p[-1] / (found.head * p[0])
    oracle = math.ceil(math.log(min(p.max() / p.min(), rise)) / step - 1e-9)
    assert len(found.ranks) <= (oracle + 1) * (1 + math.log2(math.log(1500) / step)) + 1


@pytest.mark.parametrize("seed", [1, 2])
def test_regret_against_an_oracle_that_knows_the_list(seed: int) -> None:
    """Theorem 6: at most (OPT + 1) (1 + log2 log_(1+e) N) + 1 queries; theorem 5 bounds OPT."""
    epsilon, m, rows = 0.2, 4, 80
    hits = random_list(np.random.default_rng(seed), rows, m)
    one = every_rank(hits)
    found = run_exactly(AdaStrat(CURVE, epsilon=epsilon, m=m), one)
    step = math.log1p(epsilon)
    fewest = fewest_queries(one.precision, found.head, epsilon, m)
    assert 1 <= fewest <= len(found.ranks)
    assert len(found.ranks) <= (fewest + 1) * (1 + math.log2(math.log(rows) / step)) + 1
    p = one.precision[found.head - 1 :]
    assert fewest <= math.ceil(math.log(p.max() / p.min()) / step) + 1


@pytest.mark.parametrize("kind", ["flat", "no more hits"])
def test_two_extremes_take_one_query(kind: str) -> None:
    """Lemmas 1 and 2: where the precision hardly falls, or falls as fast as it can."""
    rows = 5000
    ranks = np.arange(1, rows + 1)
    hits = np.ceil(0.8 * ranks) if kind == "flat" else np.minimum(ranks, 20)
    found = run_exactly(AdaStrat(CURVE, epsilon=0.1, m=5), every_rank(hits))
    assert found.ranks == [rows]


def exactly(rows: int, bins: int = 1500, first: int = 1000) -> Ranked:
    """A list of the rates themselves: no chance in it, however long."""
    ends = np.unique(np.round(np.geomspace(first, rows, bins)).astype(np.int64))
    power = 0.95 / 0.3
    hits = np.round(rows * 0.3 * (1 - (1 - ends / rows) ** power)).astype(np.int64)
    return Ranked(np.diff(ends, prepend=0), np.diff(hits, prepend=0))


def test_queries_do_not_grow_with_the_list() -> None:
    """The precision of 35,615 items, and of 1,000 times as many: 78 to 312 of LogStrat."""
    counts: dict[str, list[int]] = {"adastrat": [], "logstrat": []}
    for scale in (1, 10, 100, 1000):
        one = exactly(35_615 * scale)
        for kind in (AdaStrat, LogStrat):
            found = run_exactly(kind(CURVE, first=3550), one)
            counts[kind.name].append(len(found.ranks))
    assert counts["logstrat"] == [78, 156, 234, 312]
    assert max(counts["adastrat"]) <= 21
    assert counts["adastrat"][-1] <= counts["adastrat"][0] + 6


def test_more_levels_take_fewer_waves_and_more_queries() -> None:
    one = exactly(3_561_500)
    plain, double = (run_exactly(AdaStrat(CURVE, first=3550, levels=n), one) for n in (1, 2))
    assert double.waves < plain.waves
    assert len(double.ranks) >= len(plain.ranks)
    ranks = one.rank[one.rank > plain.head]
    for found in (plain, double):
        close = found.envelope.height(ranks) <= 1.03**2 * (1 + 1e-9)
        bounds = np.array([found.head, *found.ranks])
        at = np.searchsorted(bounds, ranks)
        near = bounds[at] <= bounds[np.maximum(at - 1, 0)] * 1.03**2
        adjacent = np.searchsorted(ranks, bounds[at]) - np.searchsorted(ranks, bounds[at - 1]) < 2
        assert np.all(close | near | adjacent)


def test_curve_of_a_sample_is_within_its_guarantee() -> None:
    """A list of 30,000 with the labels of a sample: never beyond, at 95 % confidence of each."""
    one = Ranked.of_labels(labels(30_000, 0), bins=400, first=200)
    sampler = AdaStrat(CURVE, epsilon=0.05, beta=1.1, p_min=0.28, m=20)
    history = finish(sampler, one.known, 0)
    curve = sampler.curve(one.known.table, history)
    factor = curve.guarantee.factor
    assert factor <= 1.1 * 1.05
    ratio = curve.precision.value / one.precision
    assert 1 / factor <= ratio.min() <= ratio.max() <= factor
    assert np.all(curve.precision.low <= one.precision + 1e-12)
    assert np.all(curve.precision.high >= one.precision - 1e-12)


@pytest.mark.slow
def test_the_guarantee_fails_as_seldom_as_it_says() -> None:
    """200 samples of one list with a wide factor: at most 5 % beyond it; of a binomial of 5 %,

    more than 17 of 200 come by chance in 2 %. Hoeffding's bound is generous: none is expected.
    """
    one = Ranked.of_labels(labels(8_000, 4), bins=150, first=60)
    sampler = AdaStrat(CURVE, epsilon=0.15, beta=1.25, p_min=0.25, m=6)
    outside = 0
    for seed in range(200):
        history = finish(sampler, one.known, seed)
        curve = sampler.curve(one.known.table, history)
        factor = curve.guarantee.factor or math.inf
        ratio = curve.precision.value / one.precision
        outside += not (1 / factor <= ratio.min() and ratio.max() <= factor)
    assert outside <= 17
