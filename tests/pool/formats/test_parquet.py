"""Parquet files: batches of bounded size, whatever the columns hold."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats import parquet
from evalsampling.pool.formats.registry import read_batches
from evalsampling.spec import EvaluationSpec

ROWS = 5000


def catalog_of(table: pa.Table, path: Path, payload: list[str], **options: Any) -> Catalog:
    table = table.append_column("id", pa.array(np.arange(len(table))))
    table = table.append_column("score", pa.array(np.zeros(len(table))))
    table = table.append_column("prediction", pa.array(np.zeros(len(table), np.int8)))
    pq.write_table(table, path, **options)
    pool = {"path": str(path), "payload": payload}
    return Catalog.read(EvaluationSpec.from_mapping({"pool": pool, "budget": 1}, path.parent))


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


@pytest.mark.parametrize("large", [False, True])
def test_large_row_groups_are_read_by_the_buffer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
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
    rng = np.random.default_rng(0)
    table = pa.table({"noise": rng.random(ROWS)})
    catalog = catalog_of(table, tmp_path / "a.parquet", ["noise"], row_group_size=2000)
    batches = [b for item in catalog.items for b in read_batches(item, ["noise", "id"])]
    read = pa.concat_arrays([batch.any_column("noise") for batch in batches])
    assert read.to_pylist() == table["noise"].to_pylist()
    assert [options["pre_buffer"] for options in made] == [not large] * 3
    assert [options["buffer_size"] > 0 for options in made] == [large] * 3


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
