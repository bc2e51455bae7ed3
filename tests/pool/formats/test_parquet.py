"""Parquet files: batches of bounded size, whatever the columns hold."""

import datetime
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats import parquet
from evalsampling.pool.formats.registry import read_batches
from evalsampling.spec import EvaluationSpec
from tests.jobs import make_rich_pool

ROWS = 5000


def catalog_of(table: pa.Table, path: Path, payload: list[str], **options: Any) -> Catalog:
    table = table.append_column("id", pa.array(np.arange(len(table))))
    table = table.append_column("score", pa.array(np.zeros(len(table))))
    table = table.append_column("prediction", pa.array(np.zeros(len(table), np.int8)))
    pq.write_table(table, path, **options)
    pool = {"path": str(path), "payload": payload}
    return Catalog.read(
        EvaluationSpec.from_mapping({"pool": pool, "budget": 1}, path.parent).reading
    )


@pytest.mark.parametrize("name", ["text", "doc.text", "doc"])
def test_long_text_comes_in_small_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Also of columns with a dot in their names, and of nested ones."""
    monkeypatch.setattr(parquet, "BATCH_BYTES", 100_000)
    texts = pa.array([f"{row:06d}" * 20 for row in range(ROWS)])
    column = pa.StructArray.from_arrays([texts], ["inner"]) if name == "doc" else texts
    catalog = catalog_of(pa.table({name: column}), tmp_path / "a.parquet", [name])
    batches = [batch for item in catalog.items for batch in read_batches(item, [name])]
    assert max(map(len, batches)) < 1000
    assert sum(map(len, batches)) == ROWS
    ids = [batch for item in catalog.items for batch in read_batches(item, ["id"])]
    assert [len(batch) for batch in ids] == [ROWS]


@pytest.mark.slow
def test_text_that_comes_again_stays_encoded_until_rows_are_taken(tmp_path: Path) -> None:
    texts = [f"{row % 7}" * 50_000 for row in range(ROWS)]
    catalog = catalog_of(pa.table({"text": texts}), tmp_path / "a.parquet", ["text"])
    (item,) = catalog.items
    before = pa.total_allocated_bytes()
    (batch,) = read_batches(item, ["text"])
    assert pa.types.is_dictionary(batch.rows.schema.field("text").type)
    assert pa.total_allocated_bytes() - before < 10_000_000 < sum(map(len, texts))
    taken = batch.payload("text", np.array([3, 4999]))
    assert taken.type == pa.string()
    assert taken.to_pylist() == [texts[3], texts[4999]]


@pytest.mark.parametrize(("large", "stored"), [(False, True), (True, True), (False, False)])
def test_large_row_groups_of_a_store_and_all_of_this_machine_are_read_by_the_buffer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool, stored: bool
) -> None:
    """That changes the way of reading alone."""
    made: list[dict[str, Any]] = []
    parquet_file = pq.ParquetFile

    def recording(source: Any, **options: Any) -> Any:
        if "pre_buffer" in options:  # Else it is the footer alone.
            made.append(options)
        return parquet_file(source, **options)

    monkeypatch.setattr(pq, "ParquetFile", recording)
    monkeypatch.setattr(parquet, "LARGE_BYTES", 1000 if large else 1 << 28)
    monkeypatch.setattr(parquet, "is_url", lambda _: stored)
    rng = np.random.default_rng(0)
    table = pa.table({"noise": rng.random(ROWS)})
    catalog = catalog_of(table, tmp_path / "a.parquet", ["noise"], row_group_size=2000)
    batches = [b for item in catalog.items for b in read_batches(item, ["noise", "id"])]
    read = pa.concat_arrays([batch.any_column("noise") for batch in batches])
    assert read.to_pylist() == table["noise"].to_pylist()
    buffered = large or not stored
    assert [options["pre_buffer"] for options in made] == [not buffered] * 3
    assert [options["buffer_size"] > 0 for options in made] == [buffered] * 3


def test_many_small_row_groups_are_read_together(tmp_path: Path) -> None:
    """The footer of a file, which grows with its row groups, is read once for each split."""
    # Text of some row groups stays encoded, and that of others does not.
    text = [f"{row} {'x' * 900}" if 2000 <= row < 3000 else "same" for row in range(ROWS)]
    table = pa.table({"text": text})
    catalog = catalog_of(table, tmp_path / "a.parquet", ["text"], row_group_size=10)
    items = list(catalog.items)
    assert [(item.first_row, item.rows) for item in items[-2:]] == [(4880, 80), (4960, 40)]
    assert len(items) == 63
    batches = [batch for item in items for batch in read_batches(item, ["id", "text"])]
    ids = pa.concat_arrays([batch.any_column("id") for batch in batches])
    assert ids.to_pylist() == list(range(ROWS))
    assert [t for b in batches for t in b.rows["text"].cast(pa.string()).to_pylist()] == text


def test_a_row_group_of_many_bytes_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GIANT_BYTES", 10_000)
    table = pa.table({"noise": np.random.default_rng(0).random(ROWS)})
    (warning,) = catalog_of(table, tmp_path / "a.parquet", ["noise"]).warnings
    assert "a.parquet: a row group of 5,000 rows and 0 MB is read by one worker" in warning


def test_views_are_read_as_what_they_show(tmp_path: Path) -> None:
    """Arrow files say so in their schema; few functions know views."""
    table = pa.table({"text": pa.array(["a", None, "long enough to be no inline value"] * 9)})
    view = table.cast(pa.schema([("text", pa.string_view())]))
    catalog = catalog_of(view, tmp_path / "a.parquet", ["text"])
    (item,) = catalog.items
    (batch,) = read_batches(item, ["text"])
    assert batch.payload("text", np.array([2, 1])).to_pylist() == [table["text"][2].as_py(), None]


def test_times_of_96_bits_are_right_in_all_years(tmp_path: Path) -> None:
    """As Spark writes them; nanoseconds of 64 bits end with the year 2262."""
    times = [datetime.datetime(9999, 12, 31), datetime.datetime(1, 1, 1, 0, 0, 0, 1), None]
    table = pa.table({"until": pa.array(times, pa.timestamp("us"))})
    catalog = catalog_of(
        table, tmp_path / "a.parquet", ["until"], use_deprecated_int96_timestamps=True
    )
    (item,) = catalog.items
    (batch,) = read_batches(item, ["until"])
    assert batch.rows.schema.field("until").type == catalog.schema.field("until").type
    assert batch.any_column("until").to_pylist() == times


# --- damaged files

RICH_ROWS = 300
RICH_COLUMNS = ["id", "score", "name", "city", "nested"]


def rich_table() -> pa.Table:
    rich = make_rich_pool(RICH_ROWS).table.rename_columns(
        [name if name != "s0.score" else "score" for name in make_rich_pool(1).table.column_names]
    )
    nested = pa.array([{"a": [n, None], "b": f"text {n % 3}"} for n in range(RICH_ROWS)])
    return rich.append_column("nested", nested)


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", b"PAR1PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"PAR1\0\0\0\0PAR1", b"x" * 99],
)
def test_what_is_no_parquet_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pool.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"pool\.parquet: cannot be read") as error:
        read_all(path)
    assert "\n" not in str(error.value)


def read_all(path: Path) -> int:
    """Read a pool as `prepare` does; return its rows."""
    content = {"pool": {"path": str(path), "payload": ["name", "nested"], "slices": ["city"]}}
    content["pool"]["prediction"] = "s0.prediction"
    catalog = Catalog.read(
        EvaluationSpec.from_mapping({**content, "budget": 9}, str(path.parent)).reading
    )
    rows = 0
    for item in catalog.items:
        for batch in read_batches(item, RICH_COLUMNS):
            rows += len(batch)
            every = np.arange(len(batch))
            batch.ids("id")
            assert {len(batch.payload(name, every)) for name in ("name", "nested", "city")} == {
                len(batch)
            }
    return rows


def test_a_column_of_a_row_group_that_the_schema_has_not(tmp_path: Path) -> None:
    path = tmp_path / "pool.parquet"
    pq.write_table(rich_table(), path)
    content = path.read_bytes()
    before, after = b"nested\x01b", b"nested\x01f"
    assert content.count(before) == 1
    path.write_bytes(content.replace(before, after))
    with pytest.raises(InputError, match=r"pool\.parquet: cannot be read: .*nested\.f.* no schema"):
        read_all(path)


def damaged(content: bytes, begin: int, end: int, count: int) -> Iterator[bytes]:
    """Yield contents of which a bit is flipped, or some bytes are changed, lost or put in."""
    draw = random.Random(3)
    for _ in range(count):
        changed, place = bytearray(content), draw.randrange(begin, end)
        how = draw.random()
        if how < 0.6:
            changed[place] ^= 1 << draw.randrange(8)
        elif how < 0.8:
            changed[place] = draw.choice([0, 1, 127, 128, 255])
        elif how < 0.9:
            del changed[place]
        else:
            changed.insert(place, draw.randrange(256))
        yield bytes(changed)


def check(path: Path, count: int) -> None:
    pq.write_table(rich_table(), path, row_group_size=100, write_page_checksum=True)
    content = path.read_bytes()
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    told = []
    for changed in damaged(content, 4, begin, count):
        path.write_bytes(changed)
        try:
            assert 0 <= read_all(path) <= RICH_ROWS
        except InputError as error:
            told.append(str(error))
    assert len(told) > count // 5
    assert not [line for line in told if "pool.parquet" not in line or "\n" in line]


def test_damaged_pages_are_told_of_in_one_line(tmp_path: Path) -> None:
    check(tmp_path / "pool.parquet", 150)


@pytest.mark.slow
def test_much_damaged_pages_are_told_of_in_one_line(tmp_path: Path) -> None:
    check(tmp_path / "pool.parquet", 2000)
