"""What becomes of the columns of a file."""

from typing import Any

import pyarrow as pa
import pytest

from evalsampling import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.layout import Layout, PlannedFile

FILE = StoredFile("f.parquet", 1)


def layout(columns: dict[str, pa.DataType], schema: pa.Schema, **constants: pa.Scalar) -> Layout:
    return Layout.of(PlannedFile(FILE, constants, pa.schema(columns)), schema)


STORED = pa.record_batch({"a": pa.array([1, 2], pa.int32()), "b": ["x", "y"], "old": [0.5, 0.7]})


def test_rows_of_a_plain_file_stay() -> None:
    made = Layout.of(PlannedFile(FILE), STORED.schema)
    assert made.stored(["b", "o.a"]) == ["b", "o.a"]
    assert made.applied(STORED, None) is STORED


def test_columns_of_a_table() -> None:
    columns = {"a": pa.int64(), "b": pa.large_string(), "new": pa.large_string(), "p": pa.date32()}
    made = layout(columns, STORED.schema, p=pa.scalar(1, pa.date32()))
    assert made.schema(STORED.schema) == pa.schema(
        {"a": pa.int64(), "b": pa.large_string(), "p": pa.date32(), "new": pa.large_string()}
    )
    assert made.stored(["p", "b", "new"]) == ["b"]
    assert made.stored(None) == ["a", "b"]
    rows = made.applied(STORED.select(["a", "b"]), None)
    assert rows.schema.names == ["a", "b", "p", "new"]
    assert rows["a"].type == pa.int64()
    assert rows["new"].null_count == 2
    assert made.applied(STORED.select(["b"]), ["p", "b"]).schema.names == ["b", "p"]


def changed(values: pa.Array, wanted: pa.DataType) -> Any:
    rows = pa.record_batch({"o": values})
    return layout({"o": wanted}, rows.schema).applied(rows, ["o"])["o"]


STRUCT = pa.struct([pa.field("a", pa.int32(), nullable=False), ("b", pa.string())])


@pytest.mark.parametrize(
    ("values", "wanted", "expected"),
    [
        (
            pa.array([{"a": 1, "b": "x"}, None], STRUCT),
            pa.struct({"b": pa.string(), "new": pa.float64(), "a": pa.int64()}),
            [{"b": "x", "new": None, "a": 1}, None],
        ),
        (pa.array([[{"a": 1}]]), pa.list_(pa.struct({"c": pa.int8()})), [[{"c": None}]]),
        (pa.array([1], pa.int32()), pa.float64(), [1.0]),
        (
            pa.StructArray.from_arrays([pa.array(["x"]).dictionary_encode()], ["b"]),
            pa.struct({"b": pa.string()}),
            [{"b": "x"}],
        ),
    ],
)
def test_types_of_files_become_those_of_the_table(
    values: pa.Array, wanted: pa.DataType, expected: Any
) -> None:
    made = changed(values, wanted)
    assert made.type == wanted
    assert made.to_pylist() == expected


def test_fields_are_read_with_their_column() -> None:
    schema = pa.schema({"o": pa.struct({"a": pa.int32()})})
    made = layout({"o": pa.struct({"a": pa.int32(), "b": pa.string()})}, schema)
    assert made.stored(["o.b", "o.a", "o"]) == ["o"]


def test_expressions_are_of_columns_whose_type_stays() -> None:
    schema = pa.schema({"day": pa.date32(), "n": pa.int32()})
    made = layout({"day": pa.timestamp("us"), "n": pa.int32(), "z": pa.int64()}, schema)
    # Dates are no points of time.
    expressions = made.expressions(schema)
    assert {name: str(expression) for name, (expression, _) in expressions.items()} == {
        "n": "n", "z": "null[int64]",
    }  # fmt: skip


@pytest.mark.parametrize("wanted", [pa.int64(), pa.date32(), pa.list_(pa.string())])
def test_another_type_is_refused(wanted: pa.DataType) -> None:
    with pytest.raises(InputError, match=r"column 'b' has type string, but .* in the table"):
        layout({"b": wanted}, STORED.schema)


def test_a_column_without_any_value() -> None:
    made = layout({"a": pa.int64()}, pa.schema([("a", pa.null())]))
    assert made.schema(pa.schema([("a", pa.null())])) == pa.schema([("a", pa.int64())])
