"""Cell sums and tables against counting row by row with integers and rational numbers."""

import collections
import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from evalsampling.stats.cells import (
    GUESSED,
    CellGrid,
    CellSums,
    CellTable,
    Leaves,
    by_verdict,
    named_verdicts,
)
from evalsampling.stats.hashing import hash_integers
from evalsampling.stats.signatures import SignatureCounts, Signatures, signature_codes
from tests.contracts import assert_mergeable


def same(a: CellSums, b: CellSums) -> bool:
    return (
        a.probability.shape == b.probability.shape
        and a.count.tolist() == b.count.tolist()
        and a.probability.tolist() == b.probability.tolist()
    )


def make_grid(shape: tuple[int, ...], leaf: list[int] | None = None) -> CellGrid:
    """Bins, then classes of each system; every signature has a slot."""
    bins = shape[0]
    leaves = [*range(bins)] if leaf is None else leaf
    score = np.arange(bins) / 8
    return CellGrid(np.array(leaves), score, Leaves(max(leaves) + 1), Signatures.every(shape[1:]))


def make_rows(
    shape: tuple[int, ...], classes: int, rows: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, shape[0], rows)
    leaf[leaf == 1] = 0  # a leaf without rows
    predictions = np.stack([rng.integers(0, size, rows) for size in shape[1:]], axis=1)
    return leaf, predictions, rng.dirichlet(np.full(classes, 0.3), rows)


SHAPES = [((5, 2), 2), ((3, 3), 3), ((4, 2, 3), 2)]


def no_rows(cells: int, columns: int) -> CellSums:
    return CellSums.from_rows(cells, np.zeros(0, dtype=np.int64), np.zeros((0, columns)))


@pytest.mark.parametrize(("shape", "classes"), SHAPES)
def test_merge_contract(shape: tuple[int, ...], classes: int) -> None:
    leaf, predictions, probability = make_rows(shape, classes, 500)
    grid = make_grid(shape)
    cell = grid.codes(leaf, predictions)
    states = [
        CellSums.from_rows(grid.cells, part, values)
        for part, values in zip(
            np.array_split(cell, 5), np.array_split(probability, 5), strict=True
        )
    ]
    zero = no_rows(grid.cells, classes)
    assert_mergeable(states, zero, same)
    assert same(sum(states, start=zero), CellSums.from_rows(grid.cells, cell, probability))


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

    grid = make_grid(shape)
    sums = CellSums.from_rows(grid.cells, grid.codes(leaf, predictions), probability)
    table = grid.table(*sums.means(), classes)
    keys = sorted(count)
    assert len(table) == len(keys) < np.prod(shape)
    signature = table.kinds.prediction.tolist()
    assert [(k, *s) for k, s in zip(table.leaf.tolist(), signature, strict=True)] == keys
    assert table.count.tolist() == [count[key] for key in keys]
    assert (table.rows, table.classes) == (400, classes)
    means = [[float(Fraction(m, count[key] * 2**32)) for m in mass[key]] for key in keys]
    assert table.prior.tolist() == means
    assert sums.probability[table.code].tolist() == [mass[key] for key in keys]
    # Every cell is of one kind, with the score of its bin and, of one system, the prior's.
    assert table.kinds.cell.tolist() == table.kinds.first.tolist() == [*range(len(keys))]
    assert table.kinds.share.tolist() == [1] * len(keys)
    assert table.kinds.score[:, 0].tolist() == [key[0] / 8 for key in keys]
    # Of the scores of the other systems nothing is known.
    assert np.all(table.kinds.score[:, 1:] == -np.inf)
    assert np.all(table.kinds.highest.score[:, 1:] == np.inf)
    np.testing.assert_array_equal(table.kinds.highest.score[:, 0], table.kinds.score[:, 0])
    assert not table.kinds.mixed.any()
    assert table.kinds.probability[:, 0].tolist() == means

    assert len(table.leaves) == shape[0]
    for k in range(shape[0]):
        rows = [key for key in keys if key[0] == k]
        assert table.leaf_count[k] == sum(count[key] for key in rows)
        for y in range(classes):
            exact = Fraction(sum(mass[key][y] for key in rows), 2**32)
            mean = exact / max(sum(count[key] for key in rows), 1)
            assert table.leaf_prior[k, y] == pytest.approx(float(mean), rel=1e-12)
    assert table.leaf_count[1] == 0


def test_systems_with_probabilities_of_their_own() -> None:
    """Columns are the prior, then each system's, class by class."""
    rng = np.random.default_rng(1)
    grid = make_grid((3, 2, 2))
    bins, predictions = rng.integers(0, 3, 200), rng.integers(0, 2, (200, 2))
    probability = rng.random((200, 6))
    code = grid.codes(bins, predictions)
    table = grid.table(*CellSums.from_rows(grid.cells, code, probability).means(), 2)
    for c, number in enumerate(table.code.tolist()):
        mean = probability[code == number].mean(axis=0)
        np.testing.assert_allclose(table.prior[c], mean[:2], atol=2**-32)
        np.testing.assert_allclose(table.kinds.probability[c, 0], mean[2:4], atol=2**-32)
        np.testing.assert_allclose(table.kinds.probability[c, 1], mean[4:], atol=2**-32)


def test_leaves_are_groups_of_bins() -> None:
    """Six bins in three leaves; the middle leaf has four of them."""
    leaf = [0, 1, 1, 1, 1, 2]
    grid = make_grid((6, 2), leaf)
    rng = np.random.default_rng(2)
    bins, prediction = rng.integers(0, 6, 300), rng.integers(0, 2, (300, 1))
    p = rng.random((300, 2))
    table = grid.table(*CellSums.from_rows(grid.cells, grid.codes(bins, prediction), p).means(), 2)
    assert (len(table), len(table.leaves)) == (12, 3)
    assert table.leaf.tolist() == np.repeat(leaf, 2).tolist()
    of_leaf = np.array(leaf)[bins]
    assert table.leaf_count.tolist() == np.bincount(of_leaf).tolist()
    expected = [p[of_leaf == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(table.leaf_prior, expected, rtol=1e-8)


def test_scores_lie_between_those_of_the_bin() -> None:
    grid = dataclasses.replace(make_grid((3, 2)), upper=np.array([0.1, 0.2, 0.9]))
    sums = CellSums.from_rows(6, np.array([0, 3, 4, 5]), np.full((4, 2), 0.5))
    table = grid.table(*sums.means(), 2)
    assert table.kinds.score[:, 0].tolist() == [0, 0.125, 0.25, 0.25]
    assert table.kinds.highest.score[:, 0].tolist() == [0.1, 0.2, 0.9, 0.9]
    assert table.kinds.highest.prediction.tolist() == table.kinds.prediction.tolist()
    plain = dataclasses.replace(table.kinds, upper=None)
    assert plain.highest is plain


@pytest.mark.parametrize("columns", [2, 6])
def test_sums_of_no_rows_make_an_empty_table(columns: int) -> None:
    shape = (3, 2) if columns == 2 else (3, 2, 2)
    grid = make_grid(shape)
    table = grid.table(*no_rows(grid.cells, columns).means(), 2)
    assert len(table) == table.rows == len(table.kinds) == 0
    assert table.leaf_count.tolist() == [0, 0, 0]


def make_pooled(bins: int = 3, slots: int = 3) -> tuple[CellTable, np.ndarray, np.ndarray]:
    """Two systems of four classes, rare signatures pooled: table, rows' codes and predictions."""
    rng = np.random.default_rng(3)
    prediction = np.minimum(rng.geometric(0.5, (2000, 2)) - 1, 3)
    codes = signature_codes((4, 4), prediction)
    counts = SignatureCounts.from_codes(codes, hash_integers(np.arange(2000), 0))
    signatures = Signatures.most_common((4, 4), counts, slots)
    leaf = np.arange(bins)
    grid = CellGrid(leaf, leaf.astype(float), Leaves(bins), signatures)
    code = grid.codes(rng.integers(0, bins, 2000), prediction)
    sums = CellSums.from_rows(grid.cells, code, rng.random((2000, 12)))
    return grid.table(*sums.means(), 4), code, prediction


def test_pooled_cells_have_a_kind_for_each_signature() -> None:
    """Slots 0 and 1 are the two most common signatures, slot 2 the fourteen others."""
    table, _, prediction = make_pooled()
    assert table.code.tolist() == [*range(9)]
    assert np.bincount(table.kinds.cell).tolist() == [1, 1, 14] * 3
    assert table.kinds.mixed.tolist() == [False, False, True] * 3
    tuples = [tuple(row) for row in prediction.tolist()]
    by_count = collections.Counter(tuples).most_common()
    kept = {signature for signature, _ in by_count[:2]}
    rare = dict(by_count[2:])
    for c in range(9):
        kinds = table.kinds.cell == c
        found = [tuple(row) for row in table.kinds.prediction[kinds].tolist()]
        share = dict(zip(found, table.kinds.share[kinds].tolist(), strict=True))
        assert sum(share.values()) == pytest.approx(1, abs=1e-12)
        if c % 3 < 2:
            assert set(found) <= kept
        else:
            assert set(found) == set(rare)
            for signature, times in rare.items():
                assert share[signature] == pytest.approx(times / sum(rare.values()))
        assert table.kinds.first[c] == np.flatnonzero(kinds)[0]


def test_means_by_cell_are_those_of_the_kinds() -> None:
    table, _, _ = make_pooled()
    rng = np.random.default_rng(4)
    for shape in ((), (2,), (2, 3)):
        values = rng.normal(size=(len(table.kinds.cell), *shape))
        expected = np.zeros((len(table), *shape))
        for cell, share, value in zip(table.kinds.cell, table.kinds.share, values, strict=True):
            expected[cell] += share * value
        np.testing.assert_allclose(table.kinds.by_cell(values), expected, rtol=1e-12)
    hit = table.kinds.prediction[:, 1] == 3
    np.testing.assert_array_equal(table.kinds.predicted(3, 1), table.kinds.by_cell(hit * 1.0))
    table, _, _ = make_pooled(slots=16)
    assert len(table) == len(table.kinds)
    values = rng.normal(size=(len(table), 2))
    np.testing.assert_array_equal(table.kinds.by_cell(values), values)


@pytest.mark.parametrize("layout", ["rows", "columns", "reversed", "complement"])
def test_sums_of_any_layout_are_those_of_python_integers(layout: str) -> None:
    """More rows than are summed at a time; probabilities round to the even of two as near."""
    rng = np.random.default_rng(11)
    rows = (1 << 16) + 333
    cell = rng.integers(0, 5, rows)
    chance = rng.choice([0, 1, 0.5 * 2**-32, 1.5 * 2**-32, 2**-33 + 2**-60, 0.1, 1 - 2**-33], rows)
    probability = {
        "rows": np.stack([chance, chance[::-1], chance / 3], axis=1),
        "columns": np.stack([chance, chance / 7]).T,
        "reversed": np.stack([chance, chance / 3], axis=1)[::-1, ::-1],
        "complement": np.stack([1 - chance, chance]).T[:, ::-1],
    }[layout]
    sums = CellSums.from_rows(6, cell, probability)
    expected = [[0] * probability.shape[1] for _ in range(6)]
    for column, of_class in enumerate(probability.T):
        for (c, p), rows in collections.Counter(
            zip(cell.tolist(), of_class.tolist(), strict=True)
        ).items():
            expected[c][column] += rows * round(Fraction(p) * 2**32)
    assert sums.probability.tolist() == expected
    assert sums.count.tolist() == [cell.tolist().count(c) for c in range(6)]


def test_totals_beyond_int64_are_exact() -> None:
    """Doubling 70 rows' sums 30 times: words carry, and none of them grows beyond int64."""
    rng = np.random.default_rng(12)
    cell = rng.integers(0, 3, 70)
    sums = CellSums.from_rows(3, cell, rng.random((70, 2)))
    exact = sums.probability.tolist()
    for _ in range(30):
        sums = sums + sums
        assert np.all((sums.low >= 0) & (sums.low < 2**32))
    assert sums.probability.tolist() == [[value << 30 for value in row] for row in exact]
    assert max(max(row) for row in sums.probability.tolist()) > 2**63
    _, count, mean = sums.means()
    rows = np.bincount(cell).tolist()
    assert count.tolist() == [number << 30 for number in rows]
    assert mean.tolist() == [
        [float(Fraction(value, number << 32)) for value in row]
        for row, number in zip(exact, rows, strict=True)
    ]


def _table(systems: int, counts: list[int]) -> CellTable:
    """Return cells of one leaf, one for each combination of verdicts of two classes."""
    grid = CellGrid(np.zeros(1, np.int64), np.zeros(1), Leaves(1), Signatures.every((2,) * systems))
    rows = np.array(counts)
    code = np.flatnonzero(rows)
    return grid.table(code, rows[code], np.full((len(code), 2), 0.5), classes=2)


def test_classes_have_as_many_rows_as_are_predicted() -> None:
    table = by_verdict(_table(1, [940, 60]))
    assert table.leaf.tolist() == [0, 1]
    assert len(table.leaves) == 2
    assert table.leaves.exchangeable
    right = 1 - GUESSED
    assert np.allclose(table.prior[:, 1], [GUESSED * 0.06, right + GUESSED * 0.06])
    assert np.allclose(table.count @ table.prior, [940, 60])


def test_verdicts_of_several_systems_count_alike() -> None:
    """The second is never alone in saying 1, so that there are three strata."""
    table = by_verdict(_table(2, [800, 0, 100, 100]))
    assert table.leaf.tolist() == [0, 1, 2]
    expected = [(1 - GUESSED) * share + GUESSED * 0.15 for share in (0, 0.5, 1)]
    assert np.allclose(table.prior[:, 1], expected)
    assert named_verdicts(table, ["no", "yes"]) == [
        ["predicted no", "predicted no"],
        ["predicted yes", "predicted no"],
        ["predicted yes", "predicted yes"],
    ]


def test_cells_of_one_verdict_are_one_stratum() -> None:
    """As where slices or classes of costs divide it; a prior that is there is kept."""
    table = _table(1, [50, 50])
    kinds = dataclasses.replace(table.kinds, prediction=np.ones((2, 1), np.int64))
    twice = dataclasses.replace(table, kinds=kinds)
    alike = by_verdict(twice, None)
    assert alike.leaf.tolist() == [0, 0]
    assert len(alike.leaves) == 1
    assert np.all(alike.prior == 0.5)
