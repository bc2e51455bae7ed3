"""Sets of labels in the columns of a pool."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import InputError
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.label_sets import probabilities_of_sets, read_label_sets

KNOWN = ("toxic", "insult", "threat")
LISTS = [["toxic"], [], ["threat", "toxic"], ["insult", "insult"]]
CODES = [1, 0, 5, 2]


def batch(**columns: Any) -> PoolBatch:
    return PoolBatch(pa.record_batch(columns), "pool.parquet", first_row=100)


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.large_string())])
def test_lists(kind: pa.DataType) -> None:
    rows = batch(tags=pa.array([["insult"], *LISTS], kind).slice(1))
    assert read_label_sets(rows, "tags", {}, KNOWN).tolist() == CODES


def test_texts() -> None:
    rows = batch(tags=["toxic", "none", "threat+toxic", "insult"])
    assert read_label_sets(rows, "tags", {}, KNOWN).tolist() == CODES


@pytest.mark.parametrize("kind", [pa.int8(), pa.bool_(), pa.float64()])
def test_a_column_for_each_label(kind: pa.DataType) -> None:
    flags = [[code >> place & 1 for code in CODES] for place in range(3)]
    names = dict(zip(KNOWN, "abc", strict=True))
    rows = batch(**{
        name: pa.array(column).cast(kind) for name, column in zip("abc", flags, strict=True)
    })  # fmt: skip
    assert read_label_sets(rows, None, names, KNOWN).tolist() == CODES


def test_lists_that_are_all_empty() -> None:
    rows = batch(tags=pa.array([[], []], pa.list_(pa.null())))
    assert read_label_sets(rows, "tags", {}, KNOWN).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([["toxic"], ["nice"]], "column 'tags', row 101: 'nice' is none of"),
        ([["toxic"], None], "column 'tags', row 101: null"),
        ([["toxic"], [None]], "row 101: None is none of"),
        ([[1], [2]], "row 100: labels are text, got type int64"),
        ([1, 2], "must be a list of labels, got type int64"),
        (["toxic", "toxic+nice"], "row 101: 'toxic\\+nice' is no set of"),
    ],
)
def test_bad_value_is_told_with_its_row(column: list[Any], words: str) -> None:
    with pytest.raises(InputError, match=f"pool.parquet: .*{words}"):
        read_label_sets(batch(tags=column), "tags", {}, KNOWN)


def test_flag_that_is_none() -> None:
    rows = batch(a=[0, 1], b=[0, 2], c=[0, 0])
    with pytest.raises(InputError, match=r"column 'b', row 101: a label is there or not, .* got 2"):
        read_label_sets(rows, None, dict(zip(KNOWN, "abc", strict=True)), KNOWN)


def test_probability_of_a_set_is_the_product() -> None:
    single = np.random.default_rng(1).random((5, 3))
    found = probabilities_of_sets(single)
    for row, p in enumerate(single):
        for held in itertools.product((0, 1), repeat=3):
            code = sum(bit << place for place, bit in enumerate(held))
            wanted = np.prod([q if bit else 1 - q for q, bit in zip(p, held, strict=True)])
            assert found[row, code] == pytest.approx(wanted)
