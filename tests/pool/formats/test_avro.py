import datetime
import decimal
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.formats import avro
from evalsampling.pool.formats.avro import Avro
from evalsampling.pool.formats.parquet import Parquet
from tests.pool.formats.reading import inspected, parquet_rows, read_rows
from tests.slow import slowly

TABLE = pa.table(
    {
        "id": [10**18 + i for i in range(100)],
        "text": [["plain", "two\nlines", "é, 𝄞", ""][i % 4] for i in range(100)],
        "score": [None if i % 7 == 0 else i / 8 for i in range(100)],
        "low": pa.array([i / 3 for i in range(100)], pa.float32()),
        "new": [i % 2 == 0 for i in range(100)],
        "bytes": [bytes([i]) for i in range(100)],
    }
)
FIELDS = {
    "id": "long",
    "text": "string",
    "score": ["null", "double"],
    "low": "float",
    "new": "boolean",
    "bytes": "bytes",
}


def write(
    path: Path, fields: dict[str, Any], records: Sequence[dict[str, Any]], codec: str = "deflate"
) -> Path:
    schema = {
        "type": "record",
        "name": "row",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }
    with path.open("wb") as file:
        fastavro.writer(file, schema, records, codec=codec, sync_interval=100)
    return path


def inspect(path: Path) -> Any:
    return inspected(Avro(), path)


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz"])
@pytest.mark.parametrize("rows", [10, *slowly(1, 1 << 16)])
def test_same_as_parquet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str, rows: int
) -> None:
    monkeypatch.setattr(avro, "BATCH_ROWS", rows)
    path = write(tmp_path / "pool.avro", FIELDS, TABLE.to_pylist(), codec)
    pq.write_table(TABLE, tmp_path / "pool.parquet", row_group_size=7)
    assert inspect(path).schema == TABLE.schema
    for columns in (None, ["score", "id"], ["new"]):
        expected = parquet_rows(Parquet(), tmp_path / "pool.parquet", columns)
        assert read_rows(Avro(), path, columns) == expected


def test_batches_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "pool.avro", FIELDS, TABLE.to_pylist())
    file = StoredFile(str(path), path.stat().st_size)
    schema = inspect(path).schema
    assert len(list(Avro().read(file, schema))) > 5  # one for each block
    monkeypatch.setattr(avro, "BATCH_ROWS", 2)
    assert max(len(batch) for batch in Avro().read(file, schema)) == 2


def test_a_record_within_itself_is_refused(tmp_path: Path) -> None:
    """The decoder of a deep one ends the process by a signal."""
    fields = [{"name": "next", "type": ["null", "node"]}]
    node = {"type": "record", "name": "node", "fields": fields}
    kind = ["null", {"type": "array", "items": node}]
    path = write(tmp_path / "pool.avro", {"id": "long", "tree": kind, "other": "node"}, [])
    with pytest.raises(InputError, match=r"^.*: column 'tree' has a recursive type") as error:
        inspect(path)
    assert "\n" not in str(error.value)
    path = write(tmp_path / "self.avro", {"id": "long", "more": ["null", "row"]}, [])
    with pytest.raises(InputError, match=r"^.*: column 'more' has a recursive type"):
        inspect(path)


def test_types(tmp_path: Path) -> None:
    day = datetime.datetime(2020, 1, 2, 3, 4, 5, 6000, datetime.UTC)
    kind = {"type": "enum", "name": "kind", "symbols": ["A", "B"]}
    pair = {"type": "record", "name": "pair", "fields": [{"name": "x", "type": "int"}]}
    price = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    key = uuid.UUID(int=7)
    cells: dict[str, tuple[Any, Any, pa.DataType, Any]] = {
        "int": ("int", 1, pa.int64(), 1),
        "null": ("null", None, pa.null(), None),
        "enum": (kind, "A", pa.string(), "A"),
        "again": (["null", "kind"], "B", pa.string(), "B"),
        "record": (pair, {"x": 1}, pa.string(), '{"x": 1}'),
        "map": ({"type": "map", "values": "pair"}, {"é": {"x": 2}}, pa.string(), '{"é": {"x": 2}}'),
        "list": (
            {"type": "array", "items": price},
            [decimal.Decimal("1.50")],
            pa.string(),
            '["1.50"]',
        ),
        "numbers": (
            {"type": "array", "items": "double"},
            [0.5, float("nan"), float("-inf")],
            pa.string(),
            "[0.5, null, null]",
        ),
        "fixed": ({"type": "fixed", "name": "two", "size": 2}, b"ab", pa.binary(), b"ab"),
        "decimal": (price, decimal.Decimal("1.50"), pa.string(), "1.50"),
        "uuid": ({"type": "string", "logicalType": "uuid"}, key, pa.string(), str(key)),
        "date": ({"type": "int", "logicalType": "date"}, day.date(), pa.date32(), day.date()),
        "time": (
            {"type": "long", "logicalType": "timestamp-millis"},
            day,
            pa.timestamp("ms", "UTC"),
            day,
        ),
        "local": (
            {"type": "long", "logicalType": "local-timestamp-micros"},
            day.replace(tzinfo=None),
            pa.timestamp("us"),
            day.replace(tzinfo=None),
        ),
        "clock": (
            {"type": "int", "logicalType": "time-millis"},
            day.time(),
            pa.time32("ms"),
            day.time(),
        ),
        "number": (["int", "null", "double"], 2, pa.float64(), 2.0),
        "mixed": (["string", "int", "pair"], 2, pa.string(), "2"),
        "unknown": ({"type": "long", "logicalType": "moon-phase"}, 3, pa.int64(), 3),
        "odd": (["string", "bytes"], b"a\xff", pa.string(), "a\\xff"),
    }
    path = write(
        tmp_path / "pool.avro",
        {name: cell[0] for name, cell in cells.items()},
        [{name: cell[1] for name, cell in cells.items()}],
    )
    schema = inspect(path).schema
    assert dict(zip(schema.names, schema.types, strict=True)) == {n: c[2] for n, c in cells.items()}
    assert read_rows(Avro(), path) == [{name: cell[3] for name, cell in cells.items()}]


def test_values_that_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro, "BATCH_ROWS", 7)
    values = [{"x": 1.5}] * 30 + [{"x": 2**53 + 1}]
    path = write(tmp_path / "pool.avro", {"x": ["long", "double"]}, values)
    with pytest.raises(InputError, match=r"'x', row 30: must be double, got 9007199254740993"):
        read_rows(Avro(), path)


@pytest.mark.slow
def test_files_that_are_cut_short(tmp_path: Path) -> None:
    path = write(tmp_path / "pool.avro", FIELDS, TABLE.to_pylist())
    whole = path.read_bytes()
    rows = read_rows(Avro(), path)
    with path.open("rb") as file:
        blocks = list(fastavro.block_reader(file))
    # Where a block ends a file may end.
    allowed = {block.offset for block in blocks}
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        if length in allowed:
            kept = read_rows(Avro(), path)
            assert kept == rows[: len(kept)]
            continue
        with pytest.raises(InputError) as error:
            read_rows(Avro(), path)
        assert str(error.value).startswith(f"{path}: ")
        assert "\n" not in str(error.value)
    path.write_bytes(whole[:-1])
    with pytest.raises(InputError, match=r"pool.avro: is cut short$"):
        read_rows(Avro(), path)


def test_broken_files(tmp_path: Path) -> None:
    path = write(tmp_path / "pool.avro", FIELDS, TABLE.to_pylist())
    whole = path.read_bytes()
    middle = len(whole) // 2
    for broken in (
        whole[:-3] + b"xyz",
        whole[:middle] + b"\xff" * 9 + whole[middle + 9 :],
        whole[:middle],
    ):
        path.write_bytes(broken)
        with pytest.raises(InputError, match=r"pool.avro: "):
            read_rows(Avro(), path)
    path.write_bytes(whole.replace(b"deflate", b"inflate"))
    with pytest.raises(InputError, match=r"pool.avro: cannot be read: .*inflate"):
        read_rows(Avro(), path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"pool.avro: cannot be read: .*is it an avro file"):
        inspect(path)


def test_files_without_rows_or_records(tmp_path: Path) -> None:
    path = write(tmp_path / "pool.avro", FIELDS, [])
    assert inspect(path).schema == TABLE.schema
    assert read_rows(Avro(), path) == []
    with path.open("wb") as file:
        fastavro.writer(file, "long", [1, 2])
    with pytest.raises(InputError, match=r"pool.avro: its values are no records"):
        inspect(path)
