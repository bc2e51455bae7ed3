"""Counts of slices against counting rows."""

import collections
import itertools

import numpy as np
import pytest

from evalsampling.stats.outputs import Outputs
from evalsampling.stats.slices import SliceCodes, SliceCounts, UnknownSliceError, described, joined
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


NAMED = {"country": ("DE", "FR"), "device": ("phone",)}
CODES = SliceCodes(NAMED, np.array([[0, 0], [1, 0], [2, 1], [1, 1]]))


@pytest.mark.parametrize(
    ("where", "inside"),
    [
        ({"country": ("DE",)}, [0, 1, 0, 1]),
        ({"country": ("DE", "FR")}, [0, 1, 1, 1]),
        ({"country": ("DE",), "device": ("phone",)}, [0, 0, 0, 1]),
    ],
)
def test_rows_within(where: dict, inside: list[int]) -> None:
    np.testing.assert_array_equal(CODES.within(where), np.array(inside, dtype=bool))


@pytest.mark.parametrize("where", [{"country": ("IT",)}, {"land": ("DE",)}])
def test_slices_that_are_not_named(where: dict) -> None:
    with pytest.raises(UnknownSliceError, match="cells do not tell these rows apart"):
        CODES.within(where)


def test_outputs_without_slices_have_no_row_within() -> None:
    nothing = Outputs.none(1, 2)
    assert nothing.within({"country": ("DE",)}).tolist() == []
    one = Outputs(np.zeros((1, 1), dtype=int), np.zeros((1, 1)), np.zeros((1, 1, 2)))
    with pytest.raises(UnknownSliceError):
        one.within({"country": ("DE",)})


def test_joined_in_order() -> None:
    second = SliceCodes(NAMED, CODES.code[[1]])
    both = joined([second, CODES])
    assert both.code[:, 0].tolist() == [1, 0, 1, 2, 1]
    assert joined([CODES, None]) is joined([]) is None


def test_in_words() -> None:
    assert described(NAMED) == "country=DE|FR, device=phone"
