"""Leaves that columns name, and how they merge."""

import json

import numpy as np
import pytest

from evalsampling.parts.records import as_plain, read_record
from evalsampling.stats.partition import Partition, Paths
from evalsampling.stats.tree import LeafTree
from tests.contracts import assert_mergeable, same_state

COUNTRY = ["DE", "CH", "CH", "DE", "CH", "DE"]
CITY = ["10", "9", "x", "9", "-2", "10"]


def coded(*columns: list[str]) -> list[tuple[list[str], np.ndarray]]:
    """Columns as Arrow codes them: values in the order in which they come."""
    values = [list(dict.fromkeys(column)) for column in columns]
    return [
        (found, np.array([found.index(text) for text in column], dtype=np.int32))
        for found, column in zip(values, columns, strict=True)
    ]


def test_paths_are_ordered_numbers_by_their_size_and_part_where_they_differ() -> None:
    paths = Paths.from_rows(coded(COUNTRY, CITY), 10)
    assert paths.first == (("CH", "-2"), ("CH", "9"), ("CH", "x"), ("DE", "9"), ("DE", "10"))
    assert not paths.are_too_many
    partition = Partition(paths.first)
    assert partition.find(coded(COUNTRY, CITY)).tolist() == [4, 1, 2, 3, 0, 4]
    assert partition.parting.tolist() == [2, 2, 1, 2]
    sums = LeafTree.parted(partition.parting).sums(np.ones(5))
    assert sums.tolist() == [3, 2, 1, 1, 1, 1, 1]
    assert read_record(Partition, json.loads(json.dumps(as_plain(partition)))) == partition


def test_one_column_is_the_flat_tree() -> None:
    partition = Partition(Paths.from_rows(coded(COUNTRY), 10).first)
    assert (partition.paths, partition.parting.tolist()) == ((("CH",), ("DE",)), [1])
    assert Partition((("only",),)).parting.tolist() == []
    assert Partition((("only",),)).leaves == 1


def test_a_row_of_no_leaf_is_named() -> None:
    with pytest.raises(ValueError, match="a row of no leaf: FR, x"):
        Partition((("CH", "x"),)).find(coded(["CH", "FR"], ["x", "x"]))


@pytest.mark.parametrize("most", [3, 100])
def test_merge_contract(most: int) -> None:
    rng = np.random.default_rng(most)
    tables = [rng.integers(0, 5, (2, size)).astype(str) for size in (0, 1, 7, 30, 30)]
    states = [Paths.from_rows(coded(*table.tolist()), most) for table in tables]
    assert_mergeable(states, Paths(most), same_state)
    whole = Paths.from_rows(coded(*np.concatenate(tables, axis=1).tolist()), most)
    assert sum(states, start=Paths(most)) == whole
    assert whole.are_too_many == (most == 3)
    distinct = set(zip(*np.concatenate(tables, axis=1).tolist(), strict=True))
    assert whole.first == tuple(sorted(distinct)[: most + 1])


@pytest.mark.slow
def test_many_columns_of_many_values() -> None:
    """Products of their numbers would overflow."""
    rows = 5000
    rng = np.random.default_rng(0)
    table = rng.integers(0, rows, (8, rows)).astype(str).tolist()
    paths = Paths.from_rows(coded(*table), 10 * rows)
    assert set(paths.first) == set(zip(*table, strict=True))
    leaf = Partition(paths.first).find(coded(*table))
    assert [paths.first[k] for k in leaf] == list(zip(*table, strict=True))
