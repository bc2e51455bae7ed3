"""What becomes of the columns of a file."""

import pyarrow as pa
import pytest

from evalsampling import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.layout import Layout, PlannedFile, TableColumn

FILE = StoredFile("f.parquet", 1)


def layout(columns: list[TableColumn], schema: pa.Schema, **constants: pa.Array) -> Layout:
    row = pa.RecordBatch.from_pydict(constants) if constants else None
    made = Layout.of(PlannedFile(FILE, row, tuple(columns)), schema)
    assert made is not None
    return made


STORED = pa.record_batch({"a": pa.array([1, 2], pa.int32()), "b": ["x", "y"], "old": [0.5, 0.7]})


def test_a_plain_file_has_none() -> None:
    assert Layout.of(PlannedFile(FILE), STORED.schema) is None


def test_columns_of_a_table() -> None:
    columns = [
        TableColumn("a", pa.int64()), TableColumn("b", pa.large_string()),
        TableColumn("new", pa.large_string()), TableColumn("p", pa.date32()),
    ]  # fmt: skip
    made = layout(columns, STORED.schema, p=pa.array([1], pa.date32()))
    assert made.schema(STORED.schema) == pa.schema(
        [("a", pa.int64()), ("b", pa.string()), ("p", pa.date32()), ("new", pa.string())]
    )
    assert made.stored(["p", "b", "new"]) == ["b"]
    assert made.stored(None) == ["a", "b"]
    rows = made.applied(STORED.select(["a", "b"]), None)
    assert rows.schema.names == ["a", "b", "p", "new"]
    assert rows["a"].type == pa.int64()
    assert rows["new"].null_count == 2
    assert made.applied(STORED.select(["b"]), ["p", "b"]).schema.names == ["b", "p"]


def test_expressions_have_the_names_of_the_table() -> None:
    fields = [
        pa.field("x", pa.date32(), metadata={"PARQUET:field_id": "1"}),
        pa.field("y", pa.int32(), metadata={"PARQUET:field_id": "2"}),
    ]
    columns = [TableColumn("day", pa.timestamp("us"), 1), TableColumn("n", pa.int32(), 2)]
    made = layout([*columns, TableColumn("z", pa.int64(), 3)], pa.schema(fields))
    assert made.names == {"day": "x", "n": "y"}
    # Dates are no points of time.
    expressions = made.expressions(pa.schema(fields))
    assert {name: str(expression) for name, (expression, _) in expressions.items()} == {
        "n": "y", "z": "null[int64]",
    }  # fmt: skip


def test_another_type_is_refused() -> None:
    with pytest.raises(InputError, match="column 'b' has type string, but int64 in the table"):
        layout([TableColumn("b", pa.int64())], STORED.schema)


def test_a_column_without_any_value() -> None:
    made = layout([TableColumn("a", pa.int64())], pa.schema([("a", pa.null())]))
    assert made.schema(pa.schema([("a", pa.null())])) == pa.schema([("a", pa.int64())])


def test_a_file_that_does_not_number_its_columns() -> None:
    """As files that were added to an Iceberg table and not written by it."""
    with pytest.raises(InputError, match=r"f\.parquet: has no numbers of columns"):
        layout([TableColumn("a", pa.int64(), 1)], STORED.schema)
