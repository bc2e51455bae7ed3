"""Counts of slices against counting rows."""

import collections
import itertools

import numpy as np
import pytest

from evalsampling.stats.slices import SliceCounts
from tests.contracts import assert_mergeable, sent

CELLS = 7


def same(a: SliceCounts, b: SliceCounts) -> bool:
    return a.cells == b.cells and [
        {v: counts.tolist() for v, counts in column.items()} for column in a.columns
    ] == [{v: counts.tolist() for v, counts in column.items()} for column in b.columns]


def count(cell: np.ndarray, columns: list[list[str]]) -> SliceCounts:
    """Count rows as a batch does: its values in the order they are met in."""
    coded = []
    for column in columns:
        values = [*dict.fromkeys(column)]
        coded.append((values, np.array([values.index(v) for v in column], dtype=np.int32)))
    return SliceCounts.from_codes(CELLS, cell, tuple(coded))


def make_rows(rows: int) -> tuple[np.ndarray, list[list[str]]]:
    rng = np.random.default_rng(0)
    cell = rng.integers(0, CELLS - 1, rows)
    first = [f"shop {v}" for v in rng.geometric(0.3, rows).tolist()]
    return cell, [first, ["ja" if v else "nein" for v in (rng.random(rows) < 0.1).tolist()]]


def test_merge_contract() -> None:
    cell, columns = make_rows(300)
    bounds = [0, 1, 90, 90, 200, 300]
    states = [
        count(cell[a:b], [column[a:b] for column in columns]) for a, b in itertools.pairwise(bounds)
    ]
    zero = SliceCounts(CELLS, ({}, {}))
    assert_mergeable(states, zero, same)
    assert same(sum(states, start=zero), zero + count(cell, columns))


def test_counts_equal_counting_row_by_row() -> None:
    cell, columns = make_rows(300)
    counts = count(cell, columns)
    assert len(counts.columns) == 2
    for found, values in zip(counts.columns, columns, strict=True):
        expected = collections.Counter(zip(values, cell.tolist(), strict=True))
        assert set(found) == set(values)
        for value, by_cell in found.items():
            assert by_cell.tolist() == [expected[value, c] for c in range(CELLS)]
        total = np.sum([*found.values()], axis=0)
        assert total.tolist() == np.bincount(cell, minlength=CELLS).tolist()


def test_pool_without_slice_columns() -> None:
    counts = SliceCounts.from_codes(CELLS, np.array([0, 1]), ())
    assert same(counts, SliceCounts(CELLS, ()))
    assert same(sent(counts), counts)


def test_other_cells_or_columns_do_not_add_up() -> None:
    for other in (SliceCounts(CELLS + 1, ({}, {})), SliceCounts(CELLS, ({},))):
        with pytest.raises(ValueError, match="do not add up"):
            SliceCounts(CELLS, ({}, {})) + other
