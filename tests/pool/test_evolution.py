"""Columns of files become those of a table whose schema has changed since."""

from typing import Any

import pyarrow as pa
import pytest

from evalsampling import InputError
from evalsampling.pool.evolution import change_of, fields_of, plain


def numbered(name: str, kind: pa.DataType, number: int, nullable: bool = True) -> pa.Field:
    return pa.field(name, kind, nullable, {"PARQUET:field_id": str(number)})


def changed(values: pa.Array, wanted: pa.DataType) -> Any:
    change = change_of(values.type, wanted, "f: column 'o'")
    return None if change is None else change.of(values)


STORED = pa.struct([numbered("a", pa.int32(), 1), numbered("b", pa.string(), 2)])
VALUES = pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}], STORED)


def test_what_a_table_has_is_kept() -> None:
    assert changed(VALUES, STORED) is None
    assert changed(pa.array(["x"]), pa.string()) is None
    assert changed(pa.array(["x"], pa.large_string()), pa.string()) is None
    encoded = changed(pa.array(["x", None, "x"]).dictionary_encode(), pa.string())
    assert encoded.equals(pa.array(["x", None, "x"])), "a coded column is text in the table"


def test_fields_are_found_by_their_numbers() -> None:
    """Also where a field was renamed and another one has its name now: they may look the same."""
    wanted = pa.struct([numbered("b", pa.string(), 3), numbered("old", pa.string(), 2)])
    assert changed(VALUES, wanted).to_pylist() == [
        {"b": None, "old": "x"}, None, {"b": None, "old": "y"},
    ]  # fmt: skip
    swapped = pa.struct([numbered("a", pa.int32(), 2), numbered("b", pa.int32(), 1)])
    own = pa.struct([numbered("a", pa.int32(), 1), numbered("b", pa.int32(), 2)])
    there = pa.array([{"a": 1, "b": 2}], own)
    assert there.type == swapped
    assert changed(there, swapped).to_pylist() == [{"a": 2, "b": 1}]


def test_fields_without_numbers_are_found_by_their_names() -> None:
    wanted = pa.struct([("b", pa.string()), ("new", pa.float64()), ("a", pa.int64())])
    made = changed(VALUES, wanted)
    assert made.type == wanted
    assert made.to_pylist() == [
        {"b": "x", "new": None, "a": 1}, None, {"b": "y", "new": None, "a": None},
    ]  # fmt: skip
    assert changed(VALUES[1:], wanted).to_pylist() == made[1:].to_pylist()


def test_fields_of_fields() -> None:
    outer = pa.struct([pa.field("inner", STORED, nullable=False)])
    values = pa.array([{"inner": {"a": 1, "b": "x"}}, None], outer)
    wanted = pa.struct([("inner", pa.struct([("a", pa.int64()), ("c", pa.string())]))])
    assert changed(values, wanted).to_pylist() == [{"inner": {"a": 1, "c": None}}, None]
    fields = dict(fields_of(outer, wanted, "now", "then"))
    assert {name: field.own for name, field in fields.items()} == {
        "now.inner": "then.inner", "now.inner.a": "then.inner.a", "now.inner.c": None,
    }  # fmt: skip
    absent = dict(fields_of(None, wanted, "now", ""))
    assert list(absent) == list(fields)
    assert all(field.own is None for field in absent.values())


def test_files_differ_in_what_may_be_null() -> None:
    strict = pa.struct([pa.field("a", pa.int32(), nullable=False)])
    assert plain(strict) == pa.struct([("a", pa.int32())])
    assert changed(pa.array([{"a": 1}], strict), plain(strict)).type == plain(strict)
    times = pa.array([[5], None], pa.list_(pa.timestamp("us")))
    zoned = pa.list_(pa.timestamp("us", "UTC"))
    assert changed(times, zoned).equals(times.cast(zoned))
    rows = pa.array([[{"a": 1}], None], pa.list_(strict))
    assert changed(rows, plain(rows.type)).to_pylist() == [[{"a": 1}], None]
    pairs = pa.array([[("k", {"a": 1})]], pa.map_(pa.string(), strict))
    assert changed(pairs, plain(pairs.type)).to_pylist() == pairs.to_pylist()


def test_text_that_is_encoded() -> None:
    codes = pa.StructArray.from_arrays([pa.array(["x", "y"]).dictionary_encode()], ["b"])
    wanted = pa.struct([("b", pa.string())])
    assert changed(codes, wanted).type == wanted


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        (pa.struct([("a", pa.string())]), pa.struct([("a", pa.int64())])),
        (pa.list_(pa.struct([("a", pa.int32())])), pa.list_(pa.struct([("b", pa.int32())]))),
        (
            pa.list_(pa.struct([numbered("a", pa.int32(), 1)])),
            pa.list_(pa.struct([numbered("a", pa.int32(), 2)])),
        ),
        (pa.int32(), pa.list_(pa.int32())),
    ],
)
def test_what_cannot_be_made_is_refused(stored: pa.DataType, wanted: pa.DataType) -> None:
    with pytest.raises(InputError, match=r"^f: column 'o'.* has type .*, but .* in the table$"):
        change_of(stored, wanted, "f: column 'o'")
