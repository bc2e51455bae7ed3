"""Bins of scores: exact merging, and outliers that do not decide the bins' width."""

import numpy as np
import pytest

from evalsampling.stats import score_counts
from evalsampling.stats.histogram import ScoreHistogram, dyadic_floor
from evalsampling.stats.score_counts import EXTREMES, ScoreBins, ScoreCounts
from evalsampling.stats.strata import cut_edges
from tests.contracts import assert_mergeable

LIMIT = 8 * 64
NORMAL = np.random.default_rng(5).normal(-3, 1.5, 20_000)
OUTLIERS = {
    "sentinel": [-9999.0],
    "many-sentinels": [-9999.0] * 500,
    "both-ends": [-1e300, 1e300],
    "several": [-1e9, -1e6, 1e5, 1e12, 1e200, -1e-300],
}


def same(a: ScoreCounts, b: ScoreCounts) -> bool:
    return a.to_bytes() == b.to_bytes()


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


@pytest.mark.parametrize(
    "scores",
    [NORMAL, 1 / (1 + np.exp(-NORMAL)), np.round(NORMAL, 1), np.round(NORMAL), NORMAL * 1e-6 + 1],
    ids=["normal", "probabilities", "rounded", "whole", "narrow"],
)
def test_without_outliers_bins_are_those_over_the_range(scores: np.ndarray) -> None:
    bins = ScoreCounts.from_scores(scores, LIMIT).bins()
    plain = ScoreHistogram.from_scores(scores, LIMIT)
    assert bins.lower_ends.tolist() == plain.lower_ends[plain.counts > 0].tolist()
    assert bins.counts.tolist() == plain.counts[plain.counts > 0].tolist()


@pytest.mark.parametrize("name", OUTLIERS)
@pytest.mark.parametrize("method", ["csf", "equal_count"])
def test_outliers_do_not_destroy_the_leaves(name: str, method: str) -> None:
    """One row at -9999 left 5 of 256 leaves."""
    limit = 64 * 64
    without = cut_edges(method, ScoreCounts.from_scores(NORMAL, limit), 64)
    scores = np.append(NORMAL, OUTLIERS[name])
    edges = cut_edges(method, ScoreCounts.from_scores(scores, limit), 64)
    assert len(edges) > 0.8 * len(without)
    rows = np.bincount(np.searchsorted(edges, scores, side="right"))
    most = np.bincount(np.searchsorted(without, NORMAL, side="right")).max()
    assert rows.max() <= 1.5 * max(most, OUTLIERS[name].count(-9999.0))


def test_few_values_with_outliers_are_told_apart() -> None:
    scores = np.append(np.round(NORMAL), [-9999.0, 1e300])
    edges = cut_edges("csf", ScoreCounts.from_scores(scores, LIMIT), 64)
    assert len(edges) >= len(np.unique(scores)) - 3  # over one width they were two bins
    assert set(edges.tolist()) <= set(scores.tolist())


def test_extremes_are_kept_with_their_rows() -> None:
    counts = ScoreCounts.from_scores(np.repeat(np.arange(100.0), 3), LIMIT)
    kept = [*range(EXTREMES), *range(100 - EXTREMES, 100)]
    assert counts.extreme.tolist() == kept
    assert counts.extreme_rows.tolist() == [3] * 2 * EXTREMES
    assert counts.bulk.rows == 3 * (100 - 2 * EXTREMES)
    assert same(ScoreCounts.from_bytes(counts.to_bytes()), counts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", [5, 40, 64, 65, 90, 10**6])
@pytest.mark.parametrize("rows", [3, 511, 512, 5000])
def test_selection_counts_as_sorting_does(
    dtype: type, values: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few distinct scores and many, ties at either end, zeros of both signs, sentinels."""
    rng = np.random.default_rng([values, rows])
    scores = (rng.integers(0, values, rows) - values // 2).astype(dtype) / dtype(8)
    scores[rng.random(rows) < 0.3] = scores.max()
    scores[: rows // 4] *= dtype(-1)  # makes some zeros negative
    scores[0] = np.finfo(dtype).max
    found = ScoreCounts.from_scores(scores, LIMIT)
    assert found.rows == rows
    monkeypatch.setattr(score_counts, "_ends_of_bulk", lambda scores: None)
    assert same(found, ScoreCounts.from_scores(scores, LIMIT))


def test_no_scores_have_no_bins() -> None:
    with pytest.raises(ValueError, match="no scores"):
        ScoreCounts.zero(LIMIT).bins()


def test_floor_is_exact() -> None:
    scores = np.array([-1e300, -9999.3, -1e-320, -0.0, 0.0, 0.3, 7.0, 1e16, 1e300])
    expected = [-1e300, -10000.0, -8.0, 0.0, 0.0, 0.0, 0.0, 1e16, 1e300]
    assert dyadic_floor(scores, 3).tolist() == expected
