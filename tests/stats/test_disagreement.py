"""How far systems are apart, against quadrature and the published figures."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from evalsampling.stats.cells import CellSums
from evalsampling.stats.disagreement import Disagreement

PREDICTED = np.array([[1, 0.5], [2, 2.1], [0, -1]])
VARIANCE = np.array([[0.2, 0.3], [0.4, 0.1], [0.1, 0.2]])


def rows(seed: int, count: int, systems: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 2, (count, systems)), rng.uniform(0, 1, (count, systems)) ** 4


def test_two_systems_are_apart_as_published() -> None:
    """Eq. 5.13 to 5.15: g = .5590169944, .1004987562, 1.2649110641."""
    two = Disagreement(((0, 1),), (0, 1))
    np.testing.assert_allclose(
        two.root(PREDICTED, VARIANCE)[:, 0], [0.5590169944, 0.1004987562, 1.2649110641], rtol=1e-9
    )
    np.testing.assert_allclose(two.distance(PREDICTED)[:, 0], [0.5, 0.1, 1.0])


@pytest.mark.parametrize("systems", [2, 3])
def test_the_root_is_of_the_expected_square_under_the_mixture(systems: int) -> None:
    """E ((f_i - y)^2 - (f_j - y)^2)^2 by quadrature, y of the equal mixture of normals."""
    position, variance = rows(1, 6, systems)
    pairs = tuple(itertools.combinations(range(systems), 2))
    found = Disagreement(pairs, tuple(range(systems))).root(position, variance)
    for row, f in enumerate(position):
        for place, (i, j) in enumerate(pairs):

            def square(y: float, i: int = i, j: int = j, row: int = row) -> float:
                f = position[row]
                density = np.mean(stats.norm.pdf(y, f, np.sqrt(variance[row])))
                return float(((f[i] - y) ** 2 - (f[j] - y) ** 2) ** 2 * density)

            expected, _ = integrate.quad(square, -12, 13, points=f.tolist(), limit=400)
            assert found[row, place] == pytest.approx(np.sqrt(expected), rel=1e-6)


def test_corollary_5_2_with_the_moments_of_the_mixture() -> None:
    """Eq. 5.9 with Delta = 0: 4 F1^2 (mu^2 + s^2) - 4 F1 F2 mu + F2^2."""
    position, variance = rows(2, 50, 2)
    mu = position.mean(axis=1)
    second = (position**2 + variance).mean(axis=1)
    one, two = position[:, 0] - position[:, 1], position[:, 0] ** 2 - position[:, 1] ** 2
    h = 4 * one**2 * second - 4 * one * two * mu + two**2
    found = Disagreement(((0, 1),), (0, 1)).root(position, variance)[:, 0]
    np.testing.assert_allclose(found, np.sqrt(h), rtol=1e-7)


@pytest.mark.parametrize("systems", [2, 4])
def test_cells_have_the_means_of_their_rows(systems: int) -> None:
    """Whatever the rows are, sums of shares lie in [0, 1] and merge exactly."""
    position, variance = rows(3, 400, systems)
    cell = np.random.default_rng(4).integers(0, 3, 400)
    pairs = tuple(itertools.combinations(range(systems), 2))
    known = Disagreement(pairs, tuple(range(systems)))
    shares = known.shares(position, variance)
    assert shares.min() >= 0
    assert shares.max() <= 1
    parts = [CellSums.from_rows(3, cell[a::7], shares[a::7]) for a in range(7)]
    sums = parts[0]
    for part in parts[1:]:
        sums = part + sums
    whole = CellSums.from_rows(3, cell, shares)
    np.testing.assert_array_equal(sums.probability, whole.probability)
    _, _, mean = sums.means()
    found_position, found_variance, of_pairs = known.means(mean, systems)
    for place in range(3):
        inside = cell == place
        np.testing.assert_allclose(found_position[place], position[inside].mean(axis=0), atol=1e-8)
        np.testing.assert_allclose(found_variance[place], variance[inside].mean(axis=0), atol=1e-8)
        distance = known.distance(position[inside])
        root = known.root(position[inside], variance[inside])
        np.testing.assert_allclose(of_pairs.distance[place], distance.mean(axis=0), atol=1e-8)
        np.testing.assert_allclose(of_pairs.square[place], (distance**2).mean(axis=0), atol=1e-7)
        np.testing.assert_allclose(of_pairs.root[place], root.mean(axis=0), atol=1e-7)


def test_a_pair_is_found_in_either_order() -> None:
    position, variance = rows(5, 3, 3)
    known = Disagreement(((0, 2), (1, 2)), (0, 1, 2))
    _, _, of_pairs = known.means(known.shares(position, variance), 3)
    assert [of_pairs.place(*pair) for pair in ((0, 2), (2, 1), (0, 1))] == [0, 1, None]
