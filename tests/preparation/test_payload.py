"""The payload, read late: of the rows that were kept, from where they are, and nowhere else."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
    return Catalog.read(EvaluationSpec.from_mapping({"pool": pool, "budget": 10}, tmp_path))


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
        read.append((item.origin, item.begin))
        assert columns == ["name", "size"]
        return fetch(item, columns)

    monkeypatch.setattr(payload, "read_batches", counting)
    monkeypatch.setattr("evalsampling.pool.formats.parquet.BATCH_ROWS", 25)
    kept = np.random.default_rng(count).permutation(ROWS)[:count]
    found = payload.with_payload(reserve_of(catalog, kept), catalog.items, ["name", "size"]).rows
    assert found is not None
    assert found["number"].to_pylist() == kept.tolist()
    assert found["payload.size"].to_pylist() == (-kept).tolist()
    names = [None if n % 7 == 0 else f"row {n}" for n in kept]
    assert found["payload.name"].to_pylist() == names
    starts = np.cumsum([0, *(item.rows for item in catalog.items)])
    groups = np.unique(np.searchsorted(starts, kept, side="right"))
    assert len(read) == len(set(read)) == len(groups)


def test_what_is_there_is_not_read_again(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = reserve_of(catalog, np.array([3, 2]))
    assert reserve.rows is not None
    whole = Reserve(10, reserve.rows.append_column("payload.name", pa.array(["a", "b"])))
    monkeypatch.setattr(payload, "read_batches", None)
    assert payload.with_payload(whole, catalog.items, ["name"]) is whole
    assert payload.with_payload(Reserve.zero(3), catalog.items, ["name"]) == Reserve.zero(3)
