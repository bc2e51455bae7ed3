"""Clusters of bins against the same, slowly: every join and every division from its rows."""

import itertools

import numpy as np
import pytest
import scipy

from evalsampling.stats.score_clusters import (
    AGGLOMERATIVE,
    DIVISIVE,
    agglomerative_cuts,
    divisive_cuts,
)
from evalsampling.stats.score_counts import ScoreCounts
from evalsampling.stats.strata import cut_edges, cut_parting


def squares(place: np.ndarray, rows: np.ndarray) -> float:
    """Sum of squared distances of rows from their mean."""
    every = np.repeat(place, rows)
    return float(np.sum((every - every.mean()) ** 2))


def joined_slowly(place: np.ndarray, rows: np.ndarray) -> list[int]:
    clusters, joined = [[k] for k in range(len(place))], []
    while len(clusters) > 1:
        rise = [
            squares(place[a + b], rows[a + b])
            - squares(place[a], rows[a])
            - squares(place[b], rows[b])
            for a, b in itertools.pairwise(clusters)
        ]
        left = int(np.argmin(rise))
        joined.append(clusters[left + 1][0])
        clusters[left : left + 2] = [clusters[left] + clusters[left + 1]]
    return joined[::-1]


def divided_slowly(place: np.ndarray, rows: np.ndarray) -> list[int]:
    cuts: list[int] = []
    while len(cuts) < len(place) - 1:
        ends = [0, *sorted(cuts), len(place)]

        def fall(cut: int, ends: list[int] = ends) -> float:
            first, end = max(e for e in ends if e < cut), min(e for e in ends if e > cut)
            part, left, right = slice(first, end), slice(first, cut), slice(cut, end)
            halves = squares(place[left], rows[left]) + squares(place[right], rows[right])
            return squares(place[part], rows[part]) - halves

        cuts.append(max((c for c in range(1, len(place)) if c not in cuts), key=fall))
    return cuts


@pytest.mark.parametrize("seed", range(6))
def test_cuts_are_those_of_rows_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    place = np.sort(rng.normal(size=rng.integers(2, 25)))
    rows = rng.integers(1, 30, len(place))
    assert agglomerative_cuts(place, rows, 99).tolist() == joined_slowly(place, rows)
    assert divisive_cuts(place, rows, 99).tolist() == divided_slowly(place, rows)
    for leaves in (1, 2, len(place) // 2 + 1):
        expected = joined_slowly(place, rows)[: leaves - 1]
        assert agglomerative_cuts(place, rows, leaves).tolist() == expected
        expected = divided_slowly(place, rows)[: leaves - 1]
        assert divisive_cuts(place, rows, leaves).tolist() == expected


@pytest.mark.parametrize("method", [AGGLOMERATIVE, DIVISIVE])
def test_edges_have_an_order_and_depend_on_the_set_of_rows(method: object) -> None:
    scores = np.random.default_rng(2).normal(size=3000)
    limit = method.bins(20)  # type: ignore[attr-defined]
    whole = ScoreCounts.from_scores(scores, limit)
    parts = [ScoreCounts.from_scores(part, limit) for part in np.split(scores, [10, 900])]
    for counts in (whole, sum(parts[::-1], start=ScoreCounts.zero(limit))):
        edges = cut_edges(method, counts, 20)  # type: ignore[arg-type]
        parting = cut_parting(method, counts, 20, edges)  # type: ignore[arg-type]
        assert (len(edges), len(parting)) == (19, 19)
        assert np.sum(parting == 1) == 1
        assert edges.tolist() == cut_edges(method, whole, 20).tolist()  # type: ignore[arg-type]
    # Fewer leaves are made of the same clusters.
    assert np.isin(method.order(whole.bins(limit), 5), edges).all()  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", [AGGLOMERATIVE, DIVISIVE])
def test_greatest_numbers_do_not_overflow(method: object) -> None:
    counts = ScoreCounts.from_scores(np.array([-1.7e308, 0, 1e-3, 1.7e308]), 32)
    with np.errstate(all="raise", under="ignore"):
        assert len(cut_edges(method, counts, 3)) == 2  # type: ignore[arg-type]


def test_an_order_of_other_edges_is_refused() -> None:
    counts = ScoreCounts.from_scores(np.arange(50.0), 64)

    class Wrong:
        bins = AGGLOMERATIVE.bins
        cut = AGGLOMERATIVE.cut

        def order(self, scores: object, leaves: int) -> np.ndarray:
            return np.array([1.0])

    edges = cut_edges(AGGLOMERATIVE, counts, 4)
    with pytest.raises(ValueError, match="is not one of the edges"):
        cut_parting(Wrong(), counts, 4, edges)  # type: ignore[arg-type]

    class Without:
        bins = AGGLOMERATIVE.bins
        cut = AGGLOMERATIVE.cut

    with pytest.raises(ValueError, match="it makes no hierarchy of leaves"):
        cut_parting(Without(), counts, 4, edges)


def test_clusters_are_those_of_scipy_where_groups_are_far_apart() -> None:
    rng = np.random.default_rng(1)
    place = np.sort(np.concatenate([rng.normal(centre, 0.1, 9) for centre in (0, 10, 30, 35)]))
    link = scipy.cluster.hierarchy.linkage(place[:, None], "ward")
    for leaves in (2, 3, 4):
        theirs = scipy.cluster.hierarchy.fcluster(link, leaves, "maxclust")
        cuts = np.sort(agglomerative_cuts(place, np.ones(36, dtype=np.int64), leaves))
        assert np.flatnonzero(np.diff(theirs)).tolist() == (cuts - 1).tolist()
