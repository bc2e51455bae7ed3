"""The envelope against all weakly monotone lists of a length, and against random ones."""

import itertools

import numpy as np
import pytest

from evalsampling.stats.envelope import Envelope
from tests.ranked_lists import random_list, weakly_monotone

LENGTH = 12
LISTS = np.array(list(itertools.product([0, 1], repeat=LENGTH)))
HITS = np.cumsum(LISTS, axis=1)
RANKS = np.arange(1, LENGTH + 1)


def through(ranks: list[int], hits: list[int], m: int, rows: int, exact: bool = True) -> Envelope:
    rank = np.array(ranks)
    return Envelope(rank, np.array(hits) / rank, np.full(len(rank), exact), m, rows)


@pytest.mark.parametrize(("first", "m"), [(1, 1), (1, 2), (1, 4), (3, 3)])
def test_no_list_leaves_the_envelope_of_a_point_and_its_bounds_are_attained(
    first: int, m: int
) -> None:
    """Theorem 2, by enumeration: hits are whole, so bounds are met once rounded inwards.

    Attained wherever it is about the next items; with so short lists rounding adds up further off.
    """
    kept = HITS[weakly_monotone(HITS, first, m)]
    attained, near = [], []
    for y in range(first + 1, LENGTH + 1):
        for hits in np.unique(kept[:, y - 1]).tolist():
            those = kept[kept[:, y - 1] == hits]
            one = through([y], [hits], m, LENGTH)
            most = np.floor(one.upper(RANKS) * RANKS + 1e-9)
            least = np.ceil(one.lower(RANKS) * RANKS - 1e-9)
            inside = first < RANKS
            assert np.all(those.max(axis=0)[inside] <= most[inside])
            assert np.all(those.min(axis=0)[inside] >= least[inside])
            after = (y < RANKS) & (y + int(m * hits / y + 1e-9) >= RANKS)
            assert np.all(those.max(axis=0)[after] == most[after])
            assert np.all(those.min(axis=0)[after] == least[after])
            close = inside & (abs(RANKS - y) <= m)
            near += (those.max(axis=0) == most)[close].tolist()
            near += (those.min(axis=0) == least)[close].tolist()
            attained += [(those.max(axis=0) == most).any(), (those.min(axis=0) == least).any()]
    assert all(attained)
    assert np.mean(near) > 0.9


@pytest.mark.parametrize("m", [2, 4])
def test_no_list_leaves_the_envelope_of_three_points(m: int) -> None:
    """Equations 3 and 4, by enumeration; points near the end too."""
    kept = HITS[weakly_monotone(HITS, 1, m)]
    for points in [(4, 8, 12), (3, 10, 11), (5, 6, 7)]:
        for hits in np.unique(kept[:, np.array(points) - 1], axis=0).tolist():
            those = kept[np.all(kept[:, np.array(points) - 1] == hits, axis=1)] / RANKS
            one = through(list(points), hits, m, LENGTH)
            assert np.all(those.max(axis=0)[1:] <= one.upper(RANKS)[1:] + 1e-12)
            assert np.all(those.min(axis=0)[1:] >= one.lower(RANKS)[1:] - 1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_random_lists_stay_in_the_envelope_and_the_more_points_the_lower_it_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, m = 400, [1, 7, 40][seed % 3]
    hits = random_list(rng, rows, m)
    ranks = np.arange(1, rows + 1)
    assert weakly_monotone(hits[None], 1, m).all()
    assert hits[-1] > (20 if m > 1 else 0), "something is found"
    points = np.sort(rng.choice(rows, 8, replace=False)) + 1
    for k in (1, 3, 8):
        chosen = points[:: 8 // k][:k] if k < 8 else points
        one = through(chosen.tolist(), hits[chosen - 1].tolist(), m, rows)
        assert np.all(hits / ranks <= one.upper(ranks) + 1e-12)
        assert np.all(hits / ranks >= one.lower(ranks) - 1e-12)
    full = through(points.tolist(), hits[points - 1].tolist(), m, rows)
    part = through(points[:4].tolist(), hits[points[:4] - 1].tolist(), m, rows)
    assert np.all(full.upper(ranks) <= part.upper(ranks))
    assert np.all(full.lower(ranks) >= part.lower(ranks))
    height = full.height(points)
    assert height == pytest.approx(np.ones(8)), "a known point is known"


@pytest.mark.parametrize("seed", range(2))
def test_bounds_from_estimates_hold_with_their_factor(seed: int) -> None:
    """Whatever the estimates are, off by at most f."""
    rng = np.random.default_rng(seed)
    rows, m, factor = 900, 60, 1.1
    hits = random_list(rng, rows, m)
    ranks = np.arange(1, rows + 1)
    truth = hits / ranks
    points = np.array([150, 151, 400, 700, 860, 900])
    for off in [np.full(6, factor), np.full(6, 1 / factor), factor ** rng.uniform(-1, 1, 6)]:
        estimates = np.minimum(truth[points - 1] * off, 1.0)
        one = Envelope(points, estimates, np.zeros(6, dtype=bool), m, rows)
        assert np.all(truth <= factor * one.upper(ranks) + 1e-12)
        assert np.all(truth >= one.lower(ranks) / factor - 1e-12)


def test_the_papers_lower_bound_just_below_a_point_fails_for_estimates() -> None:
    """17 items have 16 hits, the next three too: 1.1 times 19 hits, by 1.1, are too many for 17."""
    rows, m, factor, y = 40, 4, 1.1, 20
    hits = np.minimum(np.arange(1, rows + 1), 16)
    hits[17:20] = [17, 18, 19]
    hits[20:] = 19
    hits[16] = 16
    estimate = factor * hits[y - 1] / y
    as_exact = Envelope(np.array([y]), np.array([estimate]), np.array([True]), m, rows)
    ours = Envelope(np.array([y]), np.array([estimate]), np.array([False]), m, rows)
    below = np.array([17])
    truth = hits[16] / 17
    assert as_exact.lower(below)[0] / factor > truth > ours.lower(below)[0] / factor


@pytest.mark.parametrize("seed", range(2))
def test_points_alone_bound_lists_that_are_not_monotone(seed: int) -> None:
    """Lists whose hits come in runs, worst first; estimates off by at most f, but the first."""
    rng = np.random.default_rng(seed)
    rows, factor = 600, 1.2
    hits = np.cumsum(rng.random(rows) < np.repeat(rng.permutation([0.05, 0.4, 0.9]), 200))
    ranks = np.arange(1, rows + 1)
    truth = hits / ranks
    points, exact = np.array([60, 150, 151, 420, 600]), np.arange(5) == 0
    off = np.where(exact, 1.0, factor ** rng.uniform(-1, 1, 5))
    one = Envelope(points, np.minimum(truth[points - 1] * off, 1.0), exact, 5, rows)
    value, low, high = one.points_alone(ranks, factor)
    assert np.all(low <= truth + 1e-12)
    assert np.all(high >= truth - 1e-12)
    assert value[points - 1] == pytest.approx(one.precision)
    known = Envelope(points, truth[points - 1], np.full(5, True), 5, rows)
    value, low, high = known.points_alone(ranks, factor)
    assert low[points - 1] == pytest.approx(truth[points - 1])
    assert high[points - 1] == pytest.approx(truth[points - 1])
    assert np.all(low <= value + 1e-12)
    assert np.all(value <= high + 1e-12)
    assert np.all(np.diff(value * ranks) >= -1e-9), "positives do not get fewer"


def test_bounds_that_cross_are_ordered_and_hold_what_each_point_says() -> None:
    """.5 of 100, then .55 of 400: noise of estimates, or a rise."""
    one = through([100, 400], [50, 220], 1, 400, exact=False)
    at = np.array([95, 100, 250, 399, 400])
    low, high = one.bounds(at, 1.1)
    assert np.all(one.upper(at) < one.lower(at))
    assert np.all(low < high)
    middle = one.middle(at)
    assert middle[[1, 4]] == pytest.approx([0.5, 0.55]), "at a point its own"
    for place, own in ((1, 0.5), (4, 0.55)):
        assert low[place] <= own / 1.1
        assert high[place] >= own * 1.1
    assert np.all((low * 1.1 <= middle + 1e-12) & (middle <= high / 1.1 + 1e-12))
    sure = through([100, 400], [80, 200], 1, 400, exact=False)
    low, high = sure.bounds(at, 1.1)
    assert low == pytest.approx(sure.lower(at) / 1.1)
    assert high == pytest.approx(np.minimum(1.1 * sure.upper(at), 1.0))


def test_the_largest_rise_is_found_among_points_at_least_m_apart() -> None:
    assert through([100, 105, 300], [50, 60, 165], 10, 400).rise() == (100, 0.5, 0.55)
    assert through([100, 300], [0, 3], 10, 400).rise() == (100, 0.0, 0.01)
    _, before, after = through([100, 300], [50, 120], 10, 400).rise()
    assert after <= before


def test_height_and_middle() -> None:
    """Two points, m = 1: between them the bounds are p(l), or p(r) r / v, and p(l) l / v, p(r)."""
    one = through([100, 400], [80, 200], 1, 400)
    at = np.array([150, 250, 350])
    upper = np.minimum(0.8, 200 / at)
    lower = np.maximum(80 / at, 0.5)
    assert one.upper(at) == pytest.approx(upper)
    assert one.lower(at) == pytest.approx(lower)
    assert one.height(at) == pytest.approx(upper / lower)
    assert one.middle(at) == pytest.approx(np.sqrt(upper * lower))
    nothing = through([400], [0], 1, 400)
    assert nothing.height(np.array([10])).tolist() == [np.inf]
