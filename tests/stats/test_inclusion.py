"""Probabilities proportional to size, and rows drawn with them."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from evalsampling.stats.inclusion import (
    compromise,
    distinct_rows,
    draw_unseen,
    mix_evenly,
    round_sizes,
    saturates,
    water_fill,
)
from tests.samplers.pools import make_pool
from tests.stats.coins import every_outcome


def by_hand(size: np.ndarray, rows: np.ndarray, expected: float) -> np.ndarray:
    """Rows that would have more than 1 are set to 1, the others share the rest, again and again."""
    each = np.repeat(size, rows)
    chance, certain = np.zeros(len(each)), np.zeros(len(each), dtype=bool)
    while True:
        rest = each[~certain].sum()
        chance[~certain] = (expected - certain.sum()) * each[~certain] / rest if rest else 0.0
        chance[certain] = 1.0
        if not np.any(chance > 1 + 1e-12):
            return chance[np.cumsum(rows) - 1]
        certain |= chance > 1


@pytest.mark.parametrize("seed", range(10))
def test_probabilities_are_those_of_sarndal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 6, 12)
    size = np.exp(rng.normal(0, 3, 12)) * (rng.random(12) < 0.8)
    most = rows[size > 0].sum()
    expected = float(rng.random() * most)
    chance = water_fill(size, rows, expected)
    assert chance @ rows == pytest.approx(expected)
    assert chance == pytest.approx(by_hand(size, rows, expected), abs=1e-9)


def test_more_rows_than_there_are_are_all_of_them() -> None:
    size, rows = np.array([1.0, 0.0, 2.0]), np.array([3, 5, 2])
    for expected in (5, 5.5, 100):
        assert water_fill(size, rows, expected).tolist() == [1, 0, 1]


def test_nothing_is_wanted_or_there_is_nothing() -> None:
    assert water_fill(np.ones(3), np.array([1, 2, 3]), 0).tolist() == [0, 0, 0]
    assert water_fill(np.zeros(3), np.array([1, 2, 3]), 4).tolist() == [0, 0, 0]
    assert water_fill(np.ones(3), np.array([0, 2, 0]), 1).tolist() == [0.5, 0.5, 0.5]


def test_cells_of_a_thousand_million_rows() -> None:
    """One row in 10^9 has nearly all of the size: it is certain, the others share the rest."""
    rows = np.array([10**9, 1, 10**9])
    chance = water_fill(np.array([1e-9, 1e6, 1e-12]), rows, 51)
    assert chance[1] == 1
    assert chance @ rows == pytest.approx(51)
    assert chance[0] / chance[2] == pytest.approx(1000)


def test_no_row_is_drawn_twice() -> None:
    """Rank by rank: three rounds of a small pool, the last of which has what is left."""
    pool = make_pool(60, 4, seed=3, positive=0.4)
    history, rng = pool.start(), np.random.default_rng(2)
    for wanted in (25, 25, 10):
        left = pool.table.count - history.drawn_by_cell(len(pool.table))
        chance = water_fill(np.ones(len(left)), left, wanted)
        history = draw_unseen(pool.table, history, chance, rng)
        assert len(history.rounds[-1].question) == wanted
        assert np.array_equal(history.rounds[-1].cell_probability, chance)
        assert history.rounds[-1].probability == pytest.approx(
            chance[history.cell[history.rounds[-1].question]]
        )
    pairs = list(zip(history.cell.tolist(), history.rank.tolist(), strict=True))
    assert sorted(pairs) == [(c, r) for c, n in enumerate(pool.table.count) for r in range(n)]


def test_order_of_a_round_tells_nothing() -> None:
    """The first row of a round is of any cell in proportion to its expected rows."""
    pool, rng = make_pool(60, 4, seed=3, positive=0.4), np.random.default_rng(3)
    chance = np.full(len(pool.table), 0.2)
    first = [draw_unseen(pool.table, pool.start(), chance, rng).cell[0] for _ in range(1500)]
    share = np.bincount(first, minlength=len(chance)) / 1500
    wanted = pool.table.count / 60
    assert np.abs(share - wanted).max() < 4 * 0.5 / np.sqrt(1500)


@pytest.mark.parametrize("seed", range(3))
def test_water_filling_is_what_a_convex_solver_finds(seed: int) -> None:
    """Minimise sum h^2 / b with sum b = n and 0 < b <= 1 ([Y] eq. 70), by a general solver."""
    rng = np.random.default_rng(seed)
    size, wanted = np.exp(rng.normal(0, 1.5, 9)), rng.uniform(2, 8)
    size /= size.max()
    found = minimize(
        lambda b: np.sum(size**2 / b),
        np.full(9, wanted / 9),
        jac=lambda b: -(size**2) / b**2,
        bounds=[(1e-6, 1)] * 9,
        constraints={"type": "eq", "fun": lambda b: b.sum() - wanted, "jac": np.ones_like},
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    assert found.success
    chance = water_fill(size, np.ones(9, dtype=np.int64), wanted)
    assert np.sum(size**2 / chance) <= found.fun * (1 + 1e-9)
    assert chance == pytest.approx(found.x, abs=1e-3)
    assert chance.sum() == pytest.approx(wanted)


@pytest.mark.parametrize("expected", [3, 8.9, 9.1, 30])
def test_saturation_is_where_water_filling_reaches_one(expected: float) -> None:
    """The largest size is 3, the mean 20/60: so from 20/3 rows on one of them is certain."""
    size, rows = np.array([3.0, 0.25, 0.0, 0.0]), np.array([3, 44, 13, 0])
    assert saturates(size, rows, expected) == (expected >= 20 / 3)
    assert saturates(size, rows, expected) == bool(water_fill(size, rows, expected).max() == 1)


def test_distinct_rows_by_enumeration() -> None:
    """Three draws from four rows in two cells, all 64 outcomes."""
    probability, rows = np.array([0.4, 0.1]), np.array([2, 2])
    each = np.repeat(probability, rows)
    total = sum(
        np.prod(each[list(draws)]) * len(set(draws))
        for draws in itertools.product(range(4), repeat=3)
    )
    assert distinct_rows(probability, rows, 3) == pytest.approx(total)
    assert distinct_rows(np.array([1.0, 0.0]), np.array([1, 5]), 9) == pytest.approx(1)
    assert distinct_rows(np.array([1.0, 0.0]), np.array([1, 5]), 0) == 0
    assert distinct_rows(np.array([0.1]), np.array([10]), 1e6) == pytest.approx(10)
    of_four = distinct_rows(np.array([0.4, 0.3, 0.2, 0.1]), np.ones(4, dtype=np.int64), 5)
    assert of_four == pytest.approx(2.836, abs=5e-4), "as published"


def test_even_share_sums_to_one() -> None:
    size, rows = np.array([2.0, 0.0]), np.array([3, 4])
    assert mix_evenly(size, rows, 0.3) == pytest.approx([0.7 / 3 + 0.3 / 7, 0.3 / 7])
    assert mix_evenly(np.zeros(2), rows, 0.3) == pytest.approx([1 / 7, 1 / 7])


CASES = [
    ([0.3, 1.2, 0.5, 0.0, 2.9, 0.1, 0.6, 0.4, 1.0], [0, 0, 0, 1, 1, 2, 2, 3, 3]),
    ([0.5] * 6, [0, 0, 1, 1, 2, 2]),
    ([0.9, 0.8, 0.7, 0.6], [0, 0, 0, 0]),
    ([0.25, 0.25, 0.25, 0.25], [0, 1, 2, 3]),
    ([0.2, 0.3, 0.15], [0, 0, 1]),
    ([2.0, 3.0], [0, 1]),
    ([], []),
]


def outcomes(size: list[float], group: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Chances, and sizes, of all outcomes."""
    sizes, groups = np.array(size), np.array(group, dtype=np.int64)
    found = list(every_outcome(lambda coins: round_sizes(sizes, groups, coins)))  # type: ignore
    return np.array([chance for chance, _ in found]), np.array([one for _, one in found])


@pytest.mark.parametrize(("size", "group"), CASES)
def test_sizes_are_rounded_up_or_down_and_have_their_means(
    size: list[float], group: list[int]
) -> None:
    chance, rounded = outcomes(size, group)
    assert chance.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(chance @ rounded, size, rtol=1e-12, atol=1e-12)
    assert np.all(np.abs(rounded - np.array(size)) < 1)
    for one in {*group}:
        inside = np.array(group) == one
        assert np.all(np.abs(rounded[:, inside].sum(axis=1) - np.array(size)[inside].sum()) < 1)
    assert np.all(np.abs(rounded.sum(axis=1) - sum(size)) < 1)


@pytest.mark.parametrize(("size", "group"), CASES[:5])
def test_parts_are_negatively_associated(size: list[float], group: list[int]) -> None:
    """All pairs of rising 0-1 functions "at least a of these" of disjoint sets of parts.

    And the generating polynomial has no zero in the half-plane, at 2,000 random places.
    """
    chance, rounded = outcomes(size, group)
    more = rounded - np.floor(np.array(size) + 1e-9)
    parts = [i for i in range(len(size)) if 0 < size[i] % 1 < 1]
    for one in itertools.chain.from_iterable(itertools.combinations(parts, n) for n in (1, 2, 3)):
        rest = [i for i in parts if i not in one]
        for n in (1, 2, 3):
            for other in itertools.combinations(rest, n):
                for a, b in itertools.product(range(1, len(one) + 1), range(1, n + 1)):
                    f = more[:, one].sum(axis=1) >= a
                    g = more[:, other].sum(axis=1) >= b
                    assert chance @ (f & g) <= (chance @ f) * (chance @ g) + 1e-12
    rng = np.random.default_rng(1)
    for _ in range(2000):
        z = rng.normal(size=len(size)) + 1j * rng.exponential(size=len(size))
        assert abs(chance @ np.prod(z**more, axis=1)) > 0


def test_many_parts_add_up_to_their_sum() -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(1, 1000, 20_000)
    size = rows * (5_000 / rows.sum())
    rounded = round_sizes(size, np.arange(20_000) // 40, rng)
    assert rounded.sum() == 5_000
    assert np.all(rounded <= rows)


def test_rows_have_their_probabilities() -> None:
    """3,000 rounds of 7 rows of a pool of 60: each cell's mean size to 4 standard errors."""
    pool = make_pool(60, 4, seed=3, positive=0.4)
    table, rng = pool.table, np.random.default_rng(1)
    size = np.exp(rng.normal(0, 1.5, len(table)))
    chance = water_fill(size, table.count, 7)
    found = np.zeros((3000, len(table)))
    for sizes in found:
        history = draw_unseen(table, pool.start(), chance, rng)
        sizes += np.bincount(history.cell, minlength=len(table))
    assert set(found.sum(axis=1)) == {7}
    error = np.sqrt(np.maximum(found.var(axis=0), 1e-9) / len(found))
    assert np.all(np.abs(found.mean(axis=0) - chance * table.count) < 4 * error)
    off = np.cov(found.T)[~np.eye(len(table), dtype=bool)]
    assert off.max() < 4 / np.sqrt(len(found)), "indicators are negatively associated"


def test_a_quantity_that_only_rounding_moves_counts_for_nothing() -> None:
    rng = np.random.default_rng(5)
    share, weights = np.full(12, 1 / 12), np.array([1.0, 2.0, 1.0])
    variance = rng.random((3, 12)) * [[1.0], [1e-32], [1e-12]]
    alone = compromise(variance[[0, 2]], share, weights[[0, 2]])
    assert compromise(variance, share, weights) == pytest.approx(alone, rel=1e-12)
