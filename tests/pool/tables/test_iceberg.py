"""Tables of Iceberg: snapshots, schemas that changed, and what is refused."""

import datetime
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog as IcebergCatalog
from pyiceberg.catalog import load_catalog
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import DataScan, FileScanTask
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, StringType

from evalsampling import InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.source import pinned, planned_files
from evalsampling.pool.tables import iceberg
from evalsampling.pool.tables.iceberg import ICEBERG
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.where import read_where
from tests.pool.tables.reading import ids, pinned_spec, read, rows
from tests.sql_conditions import satisfying, some_condition, some_rows
from tests.tables import catalog_of


@pytest.fixture
def catalog(tmp_path: Path) -> IcebergCatalog:
    made = load_catalog("default", **catalog_of(tmp_path / "lake"))
    made.create_namespace("db")
    return made


def spec_of(folder: Path, where: str | None = None, **pool: Any) -> EvaluationSpec:
    table: dict[str, Any] = {"iceberg": "db.t", "catalog": catalog_of(folder / "lake")}
    if "snapshot" in pool:
        table["snapshot"] = pool.pop("snapshot")
    return pinned_spec(table, where, pool)


def test_snapshots(catalog: IcebergCatalog, tmp_path: Path) -> None:
    table = catalog.create_table("db.t", schema=rows(0, 1).schema)
    numbers = []
    for begin in (0, 10):
        table.append(rows(begin, begin + 10))
        numbers.append(table.current_snapshot().snapshot_id)  # type: ignore[union-attr]
    assert ids(spec_of(tmp_path)) == list(range(20))
    first = spec_of(tmp_path, snapshot=numbers[0])
    assert ids(first) == list(range(10))
    assert first.pool.table.pinned["snapshot"] == numbers[0]  # type: ignore[union-attr]
    with pytest.raises(
        InputError, match=f"snapshot 7 is not there .*; the current one is {numbers[1]}"
    ):
        spec_of(tmp_path, snapshot=7)
    table.maintenance.expire_snapshots().by_id(numbers[0]).commit()
    with pytest.raises(InputError, match=f"snapshot {numbers[0]} is not there or has expired"):
        planned_files(first.pool)


def test_columns_are_those_of_the_schema_by_their_numbers(
    catalog: IcebergCatalog, tmp_path: Path
) -> None:
    old = rows(0, 3, k=pa.array([1, 2, 3], pa.int32()), f=pa.array([0.1, 0.2, 0.3], pa.float32()),
               gone=["x"] * 3)  # fmt: skip
    table = catalog.create_table("db.t", schema=old.schema)
    table.append(old)
    before = table.current_snapshot().snapshot_id  # type: ignore[union-attr]
    with table.update_schema() as update:
        update.rename_column("score", "chance")
        update.update_column("k", field_type=LongType())
        update.update_column("f", field_type=DoubleType())
        update.delete_column("gone")
        update.add_column("new", StringType())
    with table.update_schema() as update:
        update.add_column("gone", LongType())
    keys = {"score": "chance", "payload": ["k", "f", "new", "gone"]}
    names = ["id", "chance", *keys["payload"]]
    renamed_alone = read(spec_of(tmp_path, **keys), names)
    assert renamed_alone[0] == {
        "id": 0, "chance": 0.0, "k": 1, "f": np.float32(0.1).item(), "new": None, "gone": None,
    }  # fmt: skip
    later = pa.table(
        {"id": [3], "chance": [0.5], "prediction": [1], "k": [2**40], "f": [0.7], "new": ["n"],
         "gone": [9]}
    )  # fmt: skip
    table.append(later)
    spec = spec_of(tmp_path, **keys)
    assert Catalog.read(spec.reading).schema.field("k").type == pa.int64()
    wanted = later.select(names).to_pylist()[0]
    assert sorted(read(spec, names), key=lambda row: row["id"])[3] == wanted
    for where, expected in (
        ("k > 2", [2, 3]), ("k = 2", [1]), ("f > 0.25", [2, 3]), ("new IS NULL", [0, 1, 2]),
        ("chance >= 0.02", [2, 3]), ("gone = 9", [3]), ("NOT k > 2", [0, 1]),
    ):  # fmt: skip
        assert ids(spec_of(tmp_path, where, **keys)) == expected, where
    first = spec_of(tmp_path, "gone = 'x' AND score < 0.02", snapshot=before, payload=["gone"])
    assert ids(first) == [0, 1], "an older snapshot has the columns of its time"


def test_fields_are_those_of_the_schema_by_their_numbers(
    catalog: IcebergCatalog, tmp_path: Path
) -> None:
    """A field was renamed, and another one has its name now."""
    result = [{"price": float(n), "count": n} for n in range(3)]
    kind = pa.struct([("price", pa.float64()), ("count", pa.int32())])
    marks = [[{"k": 1}]] * 3
    first = rows(0, 3, result=pa.array(result, kind), marks=marks)
    table = catalog.create_table("db.t", schema=first.schema)
    table.append(first)
    with table.update_schema() as update:
        update.rename_column("result.price", "old")
        update.update_column("result.count", field_type=LongType())
    with table.update_schema() as update:
        update.add_column(("result", "price"), DoubleType())
        update.add_column(("result", "extra"), StringType())
    kind = pa.struct([("old", pa.float64()), ("count", pa.int64()), ("price", pa.float64()),
                      ("extra", pa.string())])  # fmt: skip
    later = [{"old": 9.5, "count": 2**40, "price": 0.5, "extra": "e"}, None]
    table.append(rows(3, 5, result=pa.array(later, kind), marks=marks[:2]))
    names = ["id", "result.price", "result.old", "result.count", "result.extra"]
    spec = spec_of(tmp_path, payload=names[1:])
    wanted = [(n, None, float(n), n, None) for n in range(3)]
    wanted += [(3, 0.5, 9.5, 2**40, "e"), (4, None, None, None, None)]
    read_rows = sorted(read(spec, names), key=lambda row: row["id"])
    assert [tuple(row[name] for name in names) for row in read_rows] == wanted
    whole = sorted(read(spec_of(tmp_path, payload=["result"]), ["id", "result"]), key=str)
    assert [row["result"] for row in whole] == [
        *({"old": float(n), "count": n, "price": None, "extra": None} for n in range(3)), *later,
    ]  # fmt: skip
    for where, expected in (
        ("result.price IS NULL", [0, 1, 2, 4]), ("result.price < 1", [3]),
        ("result.old >= 1", [1, 2, 3]), ("result.extra = 'e'", [3]), ("result.count = 2", [2]),
    ):  # fmt: skip
        assert ids(spec_of(tmp_path, where)) == expected, where
    with table.update_schema() as update:
        update.rename_column("marks.element.k", "l")
    marked = read(spec_of(tmp_path, payload=["marks"]), ["marks"])
    assert [row["marks"] for row in marked] == [[{"l": 1}]] * 5


def test_partitions_and_statistics_leave_files_out(catalog: IcebergCatalog, tmp_path: Path) -> None:
    day = [datetime.date(2024, 1, 1 + n % 3) for n in range(30)]
    moment = pa.array(
        [datetime.datetime(2024, 1, 1 + n // 10, 12) for n in range(30)], pa.timestamp("us")
    )
    place = [["a b", "é", None][n % 3] for n in range(30)]
    table = rows(0, 30, day=day, moment=moment, place=place)
    made = catalog.create_table("db.t", schema=table.schema)
    with made.update_spec() as spec:
        spec.add_identity("place")
        spec.add_identity("day")
    for begin in (0, 10, 20):
        made.append(table.slice(begin, 10))
    names = ["id", "day", "moment", "place"]
    everything = sorted(
        read(spec_of(tmp_path, payload=names[1:]), names), key=lambda row: row["id"]
    )
    assert everything == table.select(names).to_pylist()
    # To Iceberg null is not equal to 'é': its file is planned, and left out by our own ranges.
    for where, files, count in (
        ("place = 'é'", 3, 10), ("place IS NULL", 3, 10), ("day >= '2024-01-03'", 3, 10),
        ("id < 10", 3, 10), ("score >= 0.25", 3, 5),
        ("moment > TIMESTAMP '2024-01-02 13:00:00'", 3, 10),
        ("NOT (place = 'é' OR id < 20)", 2, 3), ("id = 7 AND place = 'é'", 1, 1),
    ):  # fmt: skip
        chosen = spec_of(tmp_path, where)
        assert len(planned_files(chosen.pool)) == files, where
        assert len(ids(chosen)) == count, where


def test_a_null_in_a_partition_under_or(catalog: IcebergCatalog, tmp_path: Path) -> None:
    """It ends pyiceberg's evaluation of what is left of the condition with a `TypeError`."""
    table = rows(0, 4, place=pa.array([1, None, 7, None]))
    made = catalog.create_table("db.t", schema=table.schema)
    with made.update_spec() as spec:
        spec.add_identity("place")
    made.append(table)
    for where, files in (
        ("place < 5 OR id = 3", [0, 3]), ("NOT (place >= 5 AND id < 3)", [0, 3]), ("place > 5", [2])
    ):  # fmt: skip
        assert [row["id"] for row in read(spec_of(tmp_path, where), ["id"])] == files


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [(), ("whole", "time"), ("text", "flag")])
def test_no_row_is_lost(
    catalog: IcebergCatalog, tmp_path: Path, partitions: tuple[str, ...]
) -> None:
    """Files of one row each, and conditions of all kinds: planned are all with a wanted row."""
    rng = np.random.default_rng(2)
    names = ["whole", "number", "narrow", "text", "flag", "long", "money", "time"]
    rows = some_rows(rng, 6, names)
    rows = rows.set_column(1, "whole", rows["whole"].cast(pa.int32()))
    made = catalog.create_table("db.t", schema=rows.schema)
    with made.update_spec() as parted:
        for name in partitions:
            parted.add_identity(name)
    for place in range(len(rows)):
        made.append(rows.slice(place, 1))
    spec = spec_of(tmp_path).pool.table
    assert spec is not None
    for _ in range(25):
        where = some_condition(rng, names)
        planned = {
            pq.read_table(file.stored.path)["row"][0].as_py()
            for file in ICEBERG.plan(spec, read_where(where))
        }
        assert planned.issuperset(satisfying(rows, where)), where


def test_deleted_rows(
    catalog: IcebergCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows deleted by their places are not of the pool; what pyiceberg cannot plan is refused."""
    made = catalog.create_table("db.t", schema=rows(0, 1).schema)
    made.append(rows(0, 5))
    own, deletes = DataScan.plan_files, tmp_path / "deletes.parquet"
    (task,) = made.scan().plan_files()
    places = {"file_path": [task.file.file_path] * 2, "pos": [1, 3]}
    pq.write_table(pa.table(places), deletes)
    deleted = DataFile.from_args(
        _table_format_version=2, content=DataFileContent.POSITION_DELETES, file_path=str(deletes),
        file_format=FileFormat.PARQUET, partition=Record(), record_count=2,
        file_size_in_bytes=deletes.stat().st_size,
    )  # fmt: skip

    def with_deletes(scan: DataScan) -> list[FileScanTask]:
        return [FileScanTask(task.file, delete_files={deleted}) for task in own(scan)]

    def refused(_: DataScan) -> list[FileScanTask]:
        raise ValueError("PyIceberg does not yet support equality deletes")

    monkeypatch.setattr(DataScan, "plan_files", with_deletes)
    assert ids(spec_of(tmp_path)) == [0, 2, 4]
    monkeypatch.setattr(DataScan, "plan_files", refused)
    with pytest.raises(InputError, match=r"run CALL system\.rewrite_data_files") as error:
        planned_files(spec_of(tmp_path).pool)
    assert "\n" not in str(error.value)


def test_the_rows_of_a_snapshot_are_imported_once(
    catalog: IcebergCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is a warning of a file that is large."""
    made = catalog.create_table("db.t", schema=rows(0, 1).schema)
    made.append(rows(0, 5))
    spec, kept = spec_of(tmp_path), str(tmp_path / "kept")
    first = Catalog.read(spec.reading, kept)
    made.append(rows(5, 9))
    monkeypatch.setattr(ArrowScan, "to_record_batches", None)
    monkeypatch.setattr(iceberg, "_LARGE_BYTES", 100)
    again = Catalog.read(spec.reading, kept)
    assert (again.rows, again.fingerprint) == (5, first.fingerprint)
    assert [file.path for file in again.files] == [file.path for file in first.files]
    assert first.warnings == []
    assert "are read by one worker at once; let the table rewrite it" in again.warnings[0]


def test_a_file_that_is_gone(catalog: IcebergCatalog, tmp_path: Path) -> None:
    made = catalog.create_table("db.t", schema=rows(0, 1).schema)
    made.append(rows(0, 5))
    spec = spec_of(tmp_path)
    next((tmp_path / "lake").rglob("*.parquet")).unlink()
    with pytest.raises(InputError, match=r"no such file; db\.t at snapshot \d+ has it"):
        planned_files(spec.pool)


def test_a_file_that_does_not_number_its_columns(catalog: IcebergCatalog, tmp_path: Path) -> None:
    """As files that were added to a table and not written by it."""
    made = catalog.create_table("db.t", schema=rows(0, 1).schema)
    made.append(rows(0, 5))
    pq.write_table(rows(0, 5), next((tmp_path / "lake").rglob("*.parquet")))
    with pytest.raises(InputError, match=r"\.parquet: cannot be read: .*field-ids") as error:
        Catalog.read(spec_of(tmp_path).reading)
    assert "\n" not in str(error.value)


def test_what_a_catalog_does_not_have(catalog: IcebergCatalog, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^db\.t: the catalog default has no such table$"):
        spec_of(tmp_path)
    catalog.create_table("db.t", schema=rows(0, 1).schema)
    with pytest.raises(InputError, match=r"^db\.t: the pool is empty$"):
        spec_of(tmp_path)
    content = {"table": {"iceberg": "db.t", "catalog": "nowhere"}}
    with pytest.raises(InputError, match=r"^db\.t: the catalog nowhere cannot be asked: ") as error:
        pinned(EvaluationSpec.from_mapping({"pool": content}, "/").pool)
    assert "\n" not in str(error.value)


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    with pytest.raises(InputError, match=r"needs pyiceberg: pip install 'evalsampling\[iceberg\]'"):
        spec_of(tmp_path)
