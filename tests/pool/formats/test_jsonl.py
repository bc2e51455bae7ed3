import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalsampling.errors import InputError
from evalsampling.pool.formats import jsonl
from evalsampling.pool.formats import text as lines
from evalsampling.pool.formats.jsonl import JsonLines
from evalsampling.pool.formats.parquet import Parquet
from tests.pool.formats.reading import COMPRESS, inspected, parquet_rows, read_rows
from tests.slow import slowly

TABLE = pa.table(
    {
        "id": [10**18 + i for i in range(24)],
        "text": [
            ["2020-01-01", 'a "quote"', "two\nlines", "é, 𝄞", "", "\r\n"][i % 6] for i in range(24)
        ],
        "score": [None if i % 7 == 0 else i / 8 for i in range(24)],
        "new": [None if i % 5 == 0 else i % 2 == 0 for i in range(24)],
    }
)


def write(path: Path, records: list[dict[str, Any]], end: str = "\n", **options: Any) -> Path:
    text = "".join(json.dumps(record, ensure_ascii=False, **options) + end for record in records)
    path.write_bytes(text.encode())
    return path


def types(path: Path) -> dict[str, pa.DataType]:
    schema = inspected(JsonLines(), path).schema
    return dict(zip(schema.names, schema.types, strict=True))


@pytest.mark.parametrize(
    ("end", "mark", "last"),
    [("\n", b"", True), ("\r\n", b"\xef\xbb\xbf", False), (" \t\r\n\n \r\n", b"", False)],
)
@pytest.mark.parametrize("suffix", ["", ".gz", *slowly(".zst")])
def test_same_as_parquet(
    tmp_path: Path, sizes: int, end: str, mark: bytes, last: bool, suffix: str
) -> None:
    path = write(tmp_path / "pool.jsonl", TABLE.to_pylist(), end)
    text = mark + (path.read_bytes() if last else path.read_bytes().removesuffix(end.encode()))
    path = tmp_path / f"pool.jsonl{suffix}"
    path.write_bytes(COMPRESS[suffix](text) if suffix else text)
    pq.write_table(TABLE, tmp_path / "pool.parquet", row_group_size=7)
    assert types(path) == dict(zip(TABLE.column_names, TABLE.schema.types, strict=True))
    for columns in (None, ["score", "id"], ["new"], ["text"]):
        expected = parquet_rows(Parquet(), tmp_path / "pool.parquet", columns)
        assert read_rows(JsonLines(), path, columns) == expected


def test_types_are_those_of_the_first_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "SEEN_BYTES", 150)
    first = {"null": None, "day": "2020-01-01T00:00:00Z", "part": {"a": [1]}, "list": []}
    path = write(tmp_path / "pool.jsonl", [first, {"x": 1}, {"x": 2.5}, {"y": 1}, {"y": "text"}])
    assert types(path) == {
        "null": pa.null(),
        "day": pa.string(),
        "part": pa.string(),
        "list": pa.string(),
        "x": pa.float64(),
        "y": pa.int64(),
    }
    path = write(tmp_path / "pool.jsonl", [{"x": 1}] * 99 + [{"x": 2.5, "y": 1}])
    assert types(path) == {"x": pa.int64()}
    told = "jsonl: column 'x', row 99: must be int64, got 2.5; the first rows"
    with pytest.raises(InputError, match=told):
        read_rows(JsonLines(), path)
    settled = pa.schema([("x", pa.float64()), ("z", pa.string())])
    rows = read_rows(JsonLines(), path, schema=settled)
    assert rows == [{"x": 1.0, "z": None}] * 99 + [{"x": 2.5, "z": None}]


def test_nested_values_are_text(tmp_path: Path, sizes: int) -> None:
    values = [None, "text", {"a": [1, "é"], "b": {}}, [], [None, 10**30], "[]", None]
    path = write(tmp_path / "pool.jsonl", [{"id": i, "x": x} for i, x in enumerate(values)])
    texts = [None, "text", '{"a": [1, "é"], "b": {}}', "[]", f"[null, {10**30}]", "[]", None]
    assert read_rows(JsonLines(), path) == [{"id": i, "x": x} for i, x in enumerate(texts)]
    assert [row["x"] for row in read_rows(JsonLines(), path, ["x"])] == texts
    path = write(path, [{"x": x} for x in [*values, 1, "a"]])
    with pytest.raises(InputError, match=r"jsonl: column 'x', row 7: must be string, got 1"):
        read_rows(JsonLines(), path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"a": "1"}', "column 'a', row 17: must be int64, got '1'"),
        ('{"a": 1.0}', "column 'a', row 17: must be int64, got 1.0"),
        (
            '{"a": 9223372036854775808}',
            "column 'a', row 17: must be int64, got 9223372036854775808",
        ),
        ('{"a": {}}', "column 'a', row 17: must be int64, got {}"),
        ('{"b": true}', "column 'b', row 17: must be string, got True"),
        ('{"b": 1}', "column 'b', row 17: must be string, got 1"),
        ('{"a": 1, "a": 2}', "row 17: is no JSON object: 'a' is there twice"),
        ('{"a": 1} {"a": 2}', "row 17: is no JSON object: Extra data at character 9"),
        ('{"a": 1', "row 17: is no JSON object: Expecting ',' delimiter at character 7"),
        ('{"c": {"a": 1}', "row 17: is no JSON object: Expecting ',' delimiter at character 1"),
        ('{"a":\n1}', "row 17: is no JSON object: Expecting value at character 5"),
        ("[1]", "row 17: is no JSON object: '[1]'"),
        ("nothing", "row 17: is no JSON object: Expecting value at character 0"),
        ("\0", "row 17: is no JSON object: Expecting value at character 0"),
        ('{"b": "\\ud800"}', "column 'b', row 17: must be string, got '\\ud800'"),
        ("\ufeff{}", "row 17: is no JSON object: "),
    ],
)
def test_bad_records(
    tmp_path: Path, sizes: int, monkeypatch: pytest.MonkeyPatch, line: str, problem: str
) -> None:
    monkeypatch.setattr(jsonl, "SEEN_BYTES", 10)
    path = tmp_path / "pool.jsonl"
    good = '{"a": 1, "b": "x"}\n\n'
    path.write_text(good * 17 + line + "\n" + good * 9)
    with pytest.raises(InputError) as error:
        read_rows(JsonLines(), path)
    assert str(error.value).startswith(f"{path}: {problem}")
    assert "\n" not in str(error.value)


def test_records_that_make_up_for_each_other_are_found(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text('{"a": 1}\n{"a": 2} {"a": 3}\n{"a":\n4}\n')
    with pytest.raises(InputError, match="row 1: is no JSON object: Extra data"):
        read_rows(JsonLines(), path)


def test_text_that_is_not_utf8(tmp_path: Path, sizes: int) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_bytes('{"a": "é"}\n'.encode() * 23 + b'{"b": "\xff"}\n{}\n')
    with pytest.raises(InputError, match=r"pool.jsonl: row 23: is not UTF-8"):
        read_rows(JsonLines(), path)


@pytest.mark.parametrize("text", ["", "\n \r\n\n", "\ufeff"])
def test_no_rows(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text(text)
    assert read_rows(JsonLines(), path) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.lists(
        st.sampled_from(
            [
                '{"a": 1}',
                '{"a": "é"}',
                '{"a": [{}',
                "]}",
                "{",
                "}",
                '"',
                " ",
                "\n",
                "\n",
                "\r\n",
                ",",
            ]
        ),
        max_size=12,
    ),
    size=st.integers(1, 12),
)
def test_cutting_makes_no_difference(
    tmp_path: Path, text: list[str], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text("".join(text))
    schema = pa.schema([("a", pa.int64())])

    def outcome(block: int) -> object:
        monkeypatch.setattr(lines, "BLOCK_BYTES", block)
        try:
            return read_rows(JsonLines(), path, schema=schema)
        except InputError as error:
            return str(error)

    assert outcome(size) == outcome(1 << 20)
