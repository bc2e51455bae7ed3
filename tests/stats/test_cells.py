"""Cell sums against counting row by row with integers and rational numbers."""

import collections
from fractions import Fraction

import numpy as np
import pytest

from evalsampling.stats.cells import PROBABILITY_ONE, CellSums, cell_codes
from tests.contracts import assert_mergeable


def same(a: CellSums, b: CellSums) -> bool:
    return (
        a.shape == b.shape
        and a.count.tolist() == b.count.tolist()
        and a.probability.tolist() == b.probability.tolist()
    )


def make_rows(
    shape: tuple[int, ...], classes: int, rows: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, shape[0], rows)
    leaf[leaf == 1] = 0  # a leaf without rows
    predictions = np.stack([rng.integers(0, size, rows) for size in shape[1:]], axis=1)
    return leaf, predictions, rng.dirichlet(np.full(classes, 0.3), rows)


SHAPES = [((5, 2), 2), ((3, 3), 3), ((4, 2, 3), 2)]


@pytest.mark.parametrize(("shape", "classes"), SHAPES)
def test_merge_contract(shape: tuple[int, ...], classes: int) -> None:
    leaf, predictions, probability = make_rows(shape, classes, 500)
    cell = cell_codes(shape, leaf, predictions)
    states = [
        CellSums.from_rows(shape, part, values)
        for part, values in zip(
            np.array_split(cell, 5), np.array_split(probability, 5), strict=True
        )
    ]
    assert_mergeable(states, CellSums.zero(shape, classes), same)
    whole = CellSums.from_rows(shape, cell, probability)
    assert same(sum(states, start=CellSums.zero(shape, classes)), whole)


@pytest.mark.parametrize(("shape", "classes"), SHAPES)
def test_table_equals_counting_row_by_row(shape: tuple[int, ...], classes: int) -> None:
    leaf, predictions, probability = make_rows(shape, classes, 400)
    count: collections.Counter = collections.Counter()
    mass: dict = collections.defaultdict(lambda: [0] * classes)
    for row in range(len(leaf)):
        key = (int(leaf[row]), *map(int, predictions[row]))
        count[key] += 1
        for y in range(classes):
            mass[key][y] += round(Fraction(float(probability[row, y])) * 2**32)

    cell = cell_codes(shape, leaf, predictions)
    sums = CellSums.from_rows(shape, cell, probability)
    table = sums.table()
    keys = sorted(count)
    assert len(table) == len(keys) < np.prod(shape)
    assert [
        (k, *s) for k, s in zip(table.leaf.tolist(), table.signature.tolist(), strict=True)
    ] == keys
    assert table.count.tolist() == [count[key] for key in keys]
    assert table.rows == 400
    means = [[float(Fraction(m, count[key] * 2**32)) for m in mass[key]] for key in keys]
    assert table.probability.tolist() == means
    assert sums.probability[table.code].tolist() == [mass[key] for key in keys]

    assert table.leaves == shape[0]
    for k in range(shape[0]):
        rows = [key for key in keys if key[0] == k]
        assert table.leaf_count[k] == sum(count[key] for key in rows)
        for y in range(classes):
            exact = Fraction(sum(mass[key][y] for key in rows), 2**32)
            mean = exact / max(sum(count[key] for key in rows), 1)
            assert table.leaf_prior[k, y] == pytest.approx(float(mean), rel=1e-12)
    assert table.leaf_count[1] == 0


def test_codes_number_the_cells_by_leaf_then_signature() -> None:
    grid = np.array([(k, a, b) for k in range(4) for a in range(2) for b in range(3)])
    assert cell_codes((4, 2, 3), grid[:, 0], grid[:, 1:]).tolist() == [*range(24)]


def test_table_is_ordered_by_code_whatever_the_order_of_rows() -> None:
    cell = np.array([5, 0, 3, 5, 0, 5])
    table = CellSums.from_rows((3, 2), cell, np.full((6, 2), 0.5)).table()
    assert table.code.tolist() == [0, 3, 5]
    assert table.leaf.tolist() == [0, 1, 2]
    assert table.signature.tolist() == [[0], [1], [1]]
    assert table.count.tolist() == [2, 1, 3]


def test_sums_are_exact_beyond_the_precision_of_floats() -> None:
    """More than 2^21 rows of the probability just below one: an odd sum above 2^53."""
    rows = 2**21 + 4099
    below_one = PROBABILITY_ONE - 1
    probability = np.full((rows, 1), below_one / PROBABILITY_ONE)
    sums = CellSums.from_rows((2, 1), np.zeros(rows, dtype=np.int64), probability)
    exact = rows * below_one
    assert exact > 2**53
    assert exact % 2 == 1
    assert sums.count.tolist() == [rows, 0]
    assert sums.probability.tolist() == [[exact], [0]]
    doubled = sums
    for _ in range(11):
        doubled = doubled + doubled
    assert doubled.probability[0, 0] == exact * 2**11 > 2**63
    restored = CellSums.from_bytes(doubled.to_bytes())
    assert restored.probability[0, 0] == exact * 2**11
    assert restored.table().probability[0, 0] == below_one / PROBABILITY_ONE


def test_sums_of_no_rows_make_an_empty_table() -> None:
    table = CellSums.zero((3, 2), 2).table()
    assert len(table) == table.rows == 0
    assert table.leaf_count.tolist() == [0, 0, 0]


def test_cells_of_different_shapes_do_not_add_up() -> None:
    with pytest.raises(ValueError, match="do not add up"):
        CellSums.zero((3, 2), 2) + CellSums.zero((2, 3), 2)
