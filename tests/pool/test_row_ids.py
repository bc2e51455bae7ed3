"""Ids of several columns are one text: without ambiguity, and read back to their parts."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsampling import InputError
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import hash_ids
from evalsampling.pool.row_ids import as_columns, as_text, joined, parts_of, text_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
TRICKY = st.text('"\\,[]ab1\x00\n\u2028é', max_size=5)
WHOLE = st.integers(-(2**63), 2**63 - 1)
PAIRS = ("left", "right")


@given(st.lists(st.tuples(TEXTS | TRICKY, TRICKY, WHOLE), min_size=1, max_size=20))
def test_different_parts_have_different_ids_which_read_back(
    rows: list[tuple[str, str, int]],
) -> None:
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    ids = joined(columns).to_pylist()
    assert [tuple(parts_of(id)) for id in ids] == rows
    assert ids == [text_of(row) for row in rows]
    assert [json.loads(id) for id in ids] == [list(row) for row in rows], "any program can read it"
    assert len(set(ids)) == len(set(rows))
    shown = as_columns(pa.array(ids), ("a", "b", "c"))
    assert [
        tuple(row) for row in zip(*(c.to_pylist() for c in shown.values()), strict=True)
    ] == rows
    sliced = joined([column.slice(1) for column in columns]).to_pylist()
    assert sliced == ids[1:], "buffers of a slice begin elsewhere"


def test_the_text_is_as_described() -> None:
    assert joined([pa.array(["a"]), pa.array(["bc"])]).to_pylist() == ['["a","bc"]']
    assert joined([pa.array(["ab"]), pa.array(["c"])]).to_pylist() == ['["ab","c"]']
    assert joined([pa.array([1], pa.int8()), pa.array(["1"])]).to_pylist() == ['[1,"1"]']
    assert joined([pa.array(["é\x7f\u2028"]), pa.array([2**64 - 1], pa.uint64())]).to_pylist() == [
        '["é\x7f\u2028",18446744073709551615]'
    ]


def test_they_are_hashed_as_the_text_is() -> None:
    # XXH64 of the UTF-8 bytes, from the reference implementation.
    ids = joined([pa.array(["a", "ab"]), pa.array(["bc", "c"])])
    xxhash = pytest.importorskip("xxhash")
    wanted = [xxhash.xxh64_intdigest(text.encode(), 7) for text in ('["a","bc"]', '["ab","c"]')]
    np.testing.assert_array_equal(hash_ids(ids, 7), np.array(wanted, np.uint64))


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint64(), pa.int64()])
def test_whole_numbers_of_any_type_are_alike_and_no_texts(kind: pa.DataType) -> None:
    numbers = joined([pa.array([1, 2], kind), pa.array([3, 3], kind)])
    texts = joined([pa.array(["1", "2"]), pa.array(["3", "3"])])
    assert numbers.to_pylist() == ["[1,3]", "[2,3]"]
    assert not set(hash_ids(numbers, 1).tolist()) & set(hash_ids(texts, 1).tolist())


def test_in_deliveries_texts_stand_for_numbers() -> None:
    assert as_text('[1,"b"]', PAIRS) == '["1","b"]' == as_text('["1","b"]', PAIRS)
    assert (as_text(7, "id"), as_text("[1]", "id")) == ("7", "[1]")


def test_what_is_no_such_id_is_its_only_part() -> None:
    assert [parts_of(text) for text in ("gold 3", "7", "[")] == [["gold 3"], ["7"], ["["]]
    shown = as_columns(pa.array(["gold 3", None]), PAIRS)
    assert [column.to_pylist() for column in shown.values()] == [["gold 3", None], [None, None]]


def test_columns_of_a_batch() -> None:
    rows = pa.record_batch(
        {"left": pa.array(["a", "a"]).dictionary_encode(), "right": [1, 2], "x": [0.5, 1]}
    )
    batch = PoolBatch(rows, "pool.parquet", 40)
    assert batch.ids(PAIRS).to_pylist() == ['["a",1]', '["a",2]']
    assert batch.ids("right").to_pylist() == [1, 2]
    with pytest.raises(InputError, match=r"column 'x', row 40: ids must be integers or strings"):
        batch.ids(("left", "x"))
    with pytest.raises(InputError, match=r"column 'z' is missing; there are: left, right, x"):
        batch.ids(("left", "z"))
    null = pa.record_batch({"left": ["a", "b"], "right": pa.array([1, None])})
    with pytest.raises(InputError, match=r"p.csv: column 'right', row 1: null"):
        PoolBatch(null, "p.csv").ids(PAIRS)
