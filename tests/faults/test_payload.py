"""What `prepare` accepts `sample` can write; what cannot be shown is an error of `prepare`."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.jobs import Jobs, Pool, make_pool

ROWS = 2000
BROKEN = 1777


def with_column(name: str, values: pa.Array) -> Pool:
    """A pool with one more column, or another one of that name."""
    pool = make_pool()
    index = pool.table.schema.get_field_index(name)
    if index < 0:
        return Pool(pool.table.append_column(name, values), pool.truth)
    return Pool(pool.table.set_column(index, name, values), pool.truth)


def not_utf8(kind: pa.DataType, text: str = "text {}") -> pa.Array:
    """Text whose value `BROKEN` is not UTF-8."""
    values = [text.format(row).encode() for row in range(ROWS)]
    values[BROKEN] = b"caf\xe9"
    binary = pa.array(values, pa.large_binary() if kind == pa.large_string() else pa.binary())
    return pa.Array.from_buffers(kind, ROWS, binary.buffers())


def counted(kind: pa.DataType, least: int = 0) -> pa.Array:
    width = pa.int32() if kind in (pa.date32(), pa.time32("ms")) else pa.int64()
    return pa.array(range(least, least + ROWS), width).cast(kind)


YEAR_10000 = 253_402_300_800
ODD = {
    "dates after 9999": counted(pa.date32(), 2_932_897),
    "timestamps after 9999": counted(pa.timestamp("s"), YEAR_10000),
    "zoned timestamps after 9999": counted(pa.timestamp("ms", "Europe/Zurich"), YEAR_10000 * 1000),
    "nanoseconds": counted(pa.timestamp("ns")),
    "times of nanoseconds": counted(pa.time64("ns")),
    "durations of nanoseconds": counted(pa.duration("ns")),
    "unknown zone": counted(pa.timestamp("us", "Mars/Base")),
    "lists of nanoseconds": pa.array([[row] for row in range(ROWS)]).cast(
        pa.list_(pa.timestamp("ns"))
    ),
    "structs": pa.array([{"a": row, "b": ["x", None]} for row in range(ROWS)]),
    "maps": pa.array([[("k", row)] for row in range(ROWS)], pa.map_(pa.string(), pa.int64())),
    "nulls": pa.nulls(ROWS),
    "views": pa.array([f"text {row}" for row in range(ROWS)], pa.string_view()),
    "bytes": pa.array([b"\xff%d" % row for row in range(ROWS)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("sink", ["csv", "jsonl", "parquet"])
def test_sample_writes_what_prepare_took(job: Jobs, sink: str) -> None:
    pool = make_pool()
    for name, values in ODD.items():
        pool = Pool(pool.table.append_column(name, values), pool.truth)
    one = job(pool, pool={"payload": list(ODD)}, sink={"format": sink})
    assert one.prepare(*([] if sink == "csv" else ["--in-process"])).status == 0
    sampled = one.sample().done
    path = Path(sampled.json["batch"])
    if sink == "csv":
        with path.open() as file:
            rows: list[dict[str, Any]] = list(csv.DictReader(file))
    elif sink == "jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        rows = pq.read_table(path).to_pylist()
    assert len(rows) == 20
    for name in ODD:
        shown = {row[name] for row in rows}
        assert len(shown) == (1 if name == "nulls" else 20), name


def test_ordinary_dates_are_shown_as_ever(job: Jobs) -> None:
    moments = counted(pa.timestamp("us", "UTC"), 1_714_521_600_000_000)
    ids = make_pool().table["id"].to_pylist()
    text = {id: str(at) for id, at in zip(ids, moments.to_pylist(), strict=True)}
    one = job(with_column("at", moments), pool={"payload": ["at"]})
    one.prepare("--in-process")
    one.sample()
    batch = one.batch(1)
    assert batch["payload.at"] == [text[id] for id in batch["id"]]


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        ("id", pa.string()),
        ("id", pa.large_string()),
        ("slice", pa.string()),
        ("payload", pa.string()),
        ("encoded", pa.string()),
        ("nested", pa.string()),
        ("prediction", pa.string()),
    ],
)
def test_text_that_is_not_utf8_is_named(job: Jobs, role: str, kind: pa.DataType) -> None:
    values, name = not_utf8(kind), "text"
    pool: dict[str, Any] = {"payload": ["text"]}
    if role == "id":
        name, pool = "id", {}
    elif role == "slice":
        pool = {"slices": ["text"]}
    elif role == "prediction":
        values, name, pool = not_utf8(kind, "no"), "prediction", {"payload": []}
    elif role == "encoded":
        values = pa.DictionaryArray.from_arrays(pa.array(range(ROWS), pa.int32()), values)
    elif role == "nested":
        values = pa.ListArray.from_arrays(pa.array(range(ROWS + 1), pa.int32()), values)
    keys = {"labels": {"classes": ["no", "yes"]}} if role == "prediction" else {}
    # Every row is kept, so that the broken one is among them.
    one = job(with_column(name, values), files=2, budget=ROWS, pool=pool, **keys)
    result = one.prepare(*([] if role == "payload" else ["--in-process"]))
    assert result.status == 1
    assert result.err.count("\n") == 1, result.err
    for words in ("part-1", f"column '{name}', row {BROKEN - 1000}: ", "UTF"):
        assert words in result.err
    assert not one.workspace.exists()
