"""Rounding by ordered pivotal sampling: all outcomes of small cases."""

import itertools

import numpy as np
import pytest

from evalsampling.stats.pivotal import round_sizes
from tests.stats.coins import every_outcome

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


def test_systematic_rounding_is_not_negatively_associated() -> None:
    """Why it is not used: with one start, parts 1 and 3 of four halves are always together."""
    together = 0.5
    assert together > 0.5 * 0.5
    chance, rounded = outcomes([0.5] * 4, [0, 0, 0, 0])
    assert chance @ (rounded[:, 0] * rounded[:, 2]) <= 0.25


def test_many_parts_add_up_to_their_sum() -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(1, 1000, 20_000)
    size = rows * (5_000 / rows.sum())
    rounded = round_sizes(size, np.arange(20_000) // 40, rng)
    assert rounded.sum() == 5_000
    assert np.all(rounded <= rows)
