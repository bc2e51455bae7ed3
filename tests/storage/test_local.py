"""Directories: what only they can lose."""

import fcntl
import subprocess
import sys
from pathlib import Path

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
