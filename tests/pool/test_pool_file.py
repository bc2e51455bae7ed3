"""Files that are not Parquet are imported once: whole, with the columns of the spec, by name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.files import StoredFile
from evalsampling.pool.formats.csv import Csv
from evalsampling.spec import EvaluationSpec
from tests.jobs import call, files_below

TEXT = "id,score,prediction,name,other\n1,0.5,1,a,x\n2,0.25,0,b,y\n"


def catalog(path: Path, **pool: Any) -> Catalog:
    content = {"pool": {"path": str(path), **pool}, "budget": 10}
    spec = EvaluationSpec.from_mapping(content, path.parent)
    return Catalog.read(spec, str(path.parent / "stored"))


def copies(folder: Path) -> list[Path]:
    return sorted((folder / "stored").glob("*.parquet"))


def test_the_columns_of_the_spec_are_imported_once(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text(TEXT)
    first = catalog(path, payload=["name"])
    (copy,) = copies(tmp_path)
    assert pq.read_table(copy).column_names == ["id", "score", "prediction", "name"]
    (item,) = first.items
    assert (item.path, item.origin, item.rows, item.untyped) == (str(copy), str(path), 2, True)
    assert first.fingerprint[0]["path"] == str(path)
    written = copy.stat().st_mtime_ns
    assert catalog(path, payload=["name"]).fingerprint == first.fingerprint
    assert [one.stat().st_mtime_ns for one in copies(tmp_path)] == [written]


def test_another_file_or_other_columns_are_imported_anew(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    for text, payload in ((TEXT, ["name"]), (TEXT, ["other"]), (TEXT.replace("1,a", "0,a"), [])):
        known = copies(tmp_path) if path.exists() else []
        path.write_text(text)
        (item,) = catalog(path, payload=payload).items
        assert Path(item.path) not in known
        assert pq.read_table(item.path)["prediction"][0].as_py() == text.splitlines()[1][6]
    assert len(copies(tmp_path)) == 3


def test_row_groups_without_a_wanted_row_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsampling.pool.stored_rows.BATCH_ROWS", 1)
    monkeypatch.setattr("evalsampling.pool.formats.text.BLOCK_BYTES", 8)
    path = tmp_path / "pool.csv"
    path.write_text(TEXT)
    found = catalog(path, where="name = 'b'")
    assert [(item.begin, item.first_row) for item in found.items] == [(1, 1)]
    assert found.rows == 2


def test_nothing_is_left_of_an_import_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text(TEXT + "3,0.5\n")
    with pytest.raises(InputError, match=r"pool\.csv: row 2: has 2 cells, not 5"):
        catalog(path)
    assert files_below(tmp_path / "stored") == {}


def test_a_file_that_changes_while_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is what is told of, not the row that was misread."""
    path, read = tmp_path / "pool.csv", Csv.read
    path.write_text(TEXT)

    def late(self: Csv, file: StoredFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        path.write_text(TEXT + "3,0.5\n")
        return read(self, file, schema)

    monkeypatch.setattr(Csv, "read", late)
    with pytest.raises(InputError, match=r"pool\.csv: has changed while it was read"):
        catalog(path)


def test_top_up_reads_the_copies_or_makes_them_anew(job: Any) -> None:
    one = job(files=2, budget=30)
    one.pool.with_text_ids().write_as("csv", one.directory / "text", files=2)
    one.spec.write_text(one.spec.read_text().replace("pool/*.parquet", "text/*.csv"))
    assert one.prepare("--in-process").status == 0
    stored = files_below(one.workspace / "stored")
    assert len(stored) == 2
    for path in copies(one.workspace):
        path.unlink()
    assert one.prepare("--top-up", 300).status == 0
    assert files_below(one.workspace / "stored") == stored
    assert call("status", "--verify", one.workspace).status == 0
