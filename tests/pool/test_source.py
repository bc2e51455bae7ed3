"""Partitions of Hive: the columns and types that Arrow gives them."""

import dataclasses
import datetime
import types
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.files import find_files
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.layout import PlannedFile
from evalsampling.pool.sampled_columns import look_at
from evalsampling.pool.source import partitioned
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.tables import TableSpec
from evalsampling.spec.where import read_where


def written(root: Path, folders: list[str], *tables: pa.Table) -> str:
    """Write a file into each folder; ids are the numbers of files unless tables are given."""
    for number, folder in enumerate(folders):
        (root / folder).mkdir(parents=True, exist_ok=True)
        rows = {"id": [number], "score": [0.5], "prediction": [1]}
        table = tables[number] if tables else pa.table(rows)
        pq.write_table(table, root / folder / f"{number}.parquet")
    return f"{root}/**/*.parquet"


def catalog(pattern: str, **pool: Any) -> Catalog:
    content = {"pool": {"path": pattern, **pool}, "budget": 10}
    return Catalog.read(EvaluationSpec.from_mapping(content, "/").reading)


def rows_of(pool: Catalog, columns: list[str] | None) -> list[dict[str, Any]]:
    return [
        row for item in pool.items for batch in read_batches(item, columns)
        for row in batch.rows.to_pylist()
    ]  # fmt: skip


FOLDERS = {
    "text and numbers": ["c=DE/y=2020", "c=FR/y=2021"], "zeros in front": ["y=01", "y=2"],
    "null": ["y=1", "y=__HIVE_DEFAULT_PARTITION__"],
    "too large for 32 bits": ["y=3000000000", "y=1"],
    "ends of 32 bits": ["y=2147483647", "y=-2147483648"], "plus": ["y=-5", "y=+1"],
    "fractions": ["y=1.5", "y=1"], "encoded": ["y=a%20b%2Fc", "y=é"], "nothing": ["y=", "y=1"],
    "truth values": ["y=true", "y=false"], "folders between": ["y=1/plain/z=3", "y=4/plain/z=5"],
    "one name twice": ["y=1/y=2", "y=3/y=4"],
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_columns_are_those_of_arrow(tmp_path: Path, name: str) -> None:
    pattern = written(tmp_path, FOLDERS[name])
    expected = pyarrow.dataset.dataset(tmp_path, partitioning="hive").to_table()
    names = [name for name in expected.column_names if name not in ("score", "prediction")]
    pool = catalog(pattern, payload=names[1:])
    assert pool.schema.field(names[1]).type == expected.schema.field(names[1]).type
    assert sorted(rows_of(pool, names), key=str) == sorted(
        expected.select(names).to_pylist(), key=str
    )


def test_constants_alone_are_read(tmp_path: Path) -> None:
    table = pa.table({"id": [3, 4], "score": [0.5] * 2, "prediction": [1] * 2})
    pool = catalog(written(tmp_path, ["y=7"], table), payload=["y"])
    assert rows_of(pool, ["y"]) == [{"y": 7}, {"y": 7}]
    assert list(rows_of(pool, None)[0]) == ["id", "score", "prediction", "y"]


def test_files_that_the_condition_leaves_may_have_no_rows(tmp_path: Path) -> None:
    """The message names the condition: without it the pool has a row."""
    table = pa.table({"id": [3], "score": [0.5], "prediction": [1]})
    pattern = written(tmp_path, ["y=1", "y=2"], table, table.slice(0, 0))
    with pytest.raises(InputError, match=r"^pool\.where: no row of .* satisfies y = 2$"):
        catalog(pattern, where="y = 2")


def test_a_path_that_lacks_a_partition(tmp_path: Path) -> None:
    """Arrow takes a null there; here all files have all columns."""
    with pytest.raises(InputError, match=r"1\.parquet: column 'y' is missing"):
        catalog(written(tmp_path, ["y=1", "z=1"]), payload=["y"])


def test_files_without_a_wanted_row_are_not_opened(tmp_path: Path) -> None:
    written(tmp_path, ["c=DE/y=2020", "c=DE/y=2021", "c=FR/y=2021"])
    files = find_files(f"{tmp_path}/**/*.parquet")
    for where, expected in (
        ("c = 'DE'", ["0", "1"]),
        ("c = 'DE' AND y > 2020", ["1"]),
        ("y BETWEEN 1990 AND 2000", []),
        ("c = 'FR' OR score > 3", ["0", "1", "2"]),
        ("c = 3", ["0", "1", "2"]),  # Which is refused where types are checked.
    ):
        kept = partitioned(files, read_where(where))
        assert [Path(file.stored.path).stem for file in kept] == expected, where


def pair(text: Any, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table(
        {"id": [1, 2], "score": [0.5] * 2, "prediction": [1] * 2, "m": pa.array([text] * 2, kind)}
    )


@pytest.mark.parametrize(
    ("folder", "table"),
    [
        ("m=07", pair("07")),
        ("m=7", pair(7)),
        ("m=7", pair(7.0)),
        ("m=x", pair("x")),
        ("m=__HIVE_DEFAULT_PARTITION__", pair(None, pa.string())),
    ],
)
def test_a_column_of_the_path_that_the_file_has_too(
    tmp_path: Path, folder: str, table: pa.Table
) -> None:
    """The file's type counts; Arrow refuses another type than that of the path."""
    pool = catalog(written(tmp_path, [folder], table), payload=["m"])
    assert rows_of(pool, ["m"]) == table.select(["m"]).to_pylist()


@pytest.mark.parametrize(
    ("folder", "table", "problem"),
    [
        ("m=8", pair(7), "has 7, but the path of the file 8"),
        ("m=7", pair("x"), "has 'x', but the path of the file 7"),
        ("m=x", pair("y"), "has 'y', but the path of the file 'x'"),
        ("m=x", pair(None, pa.string()), "has None, but the path of the file 'x'"),
        ("m=__HIVE_DEFAULT_PARTITION__", pair("x"), "has 'x', but the path of the file None"),
    ],
)
def test_a_path_that_contradicts_its_file(
    tmp_path: Path, folder: str, table: pa.Table, problem: str
) -> None:
    """Arrow would silently take the value of the path, where types agree."""
    pool = catalog(written(tmp_path, [folder], table), payload=["m"])
    with pytest.raises(InputError, match=rf"0\.parquet: column 'm', row 0: {problem}$"):
        rows_of(pool, ["m"])
    assert len(rows_of(pool, ["id"])) == 2, "a column that nobody asks for is not compared"


@pytest.mark.parametrize(
    ("version", "planned", "problem"),
    [
        (datetime.date(2026, 1, 1), [], r"pool\.table\.own: pin must return JSON: Object of"),
        (1, ["a.parquet"], r"pool\.table\.own: plan returned 'a\.parquet', no PlannedFile"),
        (1, None, "column 'm', row 0: has 7, but the table of the file 8"),
    ],
)
def test_what_a_kind_of_tables_returns_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: Any, planned: Any, problem: str
) -> None:
    if planned is None:
        files = find_files(written(tmp_path, ["t"], pair(7)))
        planned = [PlannedFile(file, {"m": pa.scalar(8)}) for file in files]
    kind = types.SimpleNamespace(pin=lambda _: version, plan=lambda table, where: planned)
    monkeypatch.setattr(TableSpec, "find_kind", lambda _: kind)
    spec = EvaluationSpec.from_mapping({"pool": {"path": "t"}, "budget": 10}, "/")
    table = dataclasses.replace(spec.pool, table=TableSpec("own", "t"))
    with pytest.raises(InputError, match=problem):
        rows_of(Catalog.read(spec.with_pool(table).reading), ["m"])


def test_a_type_that_changes_between_partitions(tmp_path: Path) -> None:
    whole, text = pair(7), pair("x")
    with pytest.raises(InputError, match=r"1\.parquet: column 'm' has type string, but int64 in"):
        catalog(written(tmp_path, ["y=1", "y=2"], whole, text), payload=["m", "y"])


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"0\.parquet: .* not valid UTF-8 .*: %E4"):
        catalog(written(tmp_path, ["y=%E4"]))


def test_a_first_look_has_the_values_of_all_paths(tmp_path: Path) -> None:
    pattern = written(tmp_path, ["c=DE", "c=FR", "c=IT"])
    files, columns = look_at(pattern)
    assert (files, columns[-1].name) == (3, "c")
    assert columns[-1].values == ("DE", "FR", "IT")
