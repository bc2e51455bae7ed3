"""Columns and tables of several libraries as Arrow."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import InputError
from evalsampling.pool.frames import Table, index_of, to_array

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([1, 2]), [1, 2]),
        (np.array(["a", "b"]), ["a", "b"]),
        ([1, None], [1, None]),
        (np.array(["a", float("nan")], dtype=object), ["a", None]),
        ([["a", "b"], []], [["a", "b"], []]),
        (pa.chunked_array([[1], [2]]), [1, 2]),
        (pa.array(["a"]).cast(pa.string_view()), ["a"]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pd.Series([1, 2]), [1, 2]),
        (pd.Series([1, None], dtype="Int64"), [1, None]),
        (pd.Series([1.5, float("nan")]), [1.5, None]),
        (pd.Series(["a", None], dtype=object), ["a", None]),
        (pd.Series(["a", None], dtype="string"), ["a", None]),
        (pd.Series(["a", "b"], dtype="string[pyarrow]"), ["a", "b"]),
        (pd.Series(["b", "a", None], dtype="category"), ["b", "a", None]),
        (pd.Series([True, None], dtype="boolean"), [True, None]),
    ],
)
def test_columns(values: Any, expected: list[Any]) -> None:
    found = to_array(values, "x")
    assert isinstance(found, pa.Array)
    assert found.to_pylist() == expected


def test_codes_of_views_are_decoded() -> None:
    """As polars has its categories."""
    names = pa.array(["low", "high"]).cast(pa.string_view())
    column = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.uint32()), names)
    assert to_array(column, "x").to_pylist() == ["high", "low", None]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 2)), "x: must have one dimension, got 2"),
        (pd.DataFrame({"a": [1]}), "x: must have one dimension, got 2"),
        (pa.table({"a": [1]}), "x: must have one dimension, got 2"),
        ([1, "a"], "x: cannot be read as a column: Could not convert 'a'"),
        (7, "x: cannot be read as a column: "),
        (pd.Series([1, "a"], dtype=object), "x: cannot be read as a column: Could not convert 'a'"),
        (["a", 0.5, None], "it holds float and str: make all of them text, or all numbers"),
    ],
)
def test_no_columns(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        to_array(values, "x")


class Stream:
    """A table that has nothing but the Arrow PyCapsule interface, as those of DuckDB."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class Interchange:
    """A table that has nothing but the dataframe interchange protocol."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __dataframe__(self, **options: Any) -> Any:
        return self._table.__dataframe__(**options)


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pa.table, "stream", "interchange", "batch"])
def test_tables(kind: Any) -> None:
    columns = {"a": [3, 4], "b": ["x", "y"]}
    frame = {
        "stream": lambda one: Stream(pa.table(one)),
        "interchange": lambda one: Interchange(pa.table(one)),
        "batch": pa.record_batch,
    }.get(kind, kind)(columns)
    table = Table.of(frame)
    assert (table.names, table.rows) == (("a", "b"), 2)
    assert to_array(table.column("a"), "a").to_pylist() == [3, 4]
    assert to_array(table.column("b"), "b").to_pylist() == ["x", "y"]
    assert table.index == ([0, 1] if kind is pd.DataFrame else None)
    with pytest.raises(InputError, match="column 'c' is missing; there are: a, b"):
        table.column("c")


def test_polars_frames() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": ["x", None], "b": pl.Series(["u", "v"], dtype=pl.Categorical)})
    table = Table.of(frame)
    assert [to_array(table.column(name), name).to_pylist() for name in table.names] == [
        ["x", None],
        ["u", "v"],
    ]
    assert to_array(frame["a"], "a").to_pylist() == ["x", None]
    assert to_array(pl.Series([["a"], []]), "a").to_pylist() == [["a"], []]
    assert index_of(frame) is None


def test_no_tables() -> None:
    with pytest.raises(InputError, match="the pool: must be a DataFrame, an Arrow table or a map"):
        Table.of([1, 2], "the pool")
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InputError, match="the table: column 'a' is there twice"):
        Table.of(twice)
