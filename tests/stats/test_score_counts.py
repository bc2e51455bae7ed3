"""Bins of scores: exact merging, and outliers that do not decide the bins' width."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from evalsampling.stats import score_counts
from evalsampling.stats.histogram import MagnitudeHistogram, ScoreHistogram, dyadic_floor
from evalsampling.stats.score_counts import EXTREMES, ScoreBins, ScoreCounts
from evalsampling.stats.strata import (
    CSF,
    EQUAL_COUNT,
    LOGIT_RANK,
    CutMethod,
    cut_edges,
    logit_rank_edges,
)
from tests.contracts import assert_mergeable, same_state, sent
from tests.slow import slowly

LIMIT = 8 * 64
NORMAL = np.random.default_rng(5).normal(-3, 1.5, 20_000)
OUTLIERS = {
    "sentinel": [-9999.0],
    "many-sentinels": [-9999.0] * 500,
    "both-ends": [-1e300, 1e300],
    "several": [-1e9, -1e6, 1e5, 1e12, 1e200, -1e-300],
}


def same(a: ScoreCounts, b: ScoreCounts) -> bool:
    return same_state(a, b)


def shards_of(scores: np.ndarray, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, len(scores), 4))
    return np.split(rng.permutation(scores), cuts)


@pytest.mark.parametrize("name", OUTLIERS)
@pytest.mark.parametrize("digits", [1, 15])
def test_parts_merge_exactly(name: str, digits: int) -> None:
    scores = np.append(np.round(NORMAL[:3000], digits), OUTLIERS[name])
    states = [ScoreCounts.from_scores(part, LIMIT) for part in shards_of(scores, seed=1)]
    assert_mergeable(states, ScoreCounts.zero(LIMIT), same)
    whole = ScoreCounts.from_scores(scores, LIMIT)
    assert same(sum(states, start=ScoreCounts.zero(LIMIT)), whole)
    assert whole.rows == len(scores)


def check_bins(bins: ScoreBins, scores: np.ndarray) -> None:
    """Bins are disjoint, and hold as many rows as they say."""
    assert np.all(bins.lower_ends < bins.upper_ends)
    assert np.all(bins.upper_ends[:-1] <= bins.lower_ends[1:])
    place = np.searchsorted(bins.lower_ends, scores, side="right") - 1
    assert np.all(scores < bins.upper_ends[place])
    assert np.bincount(place, minlength=len(bins.counts)).tolist() == bins.counts.tolist()


@pytest.mark.parametrize("name", OUTLIERS)
@pytest.mark.parametrize("digits", [0, 1, 15])
def test_bins_hold_what_they_say(name: str, digits: int) -> None:
    scores = np.append(np.round(NORMAL[:3000], digits), OUTLIERS[name])
    counts = ScoreCounts.from_scores(scores, LIMIT)
    for limit in (2, 64, LIMIT):
        check_bins(counts.bins(limit), scores)
        check_bins(counts.bins(limit).of_one_width(), scores)


@pytest.mark.parametrize(
    "scores",
    [NORMAL, 1 / (1 + np.exp(-NORMAL)), np.round(NORMAL, 1), np.round(NORMAL), NORMAL * 1e-6 + 1],
    ids=["normal", "probabilities", "rounded", "whole", "narrow"],
)
def test_without_outliers_bins_are_those_over_the_range(scores: np.ndarray) -> None:
    bins = ScoreCounts.from_scores(scores, LIMIT).bins().of_one_width()
    plain = ScoreHistogram.from_scores(scores, LIMIT)
    assert bins.lower_ends.tolist() == plain.lower_ends[plain.counts > 0].tolist()
    assert bins.counts.tolist() == plain.counts[plain.counts > 0].tolist()


@pytest.mark.parametrize("name", OUTLIERS)
@pytest.mark.parametrize("method", [CSF, EQUAL_COUNT], ids=["csf", "equal_count"])
def test_outliers_do_not_destroy_the_leaves(name: str, method: CutMethod) -> None:
    """One row at -9999 left 5 of 256 leaves."""
    limit = 64 * 64
    without = cut_edges(method, ScoreCounts.from_scores(NORMAL, limit), 64)
    scores = np.append(NORMAL, OUTLIERS[name])
    edges = cut_edges(method, ScoreCounts.from_scores(scores, limit), 64)
    assert len(edges) > 0.8 * len(without)
    rows = np.bincount(np.searchsorted(edges, scores, side="right"))
    most = np.bincount(np.searchsorted(without, NORMAL, side="right")).max()
    assert rows.max() <= 1.5 * max(most, OUTLIERS[name].count(-9999.0))


RANK = np.linspace(0, 1, 20_002)[1:-1]
SCALES = {
    "ranks": RANK,
    "odds": RANK / (1 - RANK),
    "cubed odds": (RANK / (1 - RANK)) ** 3,
    "minus odds": -(((1 - RANK) / RANK) ** 2),
    "tenth power": RANK**10,
    "tiny probabilities": 10 ** (300 * (RANK - 1)),
}


@pytest.mark.parametrize("name", SCALES)
def test_leaves_by_rank_do_not_depend_on_the_scale(name: str) -> None:
    """With bins of one width alone, cubed odds had a sixth of the leaves that their ranks have."""
    scores = SCALES[name]
    counts = ScoreCounts.from_scores(scores, LOGIT_RANK.bins(256))
    leaf = np.searchsorted(cut_edges(LOGIT_RANK, counts, 256), scores, side="right")
    exact = logit_rank_edges(scores, np.ones(len(scores), dtype=np.int64), 256)
    by_rank = np.searchsorted(exact, scores, side="right")
    assert leaf[-1] > 0.97 * by_rank[-1]
    assert np.abs(leaf / leaf[-1] - by_rank / by_rank[-1]).max() < 0.02


def test_few_values_with_outliers_are_told_apart() -> None:
    scores = np.append(np.round(NORMAL), [-9999.0, 1e300])
    edges = cut_edges(CSF, ScoreCounts.from_scores(scores, LIMIT), 64)
    assert len(edges) >= len(np.unique(scores)) - 3  # over one width they were two bins
    assert set(edges.tolist()) <= set(scores.tolist())


def test_extremes_are_kept_with_their_rows() -> None:
    counts = ScoreCounts.from_scores(np.repeat(np.arange(100.0), 3), LIMIT)
    kept = [*range(EXTREMES), *range(100 - EXTREMES, 100)]
    assert counts.extreme.tolist() == kept
    assert counts.extreme_rows.tolist() == [3] * 2 * EXTREMES
    assert counts.bulk.rows == 3 * (100 - 2 * EXTREMES)
    assert same(sent(counts), counts)


def sorted_counts(scores: np.ndarray, limit: int) -> ScoreCounts:
    """Counts by their definition: all scores sorted, the extremes cut off."""
    values, rows = np.unique(scores.astype(np.float64) + 0.0, return_counts=True)
    inner = slice(EXTREMES, max(len(values) - EXTREMES, EXTREMES))
    outer = np.ones(len(values), dtype=bool)
    outer[inner] = False
    bulk = ScoreHistogram.gathered(limit, (), values[inner], rows[inner])
    near = MagnitudeHistogram.gathered(limit, (), values[inner], rows[inner])
    return ScoreCounts(values[outer], rows[outer], bulk, near)


def few_values(rng: np.random.Generator, rows: int) -> np.ndarray:
    """As random forests and rounded judges have them: up to a few hundred, some very common."""
    values = rng.normal(size=rng.integers(1, 300))
    return rng.choice(values, rows, p=rng.dirichlet(np.full(len(values), 0.3)))


def saturated(rng: np.random.Generator, rows: int) -> np.ndarray:
    """As rounded probabilities have them: exactly 0 or 1 in many rows, -0.0 among them."""
    scores = special.expit(rng.normal(0, 30, rows)).round(int(rng.integers(1, 17)))
    return np.where(rng.random(rows) < 0.1, -0.0, scores)


def far_apart(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Numbers of any size and sign, the least and the greatest that float32 has among them."""
    limits = np.finfo(np.float32)
    ends = [limits.max, limits.min, limits.tiny, limits.smallest_subnormal, 0.0, -0.0]
    scores = rng.choice([-1, 1], rows) * 10 ** rng.uniform(-37, 37, rows)
    return np.where(rng.random(rows) < 0.01, rng.choice(ends, rows), scores)


def ordered(rng: np.random.Generator, rows: int) -> np.ndarray:
    """As files sorted by score have them."""
    return np.sort(rng.beta(0.1, 2, rows))


def alternating(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Runs in which every second score, or fourth or so, is one of few: the worst for samples."""
    scores = rng.normal(size=rows)
    scores[:: 1 << int(rng.integers(0, 8))] = rng.choice([-5.0, 0.0, 5.0])
    return scores


POOLS = [few_values, saturated, far_apart, ordered, alternating]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", POOLS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("seed", [1, 3, *slowly(7, 9, 11)])
def test_counts_are_those_of_sorting_however_rows_are_cut(
    make: Callable[[np.random.Generator, int], np.ndarray], dtype: type, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.choice([1, 2, 63, 65, 700, 20_000, 100_000]))
    limit = int(rng.choice([2, 64, LIMIT, 1 << 12]))
    scores = make(rng, rows).astype(dtype)
    whole = sorted_counts(scores, limit)
    assert same(ScoreCounts.from_scores(scores, limit), whole)
    for shards in (2, 7, 40):
        cuts = np.sort(rng.integers(0, rows + 1, shards - 1))
        parts = np.split(scores if rng.random() < 0.5 else rng.permutation(scores), cuts)
        states = [ScoreCounts.from_scores(part, limit) for part in parts]
        while len(states) > 1:  # any two are merged next
            one, other = (states.pop(int(rng.integers(len(states)))) for _ in range(2))
            states.append(one + other)
        assert same(states[0], whole)


@pytest.mark.parametrize("make", POOLS, ids=lambda make: make.__name__)
def test_few_scores_are_sorted(
    make: Callable[[np.random.Generator, int], np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorting all of a batch made `prepare` half as fast: only equal scores may be many."""
    scores = make(np.random.default_rng(3), 200_000)
    sizes = []
    unique = np.unique

    def counted(values: np.ndarray, **options: bool) -> Any:
        sizes.append(len(unique(values)))
        return unique(values, **options)

    monkeypatch.setattr(score_counts.np, "unique", counted)
    ScoreCounts.from_scores(scores, LIMIT)
    assert max(sizes) < 40_000


def test_no_scores_have_no_bins() -> None:
    with pytest.raises(ValueError, match="no scores"):
        ScoreCounts.zero(LIMIT).bins()


def test_floor_is_exact() -> None:
    scores = np.array([-1e300, -9999.3, -1e-320, -0.0, 0.0, 0.3, 7.0, 1e16, 1e300])
    expected = [-1e300, -10000.0, -8.0, 0.0, 0.0, 0.0, 0.0, 1e16, 1e300]
    assert dyadic_floor(scores, 3).tolist() == expected
