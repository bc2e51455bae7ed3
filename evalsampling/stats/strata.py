"""Strata of scores: edges from a histogram, leaves by several scores, cells of about equal rows.

Edges are computed once, saved, and never recomputed: every later round reads them. Functions that
cut edges take the lower ends of bins, ascending, and the rows in each, or the least and the
greatest score, and the most leaves wanted, at least 1. They return interior edges, fewer than the
leaves, strictly increasing: leaf k has the scores in [edge k-1, edge k), the first and the last
leaf being open-ended.
"""

import dataclasses
import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.histogram import dyadic_bins, dyadic_exponent, float_order
from evalsampling.stats.score_counts import ScoreBins, ScoreCounts
from evalsampling.stats.tree import parting_of_cuts

_TABLE_BINS = 1 << 14
"""Most bins between the edges of a table of leaves: it stays in the processor's cache."""

_ROWS_AT_A_TIME = 1 << 14
"""Scores looked up at a time: the intermediate arrays stay in the cache too."""

_SEARCHED = -1
"""Stands for the leaf of a bin with an edge strictly inside."""

BINS_PER_LEAF = 8
"""Most bins per leaf of the histogram that edges are cut from, unless a method needs finer ones:
dyadic bins give 4 to 8."""

_FINE_BINS_PER_LEAF = 64
_MOST_FINE_BINS = 1 << 16


def csf_edges(lower_ends: FloatArray, counts: IntArray, leaves: int) -> FloatArray:
    """Return edges at equal steps of the cumulated square root of the frequency.

    Walking up the bins, an edge is put at a bin's lower end once the cumulated sqrt(count) has
    reached the next multiple of total / leaves, at most one edge a bin (the rule of the authors of
    [MR] Marchant and Rubinstein, *Needle in a Haystack*, KDD 2021, section 5.2; T. Dalenius and J.
    L. Hodges, *Minimum variance stratification*, JASA 54, 1959). Only a bin that holds rows can
    carry an edge, so that no leaf is empty.
    """
    roots = np.sqrt(counts.astype(np.float64))
    cumulated = np.cumsum(roots)
    step = cumulated[-1] / leaves
    edges: list[float] = []
    placed = 0
    for i in np.flatnonzero(counts):
        if placed < leaves and cumulated[i] >= placed * step:
            edges.append(float(lower_ends[i]))
            placed += 1
    return np.array(edges[1:], dtype=np.float64)


def equal_count_edges(lower_ends: FloatArray, counts: IntArray, leaves: int) -> FloatArray:
    """Return edges of leaves of about equal counts.

    A bin that holds more rows than a leaf should takes a whole leaf, and the other leaves share the
    other rows: counts are capped at the level t with sum(min(count, t)) = leaves x t. Edge j is the
    lower end of a bin with rows where the capped counts below come nearest to j t, the lower of two
    as near; it is off by at most half the rows of the bin it should have cut. Rows times leaves
    stay below 2^63.
    """
    ends, rows = lower_ends[counts > 0], counts[counts > 0]
    if len(rows) <= leaves:
        return ends[1:]
    # With h capped bins t = rest[h] / (leaves - h), a fraction: count in units of 1/(leaves - h).
    largest = np.sort(rows)[::-1][:leaves]
    rest = rows.sum() - np.cumsum(largest) + largest
    shares = leaves - np.arange(leaves)
    h = int(np.argmax(largest * shares <= rest))
    capped = np.minimum(rows * shares[h], rest[h])
    below = np.cumsum(capped) - capped
    targets = np.arange(1, leaves) * rest[h]
    above = np.searchsorted(below, targets)
    nearer_below = targets - below[above - 1] <= below[above] - targets
    return ends[above - nearer_below]


def log_rank_edges(lower_ends: FloatArray, counts: IntArray, leaves: int) -> FloatArray:
    """Return edges of leaves that end, from the highest score down, at ranks K, K g, ..., N.

    K is the number of leaves (N if that is smaller), so g = (N / K)^(1 / (K - 1)). A leaf ends with
    the bin in which its rank is reached.
    """
    ends, rows = lower_ends[counts > 0], counts[counts > 0]
    rank = np.cumsum(rows[::-1])
    wanted = np.geomspace(min(leaves, rank[-1]), rank[-1], leaves)[:-1]
    reached = np.unique(np.searchsorted(rank, wanted * (1 - 1e-12)))
    edges = ends[::-1][reached]
    return edges[edges > ends[0]][::-1]


def logit_rank_edges(lower_ends: FloatArray, counts: IntArray, leaves: int) -> FloatArray:
    """Return edges of leaves of equal width in the log-odds of the rank.

    With N rows, L leaves and steps of 2 log(2 N) / L, edge j lies at the first bin that has a share
    of the rows below it with log-odds of at least j steps above -log(2 N). So rows at either end
    have leaves of their own, and only the order of the scores matters, as far as bins tell it.
    """
    return logit_rank_levels(lower_ends, counts, leaves)[0]


def logit_rank_levels(
    lower_ends: FloatArray, counts: IntArray, leaves: int
) -> tuple[FloatArray, IntArray]:
    """Return the edges of `logit_rank_edges`, and the number of the leaf above each edge.

    Where scores skip some of the leaves, so do the numbers, in [1, leaves).
    """
    ends, rows = lower_ends[counts > 0], counts[counts > 0]
    below = np.cumsum(rows[:-1])
    total = int(rows.sum())
    furthest = math.log(2 * total)
    wanted = np.linspace(-furthest, furthest, leaves + 1)[1:-1]
    log_odds = np.log(below / (total - below))
    reached = np.unique(np.searchsorted(log_odds, wanted))
    reached = reached[reached < len(below)]
    return ends[1:][reached], np.searchsorted(wanted, log_odds[reached], side="right")


def equal_width_edges(minimum: float, maximum: float, leaves: int) -> FloatArray:
    """Return edges that cut the range into equal widths; leaves may be empty."""
    share = np.arange(1, leaves) / leaves
    return _distinct(minimum * (1 - share) + maximum * share, minimum, maximum)


def geometric_edges(minimum: float, maximum: float, leaves: int) -> FloatArray:
    """Return edges a r^j of positive scores, with a the minimum and a r^leaves the maximum.

    Leaves have about equal coefficients of variation where scores are skewed and spread evenly
    within each leaf (P. Gunning and J. M. Horgan, *A new algorithm for the construction of stratum
    boundaries in skewed populations*, Survey Methodology 30, 2004). They may be empty.
    """
    if minimum <= 0:
        raise ValueError(f"geometric edges need positive scores, the least is {minimum}")
    share = np.arange(1, leaves) / leaves
    return _distinct(minimum ** (1 - share) * maximum**share, minimum, maximum)


def _distinct(edges: FloatArray, minimum: float, maximum: float) -> FloatArray:
    """Return the distinct edges with scores beyond them: rounding may make edges equal."""
    return np.unique(edges[(edges > minimum) & (edges <= maximum)])


class CutMethod(Protocol):
    """A way to cut leaves from the scores of a pool, which are given as counts in bins."""

    def bins(self, leaves: int) -> int:
        """Return the number of bins to count scores in, at least 2; all are held in memory."""

    def cut(self, scores: ScoreBins, leaves: int) -> FloatArray:
        """Return interior edges of at most so many leaves: leaf k is [edge k-1, edge k).

        A `ValueError` says that the scores allow no such edges.
        """


class HierarchicalCut(CutMethod, Protocol):
    """A way to cut leaves that cuts a score at one edge after the other."""

    def order(self, scores: ScoreBins, leaves: int) -> FloatArray:
        """Return the edges of `cut` in the order in which they cut, coarsest first."""


@dataclasses.dataclass(frozen=True)
class _Method:
    """A `CutMethod` that is made of two functions."""

    bins: Callable[[int], int]
    cut: Callable[[ScoreBins, int], FloatArray]


def _fine_bins(leaves: int) -> int:
    return max(BINS_PER_LEAF * leaves, min(_FINE_BINS_PER_LEAF * leaves, _MOST_FINE_BINS))


def _of_counts(
    bins: Callable[[int], int], rule: Callable[[FloatArray, IntArray, int], FloatArray]
) -> CutMethod:
    """Return the method of a rule that takes the lower ends and the counts of bins."""
    return _Method(bins, lambda scores, leaves: rule(scores.lower_ends, scores.counts, leaves))


def _csf(scores: ScoreBins, leaves: int) -> FloatArray:
    even = scores.of_one_width()
    return csf_edges(even.lower_ends, even.counts, leaves)


def _of_range(rule: Callable[[float, float, int], FloatArray]) -> CutMethod:
    """Return the method of a rule that takes the two extreme scores; 2 bins are the fewest."""
    return _Method(lambda _: 2, lambda scores, leaves: rule(scores.minimum, scores.maximum, leaves))


CSF = _Method(lambda leaves: BINS_PER_LEAF * leaves, _csf)
GEOMETRIC = _of_range(geometric_edges)
EQUAL_WIDTH = _of_range(equal_width_edges)
EQUAL_COUNT = _of_counts(_fine_bins, equal_count_edges)
LOGIT_RANK = _of_counts(_fine_bins, logit_rank_edges)
LOG_RANK = _of_counts(_fine_bins, log_rank_edges)


def cut_edges(method: CutMethod, counts: ScoreCounts, leaves: int) -> FloatArray:
    """Return the edges that a method cuts, given counts in as many bins as it wants or more."""
    edges = np.asarray(method.cut(counts.bins(method.bins(leaves)), leaves), dtype=np.float64)
    if edges.ndim != 1 or len(edges) >= leaves or not np.isfinite(edges).all():
        raise ValueError(f"edges must be at most {leaves - 1} finite numbers, got {edges}")
    if np.any(edges[1:] <= edges[:-1]):
        raise ValueError(f"edges must be strictly increasing, got {edges}")
    return edges


def cut_parting(method: CutMethod, counts: ScoreCounts, leaves: int, edges: FloatArray) -> IntArray:
    """Return the level at which each two leaves of `cut_edges` part: see `LeafTree.parted`."""
    if not hasattr(method, "order"):
        raise ValueError("it makes no hierarchy of leaves: it has no order of its edges")
    order = np.asarray(method.order(counts.bins(method.bins(leaves)), leaves), dtype=np.float64)
    if not np.array_equal(np.sort(order), edges):
        raise ValueError("the order of its edges is not one of the edges that it cuts")
    return parting_of_cuts(np.searchsorted(edges, order))


@dataclasses.dataclass(frozen=True)
class GreatestRank:
    """Leaves by the greatest rank that any of several scores gives a row.

    Each score has leaves of equal width in the log-odds of its rank, numbered alike. The leaf of a
    row is the highest that any score puts it into, so their order does not matter.
    """

    columns: tuple[str, ...]  # names of the scores
    edges: tuple[FloatArray, ...]  # of each score, strictly increasing
    # of each score the leaf of every interval between its edges, shape (edges + 1,), in [0, leaves)
    leaf: tuple[IntArray, ...]
    leaves: int

    @classmethod
    def cut(cls, columns: Sequence[str], scores: Sequence[ScoreCounts], leaves: int) -> Self:
        """Return the leaves of a pool."""
        edges, levels = [], []
        for counts in scores:
            bins = counts.bins(LOGIT_RANK.bins(leaves))
            of_score, above = logit_rank_levels(bins.lower_ends, bins.counts, leaves)
            edges.append(of_score)
            levels.append(np.append(0, above))
        found = np.unique(np.concatenate(levels))
        leaf = tuple(np.searchsorted(found, of_score) for of_score in levels)
        return cls(tuple(columns), tuple(edges), leaf, len(found))

    def find(self, scores: Sequence[npt.NDArray[np.floating]]) -> IntArray:
        """Return the leaf of each row, shape (n,), given all its scores, shape (n,) each."""
        found = [
            leaf[table.find(score)]
            for table, leaf, score in zip(self._tables, self.leaf, scores, strict=True)
        ]
        return np.asarray(np.max(found, axis=0))

    @functools.cached_property
    def _tables(self) -> list["LeafTable"]:
        return [LeafTable(edges) for edges in self.edges]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields to pickle, without the tables."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def equal_strata(key: FloatArray, rows: IntArray, strata: int) -> IntArray:
    """Return the stratum of each cell, shape (cells,), numbered from 0 without gaps.

    Cells in the order of the key are divided where the rows so far pass a multiple of M / strata; a
    cell goes where its middle is. Cells of equal keys keep their order.
    """
    order = np.argsort(key, kind="stable")
    middle = np.cumsum(rows[order]) - rows[order] / 2
    place = np.minimum(np.floor(strata * middle / rows.sum()), strata - 1).astype(np.int64)
    stratum = np.empty(len(key), dtype=np.int64)
    stratum[order] = np.unique(place, return_inverse=True)[1]
    return stratum


def with_labels(labels: IntArray) -> IntArray:
    """Return groups of adjacent strata with labels in each group, shape (strata,), from 0.

    Walking up the strata, a group ends with the first that has labels; those left join the last.
    """
    has_labels = labels > 0
    group: IntArray = np.cumsum(has_labels) - has_labels
    return np.minimum(group, max(int(has_labels.sum()) - 1, 0))


@dataclasses.dataclass(frozen=True)
class _EqualWidthBins:
    """Dyadic bins between the least and the greatest edge (`stats.histogram`)."""

    low: float
    high: float
    exponent: int

    @classmethod
    def over(cls, edges: FloatArray) -> "_EqualWidthBins":
        least, greatest = float(edges[0]), float(edges[-1])
        low = math.nextafter(least, -sys.float_info.max)
        return cls(low, greatest, dyadic_exponent(least, greatest, _TABLE_BINS))

    def __call__(self, scores: npt.NDArray[np.floating]) -> IntArray:
        # Moving scores up to low and down to high keeps their leaves, and quotients small.
        return dyadic_bins(np.clip(scores, self.low, self.high, dtype=np.float64), self.exponent)


@dataclasses.dataclass(frozen=True)
class _FloatOrderBins:
    """Bins by the leading bits of float64: of equal widths within each power of two."""

    shift: int  # trailing bits left out, at least 1, so that differences of bins are in int64

    @classmethod
    def over(cls, edges: FloatArray) -> "_FloatOrderBins":
        shift = 1
        while np.ptp(float_order(edges[[0, -1]], shift)) >= _TABLE_BINS:
            shift += 1
        return cls(shift)

    def __call__(self, scores: npt.NDArray[np.floating]) -> IntArray:
        return float_order(scores, self.shift)


_Bins = _EqualWidthBins | _FloatOrderBins


class LeafTable:
    """Finds the leaves of scores through a fine table before any search.

    The range of the edges is divided into bins. A bin without an edge strictly inside lies in
    one leaf, which the table knows; only scores in the other bins are searched for. Bins are
    dyadic, on whose ends edges cut from a histogram lie, so that for these nothing is searched
    for; or they follow the order of floating-point numbers, for edges crowded near zero.
    """

    def __init__(self, edges: FloatArray) -> None:
        """Build the table of interior edges, finite and strictly increasing."""
        self._edges = edges
        if not len(edges):
            return
        # All rows of a leaf within one bin are searched for. So the bins that separate more edges
        # are taken, or the dyadic ones if both separate as many: they are computed faster.
        kinds: tuple[_Bins, ...] = (_EqualWidthBins.over(edges), _FloatOrderBins.over(edges))
        self._bins = max(kinds, key=lambda bins: len(np.unique(bins(edges))))
        edge_bins = self._bins(edges)
        self._first = int(edge_bins[0]) - 1
        numbers = np.arange(self._first, int(edge_bins[-1]) + 2)
        self._leaf = np.searchsorted(edge_bins, numbers, side="right")
        inside = self._bins(np.nextafter(edges, -sys.float_info.max)) == edge_bins
        self._leaf[edge_bins[inside] - self._first] = _SEARCHED
        self._any_searched = bool(inside.any())

    def find(self, scores: npt.NDArray[np.floating]) -> IntArray:
        """Return the leaf of each finite score, shape (n,): the number of edges at or below it."""
        if not len(self._edges):
            return np.zeros(len(scores), dtype=np.int64)
        leaves = np.empty(len(scores), dtype=np.int64)
        for begin in range(0, len(scores), _ROWS_AT_A_TIME):
            part = slice(begin, begin + _ROWS_AT_A_TIME)
            self._find(scores[part], leaves[part])
        return leaves

    def _find(self, scores: npt.NDArray[np.floating], leaves: IntArray) -> None:
        bins = self._bins(scores)
        bins -= self._first
        self._leaf.take(bins, out=leaves, mode="clip")  # bins beyond the edges: as the outermost
        if self._any_searched:
            rows = np.flatnonzero(leaves == _SEARCHED)
            leaves[rows] = np.searchsorted(
                self._edges, scores[rows].astype(np.float64), side="right"
            )
