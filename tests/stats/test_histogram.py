"""Histograms of scores against exact counts in rational numbers."""

import math
from fractions import Fraction

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from evalsampling.stats.histogram import MagnitudeHistogram, ScoreHistogram, dyadic_bins
from tests.contracts import assert_mergeable, same_state

LIMIT = 32


def _scores(name: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    normal = rng.normal(size=200)
    return {
        "normal": normal,
        "equal": np.full(50, 0.1),
        "zero": np.zeros(50),
        "huge range": np.array([0, *10.0 ** rng.uniform(-300, 300, 200), 1e-300, 1e300]),
        "negative": -np.exp(3 * normal),
        "float32": normal.astype(np.float32),
        "one row": np.array([-3.25]),
        "far from zero": 1e15 + rng.integers(0, 40, 200),
        "greatest": np.array([-1e300, 0, 1e-300, 1e300]),
        "powers of two": np.array([-4.0, -2, -1, 0, 0.5, 1, 2, 4, 8]),
    }[name]


NAMES = (
    "normal", "equal", "zero", "huge range", "negative", "float32", "one row", "far from zero",
    "greatest", "powers of two",
)  # fmt: skip


def same(a: ScoreHistogram, b: ScoreHistogram) -> bool:
    fields = ("limit", "minimum", "maximum", "exponent", "first")
    return all(getattr(a, f) == getattr(b, f) for f in fields) and np.array_equal(
        a.counts, b.counts
    )


def exact_bins(scores: np.ndarray, exponent: int) -> list[int]:
    width = Fraction(2) ** exponent
    return [math.floor(Fraction(float(score)) / width) for score in scores]


@pytest.mark.parametrize("name", NAMES)
def test_merge_contract(name: str) -> None:
    scores = _scores(name)
    shards = [*np.array_split(scores, min(5, len(scores))), scores[:0], scores[:1]]
    states = [ScoreHistogram.from_scores(shard, LIMIT) for shard in shards]
    assert_mergeable(states, ScoreHistogram(LIMIT), same)


@pytest.mark.parametrize("name", NAMES)
def test_bins_are_dyadic_and_counts_exact(name: str) -> None:
    scores = _scores(name)
    histogram = ScoreHistogram.from_scores(scores, LIMIT)
    bins = exact_bins(scores, histogram.exponent)
    assert histogram.first == min(bins)
    expected = [bins.count(i) for i in range(min(bins), max(bins) + 1)]
    assert histogram.counts.tolist() == expected
    assert histogram.rows == len(scores)
    assert (histogram.minimum, histogram.maximum) == (scores.min(), scores.max())


@pytest.mark.parametrize("limit", [2, 7, 32, 2048])
@pytest.mark.parametrize("name", NAMES)
def test_bins_are_the_narrowest_allowed(name: str, limit: int) -> None:
    """Half as wide they would be more than the limit, or too fine for 53 bits."""
    scores = _scores(name)
    histogram = ScoreHistogram.from_scores(scores, limit)
    assert len(histogram.counts) <= limit
    resolution = max(-1000, math.frexp(float(np.abs(scores).max()))[1] - 52)
    assert histogram.exponent >= resolution
    if histogram.exponent > resolution:
        finer = exact_bins(scores, histogram.exponent - 1)
        assert max(finer) - min(finer) >= limit
        assert 2 * len(histogram.counts) > limit
    spread = name in ("normal", "negative", "float32", "huge range", "greatest")
    assert not spread or histogram.exponent > resolution


@pytest.mark.parametrize("name", NAMES)
def test_lower_ends_are_exact(name: str) -> None:
    histogram = ScoreHistogram.from_scores(_scores(name), LIMIT)
    width = Fraction(2) ** histogram.exponent
    expected = [(histogram.first + i) * width for i in range(len(histogram.counts))]
    assert [Fraction(float(end)) for end in histogram.lower_ends] == expected


@pytest.mark.slow
@hypothesis.settings(max_examples=300, derandomize=True)
@hypothesis.given(
    quotients=st.lists(st.floats(-(2.0**52), 2.0**52), min_size=1, max_size=20),
    scores=st.lists(st.floats(-1e300, 1e300), max_size=20),
    exponent=st.sampled_from([-1000, -999, -60, -1, 0, 1, 60, 971, 972, 1022, 1023, 1024]),
)
def test_bins_are_exact_quotients(
    quotients: list[float], scores: list[float], exponent: int
) -> None:
    """Of scores of any size and sign whose quotients are below 2^53."""
    scaled = [math.ldexp(q, exponent) for q in quotients if math.frexp(q)[1] + exponent <= 1024]
    tiny = [0.0, -0.0, 5e-324, -5e-324, 1e-310, -1e-310, 2.3e-308, -2.3e-308]
    kept = [
        s for s in [*scaled, *scores, *tiny] if abs(Fraction(s)) < Fraction(2) ** (exponent + 53)
    ]
    values = np.array(kept)
    assert dyadic_bins(values, exponent).tolist() == exact_bins(values, exponent)


@pytest.mark.parametrize("limit", [2, 100, 1 << 17])
def test_many_scores_are_all_counted(limit: int) -> None:
    """More than are counted at a time, in reverse and with gaps."""
    scores = np.random.default_rng(2).normal(size=400_003).astype(np.float32)[::-3]
    histogram = ScoreHistogram.from_scores(scores, limit)
    assert histogram.rows == len(scores)
    edges = np.append(histogram.lower_ends, np.inf)
    expected = np.diff(np.searchsorted(np.sort(scores.astype(np.float64)), edges))
    np.testing.assert_array_equal(histogram.counts, expected)


def test_scores_as_far_apart_as_floats_can_be() -> None:
    most = np.finfo(np.float64).max
    for limit in (2, 3, 64):
        scores = np.array([-most, most, 0.0, -5e-324])
        histogram = ScoreHistogram.from_scores(scores, limit)
        bins = exact_bins(scores, histogram.exponent)
        assert histogram.counts.tolist() == np.bincount(np.array(bins) - min(bins)).tolist()


@pytest.mark.parametrize("limit", [2, 3, 16, 100, 1000])
def test_a_coarsened_histogram_is_that_of_the_scores(limit: int) -> None:
    rng = np.random.default_rng(limit)
    for scale in (1e-300, 0.1, 1.0, 1e18):
        scores = rng.normal(size=200) * scale + rng.normal() * scale
        fine = ScoreHistogram.from_scores(scores, 1000)
        coarse = ScoreHistogram.gathered(limit, [fine])
        assert same(coarse, ScoreHistogram.from_scores(scores, limit))
    assert ScoreHistogram.gathered(limit, [ScoreHistogram(1000)]).limit == limit


def magnitude_bin(score: float, parts: int) -> tuple[Fraction, Fraction]:
    """Return the ends of the bin of a score, of which powers of two have ``parts`` between them."""
    if score < 0:
        low, high = magnitude_bin(math.nextafter(-score, 0), parts)
        return -high, -low
    power = Fraction(2) ** (max(math.frexp(score)[1] - 1, -1022) if score else -1022)
    width = power / parts
    if Fraction(score) < power:  # subnormal numbers, between 0 and the least power
        power = Fraction(0)
    below = (Fraction(score) - power) // width * width + power
    return below, below + width


@pytest.mark.parametrize("limit", [2, 1 << 10, 1 << 14])
@pytest.mark.parametrize("name", NAMES)
def test_bins_by_magnitude(name: str, limit: int) -> None:
    """Between powers of two there are limit / 1,024 bins, at least one, of equal width."""
    scores = np.append(_scores(name), [-0.0, 5e-324, -5e-324])
    histogram = MagnitudeHistogram.from_scores(scores, limit)
    expected = sorted({magnitude_bin(float(s), max(limit >> 10, 1))[0] for s in scores})
    assert [Fraction(float(end)) for end in histogram.lower_ends] == expected
    place = np.searchsorted(histogram.lower_ends, scores, side="right") - 1
    assert np.bincount(place).tolist() == histogram.counts.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_bins_by_magnitude_merge(name: str) -> None:
    scores = _scores(name)
    limit = 1 << 12
    shards = [*np.array_split(scores, min(5, len(scores))), scores[:0], scores[:1]]
    states = [MagnitudeHistogram.from_scores(shard, limit) for shard in shards]

    def merged(*parts: MagnitudeHistogram) -> MagnitudeHistogram:
        return MagnitudeHistogram.gathered(limit, parts)

    whole = MagnitudeHistogram.from_scores(np.concatenate(shards), limit)
    assert same_state(merged(*states), whole)
    assert same_state(
        merged(merged(*states[3:]), MagnitudeHistogram.zero(limit), *states[:3]), whole
    )
    values, rows = np.unique(np.concatenate(shards).astype(np.float64), return_counts=True)
    assert same_state(MagnitudeHistogram.gathered(limit, (), values, rows), whole)
    for coarse in (2, 1 << 11):
        own = MagnitudeHistogram.from_scores(np.concatenate(shards), coarse)
        assert same_state(MagnitudeHistogram.gathered(coarse, [whole]), own)
