"""What a store promises, of a directory, a bucket, and a shared folder."""

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest

from evalsampling import InputError
from evalsampling.storage import Store, write_parquet


def test_a_file_that_is_there_stays(store: Store) -> None:
    assert store.create("a/x", b"first")
    assert not store.create("a/x", b"second")
    with store.new_file("a/x") as path:
        path.write_text("third")
    assert store.read("a/x") == b"first"
    assert store.names("a") == ["x"]


def test_names_and_files(store: Store) -> None:
    for name in ("b", "a/x", "a/deep/y", "a/.hidden", "ab/z"):
        store.create(name, name.encode())
    assert store.names() == ["a", "ab", "b"]
    assert store.names("a") == ["deep", "x"]
    assert store.names("nothing") == []
    assert sorted(store.sizes("a/")) == ["a/.hidden", "a/deep/y", "a/x"]
    assert not store.sizes("nothing")
    assert store.exists("a/x")
    assert not store.exists("a")
    assert not store.exists("a/x2")
    with pytest.raises(FileNotFoundError):
        store.read("a/nothing")
    store.remove(["a/x", "a/nothing"])
    assert not store.exists("a/x")


def test_a_large_file(store: Store) -> None:
    """Larger than what is sent in one request."""
    content = bytes(range(256)) * 50_000
    with store.new_file("large") as path:
        path.write_bytes(content)
    assert store.read("large") == content


def test_tables(store: Store) -> None:
    table = pa.table({"x": range(10)})
    for name, rows in (("t/1.parquet", table.slice(0, 4)), ("t/2.parquet", table.slice(4))):
        with store.new_file(name) as path:
            write_parquet(rows, path, row_group_size=2)
    assert store.read_rows(["t/1.parquet", "t/2.parquet"]) == table
    few = store.read_rows(["t/1.parquet"], columns=["x"], filters=pa.compute.field("x") > 2)
    assert few["x"].to_pylist() == [3]
    with pytest.raises(InputError, match=r"t/3\.parquet: cannot be read"):
        store.read_table("t/3.parquet")


def test_json(store: Store) -> None:
    store.write_json("a.json", {"x": 1})
    assert store.read_json("a.json", ["x"]) == {"x": 1}
    store.create("b.json", b"[")
    for name, told in (("a.json", "damaged, 'y' is missing"), ("b.json", "cannot be read")):
        with pytest.raises(InputError, match=f"{name}: {told}"):
            store.read_json(name, ["y"])


def test_a_file_is_overwritten(store: Store) -> None:
    store.overwrite("a", b"one")
    store.overwrite("a", b"two")
    assert (store.read("a"), dict(store.sizes())) == (b"two", {"a": 3})
