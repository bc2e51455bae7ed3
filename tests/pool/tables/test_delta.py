"""Tables of Delta Lake: what the log says, and what is refused."""

import base64
import json
import struct
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from evalsampling import InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.source import planned_files
from evalsampling.spec import EvaluationSpec
from tests.pool.tables.reading import ids, pinned_spec, read, rows


def spec_of(folder: Path, where: str | None = None, **pool: Any) -> EvaluationSpec:
    version = pool.pop("version", None)
    table = {"delta": str(folder)} | ({} if version is None else {"version": version})
    return pinned_spec(table, where, pool)


def test_versions(tmp_path: Path) -> None:
    for begin in (0, 10, 20):
        write_deltalake(str(tmp_path / "t"), rows(begin, begin + 10), mode="append")
    assert spec_of(tmp_path / "t").pool.table.pinned == 2  # type: ignore[union-attr]
    assert ids(spec_of(tmp_path / "t", version=0)) == list(range(10))
    assert ids(spec_of(tmp_path / "t", version=1)) == list(range(20))
    with pytest.raises(InputError, match=r"version 9 is not there .*; the current one is 2$"):
        spec_of(tmp_path / "t", version=9)


def test_values_of_partitions_are_those_of_the_log(tmp_path: Path) -> None:
    day = pa.array([19000, None, 19002, 19002], pa.date32())
    table = rows(
        0, 4, place=["a b", "x/y=1", None, "é%20"], day=day, k=pa.array([1, 2, 3, 3], pa.int8())
    )
    write_deltalake(str(tmp_path / "t"), table, partition_by=["place", "day", "k"])
    names = ["id", "place", "day", "k"]
    spec = spec_of(tmp_path / "t", payload=names[1:])
    assert sorted(read(spec, names), key=lambda row: row["id"]) == table.select(names).to_pylist()
    assert ids(spec_of(tmp_path / "t", "day = '2022-01-10' AND place = 'é%20'")) == [3]
    assert len(planned_files(spec_of(tmp_path / "t", "k = 2").pool)) == 1


def test_columns_that_came_later(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), rows(0, 3))
    write_deltalake(
        str(tmp_path / "t"), rows(3, 5, new=["x", "y"]), mode="append", schema_mode="merge"
    )
    spec = spec_of(tmp_path / "t", payload=["new"])
    assert sorted((row["id"], row["new"]) for row in read(spec, ["id", "new"]) if row["new"]) == [
        (3, "x"), (4, "y"),
    ]  # fmt: skip
    assert ids(spec_of(tmp_path / "t", "new IS NULL")) == [0, 1, 2]
    assert [*read(spec, None)[0]] == ["id", "score", "prediction", "new"]


def test_fields_that_came_later(tmp_path: Path) -> None:
    kind = pa.struct([("p", pa.float64())])
    first = rows(0, 2, result=pa.array([{"p": 0.5}, None], kind))
    write_deltalake(str(tmp_path / "t"), first)
    kind = pa.struct([("p", pa.float64()), ("q", pa.string())])
    later = rows(2, 3, result=pa.array([{"p": 0.7, "q": "x"}], kind))
    write_deltalake(str(tmp_path / "t"), later, mode="append", schema_mode="merge")
    spec = spec_of(tmp_path / "t", payload=["result"])
    found = sorted(read(spec, ["id", "result"]), key=lambda row: row["id"])
    assert [row["result"] for row in found] == [
        {"p": 0.5, "q": None}, None, {"p": 0.7, "q": "x"},
    ]  # fmt: skip
    assert ids(spec_of(tmp_path / "t", "result.q IS NULL")) == [0, 1]
    assert ids(spec_of(tmp_path / "t", "result.q = 'x' OR result.p < 0.6")) == [0, 2]


@pytest.mark.parametrize("begin", ["file:", "file://", ""])
def test_files_of_another_table(tmp_path: Path, begin: str) -> None:
    """As a shallow clone has them, whose log has their URLs; that of Spark has one `/`."""
    write_deltalake(str(tmp_path / "source"), rows(0, 5))
    write_deltalake(str(tmp_path / "clone"), rows(0, 5))
    (path,) = (tmp_path / "source").glob("*.parquet")
    actions = _log(tmp_path / "clone", 0)
    for action in actions:
        if "add" in action:
            action["add"] |= {"path": f"{begin}{path}", "size": path.stat().st_size}
    _rewrite(tmp_path / "clone", 0, actions)
    (file,) = planned_files(spec_of(tmp_path / "clone").pool)
    assert file.stored.path == str(path)
    assert ids(spec_of(tmp_path / "clone")) == list(range(5))
    _with_feature(tmp_path / "clone", "deletionVectors", vector=True)
    with pytest.raises(InputError, match=r"clone at version 0: rows of .* are deleted by"):
        planned_files(spec_of(tmp_path / "clone").pool)


def test_types_that_were_widened(tmp_path: Path) -> None:
    """A file has a narrower type than the table, by a log written by hand."""
    write_deltalake(str(tmp_path / "t"), rows(0, 3, k=pa.array([1, 2, 3], pa.int32())))
    changed = _log(tmp_path / "t", 0)
    for action in changed:
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            schema["fields"][-1]["type"] = "long"
            action["metaData"]["schemaString"] = json.dumps(schema)
    _rewrite(tmp_path / "t", 0, changed)
    spec = spec_of(tmp_path / "t", "k > 1", payload=["k"])
    assert Catalog.read(spec.reading).schema.field("k").type == pa.int64()
    assert [row["k"] for row in read(spec, ["k"])] == [2, 3]


def test_files_without_a_wanted_row_are_not_read(tmp_path: Path) -> None:
    text = ["y" * 40 + "z", "b", None]
    for number in range(3):
        part = rows(number * 10, number * 10 + 10, name=[text[number]] * 10)
        part = part.set_column(1, "score", pc.add(part["score"].cast(pa.float32()), 0))
        write_deltalake(str(tmp_path / "t"), part, mode="append")
    for where, files in (
        ("id < 10", 1), ("id >= 15", 2), ("score > 0.195", 1), ("name IS NULL", 1),
        ("name > 'c'", 1), ("NOT id < 25", 1), ("NOT score < 0.25", 3), ("id > 3 OR name = 'b'", 3),
    ):  # fmt: skip
        items = list(Catalog.read(spec_of(tmp_path / "t", where).reading).items)
        assert len(items) == files, where
    assert ids(spec_of(tmp_path / "t", "score >= 0.05")) == list(range(5, 30))
    assert ids(spec_of(tmp_path / "t", f"name > '{'y' * 40}'")) == list(range(10))


def _log(folder: Path, version: int) -> list[dict[str, Any]]:
    text = (folder / "_delta_log" / f"{version:020d}.json").read_text()
    return [json.loads(line) for line in text.splitlines()]


def _rewrite(folder: Path, version: int, actions: list[dict[str, Any]]) -> None:
    lines = [json.dumps(action) for action in actions]
    (folder / "_delta_log" / f"{version:020d}.json").write_text("\n".join([*lines, ""]))


_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"


def _deletion_vector(row: int) -> dict[str, Any]:
    """A vector of one row, inline: an array of one bitmap, of one container, of one value."""
    bitmap = struct.pack("<IIHHIH", 12346, 1, 0, 0, 16, row)
    content = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    text = base64.b85encode(content + b"\0" * (-len(content) % 4)).decode()
    inline = text.translate(str.maketrans(_B85, _Z85))
    return {
        "storageType": "i",
        "pathOrInlineDv": inline,
        "sizeInBytes": len(content),
        "cardinality": 1,
    }


def _with_feature(folder: Path, feature: str, vector: bool = False) -> None:
    actions = _log(folder, 0)
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {
                "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [feature],
                "writerFeatures": [feature],
            }  # fmt: skip
        if "add" in action and vector:
            action["add"]["deletionVector"] = _deletion_vector(2)
    _rewrite(folder, 0, actions)


@pytest.mark.parametrize("partitions", [None, ["day"], ["id"]])
def test_dates_beyond_those_of_python(tmp_path: Path, partitions: list[str] | None) -> None:
    days = pa.array([4_000_000, None, 3], pa.int32()).cast(pa.date32())
    table = pa.table({"id": [1, 2, 3], "score": [0.5] * 3, "prediction": [1] * 3, "day": days})
    write_deltalake(tmp_path, table, partition_by=partitions)
    spec = spec_of(tmp_path, "day > DATE '9999-12-31' OR id = 3")
    batches = [b for item in Catalog.read(spec.reading).items for b in read_batches(item, ["id"])]
    assert {id for batch in batches for id in batch.rows["id"].to_pylist()} == {1, 3}


def test_deletion_vectors_are_refused(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), rows(0, 5))
    _with_feature(tmp_path / "t", "deletionVectors")
    assert ids(spec_of(tmp_path / "t")) == list(range(5)), "a table without any is read"
    _with_feature(tmp_path / "t", "deletionVectors", vector=True)
    with pytest.raises(InputError, match=r"REORG TABLE delta\.`.*/t` APPLY \(PURGE\) first$"):
        planned_files(spec_of(tmp_path / "t").pool)


def test_deletion_vectors_of_a_table_in_folders(tmp_path: Path) -> None:
    """Files without one are read, those with one are refused; the vector is that of one file."""
    folder, place = tmp_path / "t", ["a b", "a b", "é%/", "é%/", "é%/"]
    write_deltalake(str(folder), rows(0, 5, place=place), partition_by=["place"])
    _with_feature(folder, "deletionVectors")
    actions = _log(folder, 0)
    marked = next(a["add"] for a in actions if a.get("add", {}).get("path", "").count("%"))
    marked["deletionVector"] = _deletion_vector(1)
    _rewrite(folder, 0, actions)
    own, other = sorted(set(place), key=lambda each: each != marked["partitionValues"]["place"])
    assert ids(spec_of(folder, f"place = '{other}'")) == [n for n in range(5) if place[n] == other]
    with pytest.raises(InputError, match=r"rows of place=.* are deleted by a deletion vector"):
        planned_files(spec_of(folder, f"place = '{own}'").pool)


def test_column_mapping_is_refused(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), rows(0, 5))
    actions = _log(tmp_path / "t", 0)
    for action in actions:
        if "metaData" in action:
            action["metaData"]["configuration"]["delta.columnMapping.mode"] = "name"
            schema = json.loads(action["metaData"]["schemaString"])
            for place, field in enumerate(schema["fields"]):
                field["metadata"] = {
                    "delta.columnMapping.id": place + 1,
                    "delta.columnMapping.physicalName": f"col-{place}",
                }
            action["metaData"]["schemaString"] = json.dumps(schema)
    _rewrite(tmp_path / "t", 0, actions)
    _with_feature(tmp_path / "t", "columnMapping")
    with pytest.raises(InputError, match="has column mapping") as error:
        planned_files(spec_of(tmp_path / "t").pool)
    assert "\n" not in str(error.value)


def test_a_file_that_was_vacuumed(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), rows(0, 5))
    write_deltalake(str(tmp_path / "t"), rows(5, 9), mode="overwrite")
    DeltaTable(str(tmp_path / "t")).vacuum(
        retention_hours=0, enforce_retention_duration=False, dry_run=False
    )
    assert ids(spec_of(tmp_path / "t")) == [5, 6, 7, 8]
    with pytest.raises(
        InputError, match=r"no such file; .*/t at version 0 has it, so it was removed"
    ):
        planned_files(spec_of(tmp_path / "t", version=0).pool)


def test_an_empty_table(tmp_path: Path) -> None:
    schema = rows(0, 1).schema
    DeltaTable.create(str(tmp_path / "t"), schema)
    with pytest.raises(InputError, match="t: the pool is empty"):
        planned_files(spec_of(tmp_path / "t").pool)


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(InputError, match=r"needs deltalake: pip install 'evalsampling\[delta\]'"):
        spec_of(tmp_path)
