"""What a store promises, of a directory, a bucket, and the example of another package."""

import importlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest

from evalsampling import InputError
from evalsampling.storage import STORES, Store, open_store
from tests.storage.drafts import fill

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "outside_package"


@pytest.fixture(params=["directory", "example", pytest.param("bucket", marks=pytest.mark.stores)])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    if request.param == "directory":
        return open_store(tmp_path)
    if request.param == "example":
        monkeypatch.syspath_prepend(EXAMPLE)
        monkeypatch.setenv("SQLITE_STORES", str(tmp_path))
        module = importlib.import_module("outside_parts.store")
        monkeypatch.setitem(vars(STORES), "_others", {"sqlite": [_Registered(module.SqliteStore)]})
        return open_store("sqlite://here/below")
    return open_store(f"gs://{request.getfixturevalue('bucket').name}/below/here")


class _Registered:
    """An entry point of an installed package."""

    dist, value = None, "outside_parts.store:SqliteStore"

    def __init__(self, part: Any) -> None:
        self.load = lambda: part


def everything(store: Store) -> dict[str, bytes]:
    """Names and contents of all files, drafts included, but for the lock."""
    return {name: store.read(name) for name in store.below("") if name != ".in-use"}


def test_a_file_that_is_there_stays(store: Store) -> None:
    store.write_text("a/x", "first")
    store.write_text("a/x", "second")
    with store.new_file("a/x") as path:
        path.write_text("third")
    assert store.read("a/x") == b"first"
    assert store.names("a") == ["x"]


def test_names_and_files(store: Store) -> None:
    for name in ("b", "a/x", "a/deep/y", "a/.hidden", "ab/z"):
        store.write_text(name, name)
    assert store.names() == ["a", "ab", "b"]
    assert store.names("a") == ["deep", "x"]
    assert store.names("nothing") == []
    assert store.below("a") == [".hidden", "deep/y", "x"]
    assert store.below("nothing") == []
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
    store.write_table("t/1.parquet", table.slice(0, 4), 2)
    store.write_table("t/2.parquet", table.slice(4), 2)
    assert store.read_rows(["t/1.parquet", "t/2.parquet"]) == table
    few = store.read_rows(["t/1.parquet"], columns=["x"], filters=pa.compute.field("x") > 2)
    assert few["x"].to_pylist() == [3]
    with pytest.raises(InputError, match=r"t/3\.parquet: cannot be read"):
        store.read_table("t/3.parquet")


def test_json(store: Store) -> None:
    store.write_json("a.json", {"x": 1})
    assert store.read_json("a.json", ["x"]) == {"x": 1}
    store.write_text("b.json", "[")
    for name, told in (("a.json", "damaged, 'y' is missing"), ("b.json", "cannot be read")):
        with pytest.raises(InputError, match=f"{name}: {told}"):
            store.read_json(name, ["y"])


def test_a_draft_comes_in_as_a_whole(store: Store) -> None:
    fill(store, "marker.json", "mine")
    found = everything(store)
    assert json.loads(found.pop("marker.json"))["content"] == "mine"
    assert found == {
        "a/one.txt": b"a/one.txt mine",
        "a/deep/two.txt": b"a/deep/two.txt mine",
    }


def test_a_draft_that_is_given_up(store: Store) -> None:
    fill(store, "marker.json", "mine", commit=False)
    assert everything(store) == {}
    with pytest.raises(ZeroDivisionError), store.draft() as draft:
        draft.path("x").write_text(str(1 / 0))
    assert everything(store) == {}


def test_the_second_of_two_drafts_is_lost(store: Store) -> None:
    fill(store, "marker.json", "first")
    before = everything(store)
    with pytest.raises(FileExistsError):
        fill(store, "marker.json", "second")
    assert everything(store) == before


class Killed(BaseException):
    """A process that goes away at some point."""


STEPS = ["hold", "write_json-1", "write_json-2", "read_json", "place-1", "place-2", "remove-1"]


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_every_step(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str, late: bool
) -> None:
    """All of a draft comes in or nothing, and another one with its marker in the other case."""
    name, _, number = step.partition("-")
    done, calls = getattr(store, name), []

    def die(*arguments: Any) -> Any:
        calls.append(arguments)
        last = len(calls) >= int(number or 1)
        if last and not late:
            raise Killed
        result = done(*arguments)
        if last:
            raise Killed
        return result

    with monkeypatch.context() as patch:
        patch.setattr(store, name, die)
        # A process that is killed tidies nothing up.
        patch.setattr(type(store), "settle_draft", _unless_committing(type(store).settle_draft))
        with pytest.raises(Killed):
            fill(store, "marker.json", "mine")
    counts = store.exists("marker.json")
    assert counts == (STEPS.index(step) >= 3 or (step == "write_json-2" and late))
    with store.one_at_a_time():
        pass
    found = everything(store)
    if counts:
        assert set(found) == {"marker.json", "a/one.txt", "a/deep/two.txt"}
        with pytest.raises(FileExistsError):
            fill(store, "marker.json", "another")
        assert everything(store) == found
    else:
        assert not set(found) & {"marker.json", "a/one.txt", "a/deep/two.txt"}
        fill(store, "marker.json", "another")
        assert store.read("a/one.txt") == b"a/one.txt another"


def _unless_committing(settle: Any) -> Any:
    def call(self: Store, name: str, won: bool) -> None:
        if won:
            settle(self, name, won)

    return call


def test_readers_find_what_is_not_in_place_yet(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch, store.draft() as draft:
        patch.setattr(store, "place", die)
        pa.parquet.write_table(pa.table({"x": [1]}), draft.path("t.parquet"))
        with pytest.raises(Killed):
            draft.commit("marker.json", {})
    assert not store.exists("t.parquet")
    assert store.read_table("t.parquet")["x"].to_pylist() == [1]
