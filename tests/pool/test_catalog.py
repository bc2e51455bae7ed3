"""What there is to read: files that go together, or one clear error."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats import parquet
from evalsampling.pool.formats.registry import read_batches
from evalsampling.spec import EvaluationSpec
from tests.jobs import Job, make_pool


def read(directory: Path, name: str = "*", **pool: Any) -> Catalog:
    content = {"pool": {"path": str(directory / name), **pool}, "budget": 10}
    return Catalog.read(EvaluationSpec.from_mapping(content, directory))


def test_items_cover_every_row_once(tmp_path: Path) -> None:
    make_pool(1000).write(tmp_path, files=3, group_rows=70)
    catalog = read(tmp_path)
    assert catalog.rows == 1000
    ends: dict[str, int] = {}
    for item in catalog.items:
        assert item.first_row == ends.get(item.origin, 0)
        assert item.path == item.origin == catalog.files[item.file].stored.path
        ends[item.origin] = item.first_row + item.rows
    assert sum(ends.values()) == 1000
    assert catalog.schema.names == ["id", "score", "prediction"]


def test_fingerprint_has_path_size_and_hash(tmp_path: Path) -> None:
    make_pool(100).write(tmp_path, files=2)
    expected = [
        # Files are small: of each, four times all of it.
        {"path": str(path), "size": path.stat().st_size, "blocks": digest(4 * path.read_bytes())}
        for path in sorted(tmp_path.iterdir())
    ]
    assert read(tmp_path).fingerprint == expected


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_giant_row_group_is_warned_of(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GIANT_ROWS", 999)
    one = job(files=2)
    prepared = one.prepare().json
    assert len(prepared["warnings"]) == 2
    for words in ("part-0.parquet", "row group of 1,000 rows", "one worker"):
        assert words in prepared["warnings"][0]
    assert one.prepare().json["warnings"] == prepared["warnings"]
    assert job(files=4).prepare().json["warnings"] == []


def test_formats_are_not_mixed(tmp_path: Path) -> None:
    make_pool(10).write(tmp_path)
    (tmp_path / "z.csv").write_text("id,score,prediction,name\n1,0.5,1,x\n")
    with pytest.raises(InputError, match=r"z\.csv: another format than .*part-0\.parquet"):
        read(tmp_path)


def test_files_of_other_types_do_not_go_together(tmp_path: Path) -> None:
    table = make_pool(10).table
    pq.write_table(table, tmp_path / "a.parquet")
    text = table.set_column(0, "id", table["id"].cast(pa.string()))
    pq.write_table(text, tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet: column 'id' has type string, but int64 in"):
        read(tmp_path)


JSON_LINES = '{{"id": {id}, "score": {score}, "prediction": 0, "note": {note}}}\n'


@pytest.mark.parametrize(
    ("lines", "types"),
    [
        ([(1, "0", "null"), (2, "0.5", '"a"')], ["int64", "double", "int64", "string"]),
        ([(1, "0", "null"), (2, "1", "null")], ["int64", "double", "int64", "string"]),
        ([(1, "0.5", "3"), (2, "1", "3.5")], ["int64", "double", "int64", "double"]),
        ([('"x"', "0.5", "true"), ('"y"', "1", "null")], ["string", "double", "int64", "bool"]),
    ],
)
def test_inferred_types_hold_for_all_files(
    tmp_path: Path, lines: list[tuple[Any, str, str]], types: list[str]
) -> None:
    """Scores that happen to be whole, columns that happen to be null, in one file of two."""
    for number, (id, score, note) in enumerate(lines):
        line = JSON_LINES.format(id=id, score=score, note=note)
        (tmp_path / f"{number}.jsonl").write_text(line)
    catalog = read(tmp_path, payload=["note"])
    assert [str(kind) for kind in catalog.schema.types] == types


def test_fields_that_a_file_does_not_have_are_null(tmp_path: Path) -> None:
    (tmp_path / "0.jsonl").write_text('{"id": 1, "score": 1, "prediction": 0}\n')
    (tmp_path / "1.jsonl").write_text(JSON_LINES.format(id=2, score=0.5, note='"x"'))
    catalog = read(tmp_path, payload=["note"])
    assert catalog.schema.field("note").type == pa.string()
    batches = [batch for item in catalog.items for batch in read_batches(item, ["note"])]
    assert [batch.any_column("note").to_pylist() for batch in batches] == [[None], ["x"]]
    with pytest.raises(InputError, match=r"0\.jsonl: column 'text' is missing"):
        read(tmp_path, payload=["text"])


def test_inferred_types_may_still_contradict(tmp_path: Path) -> None:
    (tmp_path / "0.jsonl").write_text(JSON_LINES.format(id=1, score=1, note=1))
    (tmp_path / "1.jsonl").write_text(JSON_LINES.format(id='"x"', score=1, note=1))
    with pytest.raises(InputError, match=r"1\.jsonl: column 'id' has type string, but int64"):
        read(tmp_path)
