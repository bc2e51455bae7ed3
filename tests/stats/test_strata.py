"""Strata against the rule written out row by row."""

import itertools
import json
import math
import pickle
import pkgutil
from fractions import Fraction

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from evalsampling.parts.records import as_plain, read_record
from evalsampling.spec.strata import CUT_METHODS
from evalsampling.stats import strata
from evalsampling.stats.histogram import ScoreHistogram
from evalsampling.stats.score_counts import ScoreCounts

METHODS = {name: pkgutil.resolve_name(place) for name, place in CUT_METHODS.items()}


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
@pytest.mark.parametrize("name", ["normal", "skewed", "two humps", "few values", "almost equal"])
def test_csf_follows_the_rule_and_leaves_no_leaf_empty(name: str, leaves: int) -> None:
    scores = _scores(name)
    histogram = ScoreHistogram.from_scores(scores, strata.BINS_PER_LEAF * leaves)
    edges = strata.csf_edges(histogram.lower_ends, histogram.counts, leaves)
    assert edges.tolist() == slow_csf(histogram.lower_ends, histogram.counts, leaves)
    assert len(edges) < leaves
    assert np.all(np.diff(edges) > 0)
    rows = np.bincount(strata.LeafTable(edges).find(scores), minlength=len(edges) + 1)
    assert np.all(rows > 0)


@pytest.mark.parametrize("seed", range(6))
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


def slow_equal_count(counts: list[int], leaves: int) -> list[int]:
    """The bins that carry edges: cap counts at one leaf, then take the nearest ends, in words."""
    filled = [i for i, count in enumerate(counts) if count]
    if len(filled) <= leaves:
        return filled[1:]
    capped: set[int] = set()
    while True:
        rest = [counts[i] for i in filled if i not in capped]
        level = Fraction(sum(rest), leaves - len(capped))
        heavy = {i for i in filled if counts[i] > level}
        if heavy == capped:
            break
        capped = heavy
    weight = [min(Fraction(counts[i]), level) for i in filled]
    below = list(itertools.accumulate(weight, initial=Fraction(0)))
    nearest = [
        min(range(len(below)), key=lambda i: (abs(below[i] - j * level), i))
        for j in range(1, leaves)
    ]
    return [filled[i] for i in nearest]


COUNTS = st.lists(st.integers(0, 40) | st.integers(0, 10**9), min_size=1, max_size=40).filter(any)


@hypothesis.settings(max_examples=150, derandomize=True)
@hypothesis.given(counts=COUNTS, leaves=st.integers(1, 50))
def test_equal_count_follows_the_rule(counts: list[int], leaves: int) -> None:
    """As many leaves as wanted or as there are bins with rows, and none of them empty."""
    edges = strata.equal_count_edges(np.arange(float(len(counts))), np.array(counts), leaves)
    assert edges.dtype == np.float64
    assert edges.tolist() == slow_equal_count(counts, leaves)
    assert len(edges) + 1 == min(leaves, np.count_nonzero(counts))
    rows = np.add.reduceat(counts, [0, *edges.astype(int)])
    assert np.all(rows > 0)
    assert rows.sum() == sum(counts)


def test_equal_count_of_more_rows_than_float64_counts() -> None:
    """Counts are compared as integers: one row in 2^54 decides."""
    half = 1 << 53
    counts = np.array([half - 2, 4, half])
    assert strata.equal_count_edges(np.arange(3.0), counts, 2).tolist() == [2]
    assert strata.equal_count_edges(np.arange(3.0), counts[::-1], 2).tolist() == [1]


def test_ranks_of_edges_grow_by_one_ratio() -> None:
    """Of one row a bin they are those of the formula, rounded up."""
    rows, leaves = 10_000, 40
    edges = strata.log_rank_edges(
        np.arange(rows, dtype=float), np.ones(rows, dtype=np.int64), leaves
    )
    ranks = rows - edges[::-1]
    wanted = np.ceil(40 * (rows / 40) ** (np.arange(leaves - 1) / (leaves - 1)) - 1e-6)
    assert ranks.tolist() == wanted.tolist()


def test_a_bin_of_many_rows_ends_many_leaves() -> None:
    edges = strata.log_rank_edges(np.arange(4.0), np.array([5, 1, 1000, 2]), 10)
    assert edges.tolist() == [2.0], "ranks 2, 1002, 1003 and 1008; after 603 the next wanted is all"


def test_leaves_are_equally_wide_in_the_log_odds_of_the_rank() -> None:
    """Of 10,000 rows, one a bin: a row of its own at either end, equal widths in the middle."""
    rows, leaves = 10_000, 40
    edges = strata.logit_rank_edges(np.arange(float(rows)), np.ones(rows, dtype=np.int64), leaves)
    assert edges[:3].tolist() == [1, 2, 3]
    assert edges[-3:].tolist() == [rows - 3, rows - 2, rows - 1]
    inner = edges[(edges > 100) & (edges < rows - 100)]
    widths = np.diff(np.log(inner / (rows - inner)))
    assert widths == pytest.approx(2 * np.log(2 * rows) / leaves, abs=0.011)


@pytest.mark.parametrize("leaves", [1, 2, 7, 300])
def test_leaves_of_ranks_go_by_the_order_of_scores_alone(leaves: int) -> None:
    counts = np.random.default_rng(2).integers(0, 4, size=200)
    ends = np.linspace(0.1, 3, 200)
    edges = strata.logit_rank_edges(ends, counts, leaves)
    assert len(edges) < leaves
    assert np.all(np.diff(edges) > 0)
    assert np.array_equal(strata.logit_rank_edges(ends**9, counts, leaves), edges**9)
    leaf = np.searchsorted(edges, ends, side="right")
    assert np.all(np.bincount(leaf, counts, minlength=len(edges) + 1) > 0)


def test_equal_width_in_closed_form() -> None:
    assert strata.equal_width_edges(0, 1, 4).tolist() == [0.25, 0.5, 0.75]
    assert strata.equal_width_edges(-3, 5, 8).tolist() == [-2, -1, 0, 1, 2, 3, 4]
    assert strata.equal_width_edges(-1.5e308, 1.5e308, 2).tolist() == [0]


def test_geometric_in_closed_form() -> None:
    np.testing.assert_allclose(strata.geometric_edges(1, 10_000, 4), [10, 100, 1000], rtol=1e-14)
    np.testing.assert_allclose(strata.geometric_edges(3, 96, 5), [6, 12, 24, 48], rtol=1e-14)
    np.testing.assert_allclose(strata.geometric_edges(1e-300, 1e300, 3), [1e-100, 1e100], rtol=1e-9)


@pytest.mark.parametrize("minimum", [0.0, -0.0, -1.0])
def test_geometric_needs_positive_scores(minimum: float) -> None:
    with pytest.raises(ValueError, match="need positive scores, the least is"):
        strata.geometric_edges(minimum, 1.0, 4)


@hypothesis.settings(max_examples=200, derandomize=True)
@hypothesis.given(
    scores=st.lists(st.floats(-1e300, 1e300) | st.integers(1, 6), min_size=1, max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=3),
    leaves=st.integers(1, 20),
    method=st.sampled_from(sorted(METHODS)),
)
def test_every_method_cuts_leaves(
    scores: list[float], cuts: list[int], leaves: int, method: str
) -> None:
    """Edges increase, separate rows, are few enough, and the shards' order does not move them."""
    pool = np.array(scores, dtype=np.float64)
    if method == "geometric":
        pool = np.abs(pool) + 1e-300
    limit = METHODS[method].bins(leaves)
    edges = strata.cut_edges(METHODS[method], ScoreCounts.from_scores(pool, limit), leaves)
    assert edges.dtype == np.float64
    assert len(edges) < leaves or not len(edges)
    assert np.all(np.diff(edges) > 0)
    rows = np.bincount(strata.LeafTable(edges).find(pool), minlength=len(edges) + 1)
    assert rows.sum() == len(pool)
    assert rows[0] > 0
    assert rows[-1] > 0
    assert np.all(rows > 0) or method in ("equal_width", "geometric")
    shards = np.split(pool, sorted(min(cut, len(pool)) for cut in cuts))[::-1]
    parts = (ScoreCounts.from_scores(shard, limit) for shard in shards)
    merged = sum(parts, start=ScoreCounts.zero(limit))
    assert strata.cut_edges(METHODS[method], merged, leaves).tolist() == edges.tolist()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pool", [[0.3], [0.3] * 9, [5e-324] * 2, [1e300] * 3])
def test_one_value_is_one_leaf_by_every_method(method: str, pool: list[float]) -> None:
    histogram = ScoreCounts.from_scores(np.array(pool), METHODS[method].bins(256))
    assert strata.cut_edges(METHODS[method], histogram, 256).size == 0


@pytest.mark.parametrize("method", ["equal_width", "geometric"])
def test_methods_of_the_extremes_tell_adjacent_numbers_apart(method: str) -> None:
    pool = np.array([0.7, np.nextafter(0.7, 1)])
    histogram = ScoreCounts.from_scores(pool, METHODS[method].bins(64))
    assert strata.cut_edges(METHODS[method], histogram, 64).tolist() == [pool[1]]


@pytest.mark.parametrize("method", METHODS)
def test_no_scores_cannot_be_cut(method: str) -> None:
    with pytest.raises(ValueError, match="no scores"):
        strata.cut_edges(METHODS[method], ScoreCounts.zero(METHODS[method].bins(4)), 4)


@pytest.mark.parametrize("edges", [[0.1, 0.2, 0.3], [[0.1]], [0.1, np.nan], [0.2, 0.2], [0.2, 0.1]])
def test_what_is_no_cut_into_three_is_refused(edges: list[object]) -> None:
    class Own:
        def bins(self, leaves: int) -> int:
            return 8 * leaves

        def cut(self, *_: object) -> np.ndarray:
            return np.array(edges)

    counts = ScoreCounts.from_scores(np.linspace(0, 1, 50), 24)
    with pytest.raises(ValueError, match="edges must be"):
        strata.cut_edges(Own(), counts, 3)


def test_limits_of_the_histograms() -> None:
    assert METHODS["csf"].bins(256) == strata.BINS_PER_LEAF * 256
    assert METHODS["equal_count"].bins(256) == 64 * 256
    assert METHODS["equal_count"].bins(1 << 12) == 1 << 16
    assert METHODS["equal_count"].bins(1 << 14) == strata.BINS_PER_LEAF << 14
    assert {METHODS[method].bins(9) for method in ("equal_width", "geometric")} == {2}


def searched(edges: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return np.searchsorted(edges, scores.astype(np.float64), side="right")


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NARROW = st.floats(allow_nan=False, allow_infinity=False, width=32)


def near(values: list[float]) -> list[float]:
    """The values, their negatives and their neighbours, all finite; zeros and subnormals."""
    signed = np.array([*values, 0.0, 5e-324, 1e-310, 1.0, np.finfo(np.float64).max])
    signed = np.concatenate([signed, -signed])
    with np.errstate(over="ignore"):
        beside = [np.nextafter(signed, end) for end in (-np.inf, np.inf)]
    scores = np.concatenate([signed, *beside])
    return scores[np.isfinite(scores)].tolist()


@hypothesis.settings(max_examples=150, derandomize=True)
@hypothesis.given(
    edges=st.lists(FLOATS | st.floats(0, 1) | st.floats(0.5, 0.5000001), max_size=40),
    runs=st.integers(0, 3),
    scores=st.lists(FLOATS, max_size=30),
    narrow=st.lists(NARROW, max_size=30),
)
def test_table_of_any_edges_finds_what_a_search_finds(
    edges: list[float], runs: int, scores: list[float], narrow: list[float]
) -> None:
    """Whatever the table; among the edges are runs of adjacent numbers."""
    bounds = np.array(edges)
    for _ in range(runs):
        bounds = np.append(bounds, np.nextafter(bounds, 1e300))
    bounds = np.unique(bounds)
    table = strata.LeafTable(bounds)
    wide = np.array([*scores, *near(bounds.tolist()), *bounds])
    np.testing.assert_array_equal(table.find(wide), searched(bounds, wide))
    with np.errstate(over="ignore"):
        cast = np.array([*narrow, *wide]).astype(np.float32)
    cast = cast[np.isfinite(cast)]
    np.testing.assert_array_equal(table.find(cast), searched(bounds, cast))


@pytest.mark.parametrize("edges", [[-0.0], [-0.0, 5e-324], [-5e-324, -0.0, 1.0], [-1e-9, 0.0, 1e9]])
@pytest.mark.parametrize("bins", [strata._EqualWidthBins, strata._FloatOrderBins])
def test_each_kind_of_bins_is_exact_about_zero(
    edges: list[float], bins: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros of both signs are equal."""
    monkeypatch.setattr(strata, "_EqualWidthBins", bins)
    monkeypatch.setattr(strata, "_FloatOrderBins", bins)
    scores, bounds = np.array(near(edges)), np.array(edges)
    table = strata.LeafTable(bounds)
    assert isinstance(table._bins, bins)
    np.testing.assert_array_equal(table.find(scores), searched(bounds, scores))


@pytest.mark.parametrize("bins", [strata._EqualWidthBins, strata._FloatOrderBins])
@pytest.mark.parametrize("scale", [5e-324, 1e-9, 1.0, 1e307])
def test_each_kind_of_bins_is_exact(
    bins: type, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strata, "_EqualWidthBins", bins)
    monkeypatch.setattr(strata, "_FloatOrderBins", bins)
    rng = np.random.default_rng(7)
    for size in (1, 2, 30, 300):
        bounds = np.unique(np.round(rng.normal(size=size) * 100) * (scale / 100))
        bounds = bounds[np.isfinite(bounds)]
        scores = np.array([*near(bounds.tolist()), *rng.normal(size=99) * scale])
        scores = scores[np.isfinite(scores)]
        table = strata.LeafTable(bounds)
        np.testing.assert_array_equal(table.find(scores), searched(bounds, scores))


def bins_of(edges: np.ndarray) -> type:
    return type(strata.LeafTable(edges)._bins)


def test_edges_choose_the_bins() -> None:
    """Equal widths wherever they tell all edges apart, the order of floats near zero."""
    rng = np.random.default_rng(8)
    histogram = ScoreHistogram.from_scores(rng.normal(size=20_000), strata.BINS_PER_LEAF * 256)
    equal_width = (
        strata.csf_edges(histogram.lower_ends, histogram.counts, 256),
        np.linspace(0, 1, 257),
        np.sort(rng.normal(size=255)),
        np.array([0.5]),
    )
    for edges in equal_width:
        assert bins_of(edges) is strata._EqualWidthBins
    crowded = (
        np.array([1e-9, 1e-6, 1e-3, 0.1, 0.5]),
        np.geomspace(1e-9, 1, 255),
        -np.geomspace(1e-300, 1e300, 99)[::-1],
        np.array([0.0, 1e-300, 1e300]),
    )
    for edges in crowded:
        assert bins_of(edges) is strata._FloatOrderBins


def test_table_searches_for_rows_of_few_bins_only() -> None:
    """Edges cut from a histogram none; geometric ones at most a bin each, of 16,384."""
    table = strata.LeafTable(np.geomspace(1e-9, 1, 255))
    assert np.count_nonzero(table._leaf == -1) <= 255
    assert len(table._leaf) > 8000
    table = strata.LeafTable(np.arange(-3, 50) / 64)
    assert not table._any_searched


def test_many_scores_are_found_as_few_are() -> None:
    """More than are looked up at a time, in reverse and with gaps."""
    scores = np.random.default_rng(9).normal(size=40_001).astype(np.float32)
    edges = np.array([-1.0, 0.3, 1.7])
    found = strata.LeafTable(edges).find(scores[::-2])
    np.testing.assert_array_equal(found, searched(edges, scores[::-2]))


@pytest.mark.parametrize("leaves", [1, 2, 7, 300])
def test_no_leaf_of_ranks_is_empty_and_there_are_no_more_than_wanted(leaves: int) -> None:
    counts = np.random.default_rng(2).integers(0, 4, size=200)
    ends = np.linspace(-3, 3, 200)
    edges = strata.log_rank_edges(ends, counts, leaves)
    assert len(edges) < leaves
    assert np.all(np.diff(edges) > 0)
    leaf = np.searchsorted(edges, ends, side="right")
    assert np.all(np.bincount(leaf, counts, minlength=len(edges) + 1) > 0)
    if leaves >= counts.sum():
        assert len(edges) == np.count_nonzero(counts) - 1


def test_cells_of_one_row_are_divided_evenly_in_the_order_of_the_key() -> None:
    key = np.random.default_rng(0).permutation(100).astype(float)
    stratum = strata.equal_strata(key, np.ones(100, dtype=np.int64), 10)
    assert np.bincount(stratum).tolist() == [10] * 10
    assert np.all(np.diff(stratum[np.argsort(key)]) >= 0)


def test_large_cells_make_fewer_strata_numbered_without_gaps() -> None:
    stratum = strata.equal_strata(np.arange(3.0), np.array([5, 90, 5]), 10)
    assert stratum.tolist() == [0, 1, 2]
    assert strata.equal_strata(np.arange(2.0), np.array([1, 1]), 1).tolist() == [0, 0]


def test_strata_differ_from_equal_ones_by_a_cell_at_most() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(1, 30, 200)
    held = np.bincount(strata.equal_strata(rng.random(200), rows, 8), rows)
    assert len(held) == 8
    assert np.all(np.abs(held - rows.sum() / 8) <= rows.max())


def test_strata_are_joined_until_they_have_labels() -> None:
    assert strata.with_labels(np.array([2, 0, 1, 1, 0, 0])).tolist() == [0, 1, 1, 2, 2, 2]
    assert strata.with_labels(np.array([0, 0, 0])).tolist() == [0, 0, 0]
    assert strata.with_labels(np.array([5])).tolist() == [0]


ROWS, LEAVES = 4000, 32


def several_scores() -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    tied = np.where(rng.random(ROWS) < 0.9, 0.0, rng.random(ROWS))
    return [rng.normal(size=ROWS), tied, rng.integers(0, 6, ROWS).astype(np.float64)]


def ranked_leaves(of: list[np.ndarray]) -> strata.GreatestRank:
    counts = [ScoreCounts.from_scores(each, strata.LOGIT_RANK.bins(LEAVES)) for each in of]
    return strata.GreatestRank.cut([f"score {place}" for place in range(len(of))], counts, LEAVES)


def test_a_row_is_as_high_as_the_score_that_ranks_it_highest_has_it() -> None:
    """The share of the rows below, by brute force, rises from leaf to leaf, within a bin's rows."""
    of = several_scores()
    leaf = ranked_leaves(of).find(of)
    below = np.max([[np.mean(each < value) for value in each] for each in of], axis=0)
    ends = [(below[leaf == k].min(), below[leaf == k].max()) for k in np.unique(leaf)]
    for (_, high), (low, _) in itertools.pairwise(ends):
        assert high <= low + 2e-3
    assert len(ends) > LEAVES // 2


def test_the_order_of_the_scores_does_not_matter() -> None:
    of = several_scores()
    assert np.array_equal(ranked_leaves(of).find(of), ranked_leaves(of[::-1]).find(of[::-1]))


def test_one_score_alone_makes_its_own_leaves() -> None:
    (one, *_) = several_scores()
    counts = ScoreCounts.from_scores(one, strata.LOGIT_RANK.bins(LEAVES))
    alone = np.searchsorted(strata.cut_edges(strata.LOGIT_RANK, counts, LEAVES), one, side="right")
    assert np.array_equal(ranked_leaves([one]).find([one]), alone)


def test_a_lowest_score_that_most_rows_share_ranks_none_of_them() -> None:
    """Of two scores one is the same for nine rows in ten: there the other tells them apart."""
    one, tied, _ = several_scores()
    leaves = ranked_leaves([one, tied])
    at_bottom = tied == 0
    assert len(np.unique(leaves.find([one, tied])[at_bottom])) > LEAVES // 2


def test_leaves_outlive_files_and_processes() -> None:
    of = several_scores()
    leaves = ranked_leaves(of)
    before = leaves.find(of)
    of_file = read_record(strata.GreatestRank, json.loads(json.dumps(as_plain(leaves))))
    for copy in (of_file, pickle.loads(pickle.dumps(leaves))):
        assert np.array_equal(copy.find(of), before)
        assert copy.leaves == leaves.leaves


@pytest.mark.parametrize("value", [0.0, -3.5])
def test_scores_that_are_all_alike_make_one_leaf(value: float) -> None:
    of = [np.full(50, value), np.full(50, 1.0)]
    leaves = ranked_leaves(of)
    assert leaves.leaves == 1
    assert not leaves.find(of).any()
