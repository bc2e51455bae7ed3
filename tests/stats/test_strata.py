"""Strata against the rule written out row by row."""

import math

import numpy as np
import pytest

from evalsampling.stats import strata
from evalsampling.stats.histogram import ScoreHistogram


def slow_csf(lower_ends: np.ndarray, counts: np.ndarray, leaves: int) -> list[float]:
    """The authors' walk over the bins, in words (methods, section 3).

    Walking up, an edge goes to a bin's lower end once the cumulated sqrt(count) has reached the
    next multiple of total/K, at most one edge a bin. The first edge, the multiple zero, is the
    least score's and no interior one. Empty bins carry none, or a leaf would be empty.
    """
    total = sum(math.sqrt(count) for count in counts)
    edges, cumulated, multiple = [], 0.0, 0
    for end, count in zip(lower_ends, counts, strict=True):
        if count == 0:
            continue
        cumulated += math.sqrt(count)
        if multiple < leaves and cumulated >= multiple * total / leaves - 1e-9 * total:
            edges.append(float(end))
            multiple += 1
    return edges[1:]


POOLS = ("normal", "skewed", "two humps", "few values", "almost equal")


def _scores(name: str) -> np.ndarray:
    rng = np.random.default_rng(5)
    return {
        "normal": rng.normal(size=20_000),
        "skewed": rng.exponential(size=20_000) ** 3,
        "two humps": np.concatenate([rng.normal(-8, 1, 20_000), rng.normal(8, 1, 50)]),
        "few values": rng.choice([0.1, 0.25, 0.5, 0.9], 500, p=[0.9, 0.05, 0.03, 0.02]),
        "almost equal": np.array([1.0] * 99 + [2.0]),
    }[name]


@pytest.mark.parametrize("leaves", [1, 2, 3, 10, 64, 256])
@pytest.mark.parametrize("name", POOLS)
def test_csf_follows_the_rule_and_leaves_no_leaf_empty(name: str, leaves: int) -> None:
    scores = _scores(name)
    histogram = ScoreHistogram.from_scores(scores, strata.BINS_PER_LEAF * leaves)
    edges = strata.csf_edges(histogram.lower_ends, histogram.counts, leaves)
    assert edges.tolist() == slow_csf(histogram.lower_ends, histogram.counts, leaves)
    assert len(edges) < leaves
    assert np.all(np.diff(edges) > 0)
    rows = np.bincount(strata.LeafTable(edges).find(scores), minlength=len(edges) + 1)
    assert np.all(rows > 0)


@pytest.mark.parametrize("seed", range(20))
def test_csf_follows_the_rule_on_random_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 1 + 10 ** rng.integers(0, 7, 100))
    counts[rng.random(100) < 0.3] = 0
    counts[-1] = 1
    leaves = int(rng.integers(1, 120))
    edges = strata.csf_edges(np.arange(100.0), counts, leaves)
    assert edges.tolist() == slow_csf(np.arange(100.0), counts, leaves)
    below = [counts[: int(edge)].sum() for edge in edges]
    assert np.all(np.diff([0, *below, counts.sum()]) > 0)


def test_dense_bin_delays_edges_and_the_top_gets_them() -> None:
    """Roots 1, 98, 1, ...: the bin of 98 passes 96 of 100 steps; each later bin carries one."""
    counts = np.array([1, 98**2, 1, 1, 1])
    edges = strata.csf_edges(np.arange(5.0), counts, 102)
    assert edges.tolist() == [1, 2, 3, 4]
    assert strata.csf_edges(np.arange(5.0), counts, 2).tolist() == [1]


@pytest.mark.parametrize(("bins", "leaves"), [(64, 8), (100, 4), (12, 12)])
def test_equal_counts_give_equal_leaves(bins: int, leaves: int) -> None:
    """Closed form: edge j at the bin that fills j of the K steps, number j B / K - 1."""
    edges = strata.csf_edges(np.arange(float(bins)), np.full(bins, 9), leaves)
    expected = np.arange(1, leaves) * bins / leaves - 1
    # Bin 0 carries the multiple zero, so with one bin a leaf the first edge moves up by one.
    assert edges.tolist() == (np.arange(1, leaves) if bins == leaves else expected).tolist()


def test_pool_of_one_value_is_one_leaf() -> None:
    histogram = ScoreHistogram.from_scores(np.full(10, 0.3), 8 * 256)
    assert strata.csf_edges(histogram.lower_ends, histogram.counts, 256).size == 0


def test_leaf_is_the_number_of_edges_at_or_below_the_score() -> None:
    edges = np.array([-1.0, 0.0, 0.1, 2.0])
    scores = np.array([-9, -1, np.nextafter(-1, -2), -0.0, 0.0, 0.1, np.nextafter(0.1, 0), 2, 99])
    expected = [sum(edge <= score for edge in edges.tolist()) for score in scores.tolist()]
    assert expected == [0, 1, 0, 2, 2, 3, 2, 4, 4]
    assert strata.LeafTable(edges).find(scores).tolist() == expected


def test_float32_scores_are_compared_at_their_float64_values() -> None:
    """0.1 rounds up in float32 and 0.7 down: the edges do not round with them."""
    edges = np.array([0.1, 0.7])
    scores = np.array([0.1, 0.7], dtype=np.float32)
    assert float(scores[0]) > 0.1
    assert float(scores[1]) < 0.7
    assert strata.LeafTable(edges).find(scores).tolist() == [1, 1]
    assert strata.LeafTable(edges).find(scores.astype(np.float64)).tolist() == [1, 1]


def test_one_leaf_without_edges() -> None:
    assert strata.LeafTable(np.zeros(0)).find(np.array([-5.0, 5.0])).tolist() == [0, 0]


def searched(edges: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return np.searchsorted(edges, scores.astype(np.float64), side="right")


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1.0, 1e6, 1e300])
@pytest.mark.parametrize("seed", range(5))
def test_table_finds_what_a_search_finds(scale: float, seed: int) -> None:
    """Any edges: scores on, just above and just below them, far outside, zero, subnormal."""
    rng = np.random.default_rng(seed)
    edges = np.unique(rng.normal(size=rng.integers(1, 300)) * scale)
    scores = np.concatenate(
        [
            rng.normal(size=2000) * 2 * scale,
            edges,
            np.nextafter(edges, np.inf),
            np.nextafter(edges, -np.inf),
            [0.0, -0.0, 1e307, -1e307, 1e-320, -1e-320],
        ]
    )
    np.testing.assert_array_equal(strata.LeafTable(edges).find(scores), searched(edges, scores))
    with np.errstate(over="ignore"):
        narrow = scores.astype(np.float32)
    narrow = narrow[np.isfinite(narrow)]
    np.testing.assert_array_equal(strata.LeafTable(edges).find(narrow), searched(edges, narrow))


@pytest.mark.parametrize("edges", [[0.0], [-1e-320], [1e-300, 1e300], [-1.0, 0.0, 1.0]])
def test_table_of_extreme_edges(edges: list[float]) -> None:
    scores = np.array([-1e300, -1.0, -1e-300, -1e-320, 0.0, 1e-320, 1e-300, 0.5, 1.0, 1e299, 1e301])
    bounds = np.array(edges)
    np.testing.assert_array_equal(strata.LeafTable(bounds).find(scores), searched(bounds, scores))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_table_of_edges_cut_from_a_histogram(kind: type) -> None:
    scores = np.random.default_rng(1).normal(size=20000).astype(kind)
    histogram = ScoreHistogram.from_scores(scores, strata.BINS_PER_LEAF * 256)
    edges = strata.csf_edges(histogram.lower_ends, histogram.counts, 256)
    np.testing.assert_array_equal(strata.LeafTable(edges).find(scores), searched(edges, scores))
