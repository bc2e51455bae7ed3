"""Directories: what only they can lose."""

import fcntl
import itertools
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from evalsampling.errors import InputError
from evalsampling.storage import open_store, write_parquet
from evalsampling.storage.commits import begin
from tests.storage.commits import fill


def test_a_root_is_never_made_anew(tmp_path: Path) -> None:
    """A worker that has not heard that its job failed, and its directory was removed."""
    store = open_store(tmp_path / "gone")
    for write in (lambda: store.create("a/x", b""), lambda: fill(store, "m.json", "")):
        with pytest.raises(FileNotFoundError):
            write()
    assert not (tmp_path / "gone").exists()


def test_what_may_not_be_written_is_named(tmp_path: Path) -> None:
    store = open_store(tmp_path / "new")
    file = str(tmp_path / "new" / "design.json")
    for error, named in (((13, "no", file), file), ((13, "no"), str(tmp_path / "new"))):
        with pytest.raises(InputError, match="cannot be written") as told, store._allowed():
            raise PermissionError(*error)
        assert str(told.value) == f"{named}: cannot be written: no"


def test_a_lock_keeps_others_out_until_it_is_let_go(tmp_path: Path) -> None:
    """Of the same process too: each has opened the file itself."""
    store, lock = open_store(str(tmp_path)), tmp_path / ".in-use"
    with store.one_at_a_time(), lock.open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with lock.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("name", ["pool.csv", "pool.csv/run", "pool.csv/a/b"])
def test_a_file_where_a_directory_is_wanted(tmp_path: Path, name: str) -> None:
    (tmp_path / "pool.csv").touch()
    store = open_store(tmp_path / name)
    with pytest.raises(InputError, match=r"/pool\.csv: a file, where a directory is wanted"):
        store.check_free([])
    with pytest.raises(InputError, match="a file"), store.preparing("marker", "", []):
        pass


@pytest.mark.parametrize("_", range(20))
def test_a_worker_that_goes_on_leaves_nothing(tmp_path: Path, _: int) -> None:
    """Its job has failed, and it has not heard of it: the directory goes all the same."""
    store, wrote = open_store(tmp_path / "run"), threading.Event()
    ends: list[type[Exception]] = []

    def go_on() -> None:
        try:
            for file in itertools.count():
                store.create(f"scored/{file}", b"")
                wrote.set()
        except OSError as error:
            ends.append(type(error))

    def fail() -> None:
        with store.preparing("marker", "", ["scored"]):
            worker.start()
            wrote.wait()
            raise ZeroDivisionError

    worker = threading.Thread(target=go_on)
    with pytest.raises(ZeroDivisionError):
        fail()
    worker.join(10)
    assert len(ends) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("when", "how"), [("flock", "finished"), ("flock", "failed"), ("exists", "finished")]
)
def test_a_prepare_that_loses_a_race_is_told_what_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, how: str
) -> None:
    """Another one ends when it has opened the file of the lock, or has seen the directory."""
    root = tmp_path / "run"
    other = open_store(root).preparing("marker", "", ["scored"])
    other.__enter__()
    owner: Any = fcntl if when == "flock" else Path
    call = getattr(owner, when)

    def end_first(*arguments: Any) -> Any:
        seen = call(*arguments) if when == "exists" else None
        monkeypatch.undo()
        if how == "finished":
            (root / "marker").touch()
            (root / "cells").touch()
        other.__exit__(None, None, None)
        return seen if when == "exists" else call(*arguments)

    monkeypatch.setattr(owner, when, end_first)
    with (
        pytest.raises(InputError, match=f"another prepare has {how} there meanwhile"),
        open_store(root).preparing("marker", "", ["scored"]),
    ):
        pytest.fail("it was given out")
    left = ["cells", "marker", "run"] if how == "finished" else []
    assert sorted(path.name for path in tmp_path.rglob("*")) == left


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted on Linux")
def test_tables_are_read_by_one_thread(tmp_path: Path) -> None:
    """A thread of Arrow that still holds bytes of Python aborts an interpreter that ends."""
    store = open_store(tmp_path)
    with begin(store, "") as files:
        write_parquet(pa.table({"x": [1.0, 2.0], "y": ["a", "b"]}), files.path("t.parquet"))
        files.write("marker.json", {})
    program = (
        "from pathlib import Path\n"
        "def threads():\n"
        "    names = [path.read_text() for path in Path('/proc/self/task').glob('*/comm')]\n"
        "    return sum('jemalloc' not in name for name in names)\n"
        "from evalsampling.storage import checksums_of, open_store\n"
        f"store = open_store({str(tmp_path)!r})\n"
        "known = checksums_of(store.read_json('marker.json'))\n"
        "before = threads()\n"
        "assert store.read_table('t.parquet', known).num_rows == 2\n"
        "print(threads() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    assert store.read_table("t.parquet")["y"].to_pylist() == ["a", "b"]
