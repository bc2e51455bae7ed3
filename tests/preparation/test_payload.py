"""The payload, read late: of the rows that were kept, from where they are, and nowhere else."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats import registry as formats
from evalsampling.pool.stored_columns import FILE, ROW
from evalsampling.preparation import payload
from evalsampling.preparation.reserve import Reserve
from evalsampling.spec import EvaluationSpec

ROWS = 1000


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Three files of groups of 60 rows, the names in one of them encoded."""
    bounds = [0, 130, 600, ROWS]
    for number in range(3):
        rows = np.arange(bounds[number], bounds[number + 1])
        names = pa.array([None if n % 7 == 0 else f"row {n}" for n in rows])
        table = {"id": rows, "score": rows / ROWS, "prediction": rows % 2, "size": -rows}
        table["name"] = names.dictionary_encode() if number == 1 else names
        pq.write_table(pa.table(table), tmp_path / f"{number}.parquet", row_group_size=60)
    pool = {"path": str(tmp_path / "*.parquet"), "payload": ["name", "size"]}
    return Catalog.read(EvaluationSpec.from_mapping({"pool": pool, "budget": 10}, tmp_path).reading)


def reserve_of(catalog: Catalog, kept: np.ndarray) -> Reserve:
    """A reserve of rows given by their places in the pool, in that order."""
    places = [(item.origin, item.first_row + n) for item in catalog.items for n in range(item.rows)]
    files, rows = zip(*(places[n] for n in kept), strict=True)
    table = pa.table({FILE: pa.array(files).dictionary_encode(), ROW: pa.array(rows)})
    return Reserve(10, table.append_column("number", pa.array(kept)))


@pytest.mark.parametrize("count", [1, 5, 300, ROWS])
def test_payload_of_any_rows_in_any_order(
    catalog: Catalog, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, int]] = []
    fetch = formats.read_batches

    def counting(item: Any, columns: Any) -> Any:
        read.append((item.origin, item.first_row))
        assert columns == ["name", "size"]
        return fetch(item, columns)

    monkeypatch.setattr(payload, "read_batches", counting)
    monkeypatch.setattr("evalsampling.pool.formats.parquet.BATCH_ROWS", 25)
    kept = np.random.default_rng(count).permutation(ROWS)[:count]
    monkeypatch.setattr(payload, "CHUNK_BYTES", 700)
    whole = reserve_of(catalog, kept)
    parts = [*payload.with_payload(whole, catalog.items, ["name", "size"])]
    assert len(parts) > count // 200
    assert all(len(part) <= 60 for part in parts)
    tables = [part.rows for part in parts if part.rows is not None]
    numbers = np.concatenate([table["number"].to_numpy() for table in tables])
    # In each part rows are as they were; here they are put together again.
    back = np.argsort(np.argsort(kept)[np.argsort(np.argsort(numbers))])
    found = pa.concat_tables(tables).take(pa.array(back))
    assert found["number"].to_pylist() == kept.tolist()
    assert found["payload.size"].to_pylist() == (-kept).tolist()
    names = [None if n % 7 == 0 else f"row {n}" for n in kept]
    assert found["payload.name"].to_pylist() == names
    starts = np.cumsum([0, *(item.rows for item in catalog.items)])
    groups = np.unique(np.searchsorted(starts, kept, side="right"))
    assert len(read) == len(set(read)) == len(groups)


def test_what_is_there_is_not_read_again(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = reserve_of(catalog, np.array([3, 2]))
    whole = Reserve(10, reserve.rows.append_column("payload.name", pa.array(["a", "b"])))
    monkeypatch.setattr(payload, "read_batches", None)
    assert [*payload.with_payload(whole, catalog.items, ["name"])] == [whole]
    none = Reserve(3)
    assert [*payload.with_payload(none, catalog.items, ["name"])] == [none]


def test_payload_that_a_worker_cannot_keep(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is known before anything is read, or else after the first chunk."""
    monkeypatch.setattr(payload, "CHUNK_BYTES", 700)
    monkeypatch.setattr("evalsampling.preparation.reserve.MOST_PAYLOAD_BYTES", 5_000)
    reserve = reserve_of(catalog, np.arange(ROWS))
    parts = payload.with_payload(reserve, catalog.items, ["name"])
    with pytest.raises(
        InputError, match=r"0\.parquet: the payload of the 1,000 rows kept of it is"
    ):
        next(parts)
    monkeypatch.setattr(payload, "read_batches", None)
    with pytest.raises(InputError, match="rows kept of it is"):
        next(payload.with_payload(reserve, catalog.items, ["name"]))
    monkeypatch.undo()
    monkeypatch.setattr(payload, "CHUNK_BYTES", 700)
    monkeypatch.setattr("evalsampling.preparation.reserve.MOST_PAYLOAD_BYTES", 5_000)
    monkeypatch.setattr(payload, "stored_bytes", lambda item, columns: 0)
    with pytest.raises(InputError, match="rows kept of it is"):
        next(payload.with_payload(reserve, catalog.items, ["name"]))
    few = reserve_of(catalog, np.arange(100))
    assert sum(map(len, payload.with_payload(few, catalog.items, ["name"]))) == 100
