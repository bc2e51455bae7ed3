"""Which files that are there may be replaced."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.storage.outputs import Output, as_parquet

BEGINS = b"measure,value"


def is_free(path: Path, begins: bytes = BEGINS, overwrite: bool = False) -> bool:
    try:
        Output(str(path), begins).check(overwrite)
    except InputError:
        return False
    return True


@pytest.mark.parametrize(
    ("content", "free"),
    [(BEGINS + b"\nf1,0.5\n", True), (BEGINS, True), (BEGINS[:-1], False), (b"", False),
     (b" " + BEGINS, False)],
)  # fmt: skip
def test_a_file_is_ours_by_how_it_begins(tmp_path: Path, content: bytes, free: bool) -> None:
    path = tmp_path / "a.csv"
    assert is_free(path)
    path.write_bytes(content)
    assert is_free(path) == free
    assert is_free(path, overwrite=True)
    assert not is_free(path, b"")


def test_parquet_is_ours_by_its_metadata(tmp_path: Path) -> None:
    path, table = tmp_path / "a.parquet", pa.table({"a": [1]}, metadata={"of": "others"})
    pq.write_table(table, path)
    assert not is_free(path)
    path.write_bytes(as_parquet(table))
    assert is_free(path)
    assert pq.read_schema(path).metadata[b"of"] == b"others"
    path.write_bytes(BEGINS)
    assert not is_free(path)


def test_a_folder_is_free(tmp_path: Path) -> None:
    assert is_free(tmp_path)


def test_an_input_is_never_free(tmp_path: Path) -> None:
    path, link = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_bytes(BEGINS)
    link.symlink_to(path)
    for output in (path, link):
        with pytest.raises(InputError, match="is read by this evaluation"):
            Output(str(output), BEGINS).check(True, [str(path)])
