"""The tidy table as files, and what a test of dbt asks of it."""

from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.receivers import table as receiver
from evalsampling.receivers.registry import Address
from tests.receivers.dbt import dbt_tests
from tests.receivers.runs import run


def test_a_folder_gets_a_file_a_run_and_the_same_run_again_replaces_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "estimates"
    places = [receiver.send(run(), str(folder)) for _ in range(2)]
    assert [str(path) for path in folder.iterdir()] == [places[0]] == [places[1]]
    assert pq.read_table(places[0]) == run().table
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_file_has_the_latest_run(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"estimates{ending}"
    path.write_text("what was there")
    assert receiver.send(run(), str(path)) == str(path)
    read = pyarrow.csv.read_csv if ending == ".csv" else pq.read_table
    table = read(path)
    assert table.column_names == run().table.column_names
    assert table["value"].to_pylist() == run().table["value"].to_pylist()
    assert table["gate"].to_pylist().count("not reached") == 1


@pytest.mark.parametrize("where", ["", None, "estimates.json", "folder/estimates.xlsx"])
def test_what_is_no_place_for_a_table(where: Any) -> None:
    with pytest.raises(InputError, match=r"must be a folder, or a file that ends in \.parquet"):
        receiver.check(where)


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    receipt = Address.read(f"table:{tmp_path / 'file' / 'estimates'}").send(run())
    assert receipt.where is None
    assert receipt.words.startswith(f"not reported to table:{tmp_path}/file/estimates: ")
    assert "\n" not in receipt.words


def test_the_tests_of_dbt_on_the_page_ask_for_columns_that_are_there() -> None:
    [source] = dbt_tests()["sources"]
    [table] = source["tables"]
    columns = [column["name"] for column in table["columns"]]
    assert {*columns} <= {*run().table.column_names}
    assert "gate" in columns
