"""Reading queries: ranks, probabilities, and what is wrong with a list."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.errors import InputError
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.lists import QueryBatch, list_column, list_columns, list_names, read_queries
from evalsampling.spec import EvaluationSpec
from tests.queries import CUT, GRADES, make_queries

NAN = float("nan")
LISTS = ("doc", "new", "old", "chances")


def spec_of(**keys: Any) -> EvaluationSpec:
    return EvaluationSpec.from_mapping(make_queries(2).spec(**keys), Path())


def batch_of(**columns: Any) -> PoolBatch:
    good: dict[str, Any] = {
        "query": ["a", "b", "c"],
        "doc": [["x", "y", "z"], ["x"], []],
        "new": [[0.1, 0.9, 0.5], [1.0], []],
        "old": [[0.7, None, 0.7], [NAN], []],
        "chances": [[[1.0, 0, 0], [0, 0.5, 0.5], [0, 0, 1.0]], [[0, 1.0, 0]], []],
    }
    types = {
        "doc": pa.list_(pa.string()),
        "new": pa.list_(pa.float64()),
        "old": pa.list_(pa.float64()),
        "chances": pa.list_(pa.list_(pa.float64())),
    }
    arrays = {
        name: value if isinstance(value, pa.Array) else pa.array(value, types.get(name))
        for name, value in (good | columns).items()
    }
    return PoolBatch(pa.record_batch(arrays), "pool.parquet", first_row=10)


def read(depth: int = CUT, **columns: Any) -> QueryBatch:
    return read_queries(batch_of(**columns), spec_of().reading, depth)


def test_items_are_ranked_by_falling_score_and_ties_by_place() -> None:
    found = read()
    assert found.length.tolist() == [3, 1, 0]
    assert found.item.to_pylist() == ["x", "y", "z", "x"]
    assert found.rank.tolist() == [[3, 1], [1, 0], [2, 2], [1, 0]]
    assert found.lists.place[0].tolist() == [[1, 2, 0, -1], [0, 2, -1, -1]]
    assert found.lists.place[1].tolist() == [[0, -1, -1, -1], [-1] * 4]
    assert found.differs.tolist() == [[0, 1], [0, 1], [0, 0]]


def test_ranks_are_no_scores() -> None:
    plan = spec_of(pool={"systems": {"bm25": {"score": "bm25_rank"}}})
    rows = batch_of().rows.append_column("bm25_rank", pa.array([[1, 2, 3], [1], []]))
    with pytest.raises(InputError, match="column 'bm25_rank', row 0: is called a rank, and"):
        read_queries(PoolBatch(rows), plan, CUT)


def test_text_is_the_json_of_lists() -> None:
    """As JSON Lines, Avro and CSV have them."""
    plain = batch_of().rows
    text = {name: pa.array(map(json.dumps, plain[name].to_pylist())) for name in LISTS}
    text["old"] = pa.array(["[0.7, null, 0.7]", "[NaN]", "[]"])
    found, expected = read(**text), read()
    assert found.item == expected.item
    np.testing.assert_array_equal(found.rank, expected.rank)
    np.testing.assert_array_equal(found.lists.place, expected.lists.place)
    np.testing.assert_allclose(found.lists.mean, expected.lists.mean)
    nothing = PoolBatch(pa.record_batch({"doc": ["[]", "[]"]}))
    assert list_column(nothing, "doc").to_pylist() == [[], []]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1, 2", "column 'doc', row 11: is no list in JSON"),
        ('{"x": 1}', "column 'doc', row 11: is no list: "),
        ('["x", 1]', "column 'doc', row 11: its values do not go together"),
    ],
)
def test_text_that_is_no_list_is_told_with_its_row(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(doc=pa.array(['["x", "y", "z"]', text, "[]"]))


def test_items_beyond_the_depth_of_all_lists_are_not_graded() -> None:
    found = read(depth=1)
    assert found.length.tolist() == [2, 1, 0]
    assert found.item.to_pylist() == ["x", "y", "x"]
    stored = found.take(np.array([1, 0]))
    assert list(stored) == list_names(2)
    assert stored["list.items"].to_pylist() == [["x"], ["x", "y"]]
    assert stored["list.ranks.1"].to_pylist() == [[0], [1, 0]]


def test_what_is_expected_of_grades_is_the_mean_of_what_the_rankers_say() -> None:
    # k is 0, 1/4, 3/4 of grades 0, 1, 2; the second ranker says nothing.
    found = read()
    np.testing.assert_allclose(found.lists.mean[0], [0, 0.5, 0.75])
    both = spec_of(pool={"systems": {"new": {"score": "new", "probability": "chances"},
                                     "old": {"score": "old", "probability": "other"}}})  # fmt: skip
    other = [[[0, 0, 1.0]] * 3, [[0, 0, 1.0]], []]
    batch = batch_of(other=pa.array(other, pa.list_(pa.list_(pa.float64()))))
    mixed = read_queries(batch, both, CUT)
    np.testing.assert_allclose(mixed.lists.mean[0], [0.375, 0.625, 0.75])
    assert list_columns(both.pool) == ["doc", "new", "chances", "old", "other"]
    none = spec_of(pool={"systems": {"new": {"score": "new"}, "old": {"score": "old"}}})
    even = read_queries(batch_of(), none, CUT)
    np.testing.assert_allclose(even.lists.mean[0], np.full(3, (0 + 0.25 + 0.75) / GRADES))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"doc": [["x", "y", "x"], ["x"], []]}, "column 'doc', row 10: item 'x' is there twice"),
        ({"doc": [["x", "y", "z"], [None], []]}, "column 'doc', row 11: an item is null"),
        ({"doc": [["x", "y", "z"], None, []]}, "column 'doc', row 11: null"),
        ({"doc": pa.array([1, 2, 3])}, "column 'doc', row 10: must be a list, got type"),
        ({"new": [[0.1, 0.9, 0.5], [1.0, 2.0], []]},
         "column 'new', row 11: 2 values for the 1 items of column 'doc'"),
        ({"new": pa.array([["a"] * 3, ["b"], []])}, "column 'new', row 10: must hold numbers"),
        ({"chances": [[[1.0, 0, 0], [0, 0.5, 0.5], [0, 0, 1.0]], [[0.5, 0.5]], []]},
         "column 'chances', row 11: 2 probabilities for 3 grades"),
        ({"chances": [[[1.0, 0, 0], [0, 0.5, 0.6], [0, 0, 1.0]], [[0, 1, 0]], []]},
         "column 'chances', row 10: probabilities of grades lie in"),
        ({"chances": pa.array([[0.1] * 3, [0.2], []])},
         "column 'chances', row 10: must be a list of lists, got a list of double"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_file_column_and_row(
    columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(**columns)
    assert str(caught.value).startswith(f"pool.parquet: {message}")
