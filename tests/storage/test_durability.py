"""What is flushed to the disk before what: the order of the calls, and a loss of power itself."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from evalsampling.errors import InputError
from evalsampling.storage import open_store, replace_file, write_parquet
from evalsampling.storage.checksums import Checksum
from evalsampling.storage.commits import begin
from tests.jobs import Job, Jobs, files_below


class Trace:
    """Calls that change folders or flush, in order: (call, device and inode or path)."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, str]] = []
        self._fsync, self._link, self._rename = os.fsync, os.link, os.rename
        patch.setattr(os, "fsync", self.fsync)
        patch.setattr(os, "link", self.link)

    def fsync(self, handle: int) -> None:
        self._fsync(handle)
        self.calls.append(("fsync", os.readlink(f"/proc/self/fd/{handle}")))

    def link(self, source: Any, target: Any) -> None:
        self._link(source, target)
        self.calls.append(("link", f"{source} {target}"))

    def links(self) -> list[tuple[int, str, str]]:
        """Number of the call, old and new name of each link."""
        return [
            (i, *told.split(" ")) for i, (call, told) in enumerate(self.calls) if call == "link"
        ]  # type: ignore[misc]

    def flushed(self, path: str, after: int, before: int) -> bool:
        return ("fsync", path) in self.calls[after:before]


def check(trace: Trace, root: Path, marker: str) -> None:
    """Check that files have contents and names on the disk before their commit, and that a name."""
    links = trace.links()
    count = next(i for i, _, target in links if target == str(root / marker))
    for i, source, target in links:
        assert trace.flushed(source, 0, i), source
        before = count if i < count else len(trace.calls)
        folder = Path(target).parent
        while folder != root.parent:
            assert trace.flushed(str(folder), i, before), target
            folder = folder.parent


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="names of open files")
def test_files_are_flushed_before_their_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path)
    with monkeypatch.context() as patch:
        trace = Trace(patch)
        with begin(store, "a") as files:
            files.path("one.txt").write_text("one")
            files.path("deep/two.txt").write_text("two")
            files.write("marks/marker.json", {})
    check(trace, tmp_path, "marks/marker.json")
    assert len(trace.links()) == 4  # of them the note


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="names of open files")
def test_rounds_and_labels_are_flushed_before_their_markers(
    job: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job().prepared()
    with monkeypatch.context() as patch:
        trace = Trace(patch)
        one.sample()
    check(trace, one.workspace, "rounds/0001/design.json")
    labels = one.deliver(one.answers(1))
    with monkeypatch.context() as patch:
        trace = Trace(patch)
        one.estimate("--labels", labels, "--close")
    # The estimate and its manifest are files of their own, flushed and linked one by one.
    files = trace.links()
    alone = [i for i, _, new in files if "/estimates/" in new or "/jobs/estimate-" in new]
    assert len(alone) == 2
    trace.calls = trace.calls[: alone[0] - 1]
    check(trace, one.workspace, "taken/0001.json")


@pytest.mark.parametrize("write", ["write_json", "create", "new_file"])
def test_a_file_is_flushed_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    store = open_store(tmp_path)
    with monkeypatch.context() as patch:
        trace = Trace(patch)
        if write == "new_file":
            with store.new_file("a/b/file") as path:
                write_parquet(pa.table({"x": [1]}), path)
        else:
            getattr(store, write)("a/b/file", {} if write == "write_json" else b"x")
    ((place, source, _),) = trace.links()
    assert trace.flushed(source, 0, place)
    for folder in (tmp_path / "a" / "b", tmp_path / "a", tmp_path):
        assert trace.flushed(str(folder), place, len(trace.calls))


def test_nothing_is_linked_that_could_not_be_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    store = open_store(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="Input/output"):
            store.create("file", b"x")
        with begin(store, "") as files:
            files.path("a").write_text("")
            with pytest.raises(OSError, match="Input/output"):
                files.write("marker.json", {})
    assert files_below(tmp_path) == {}


def test_what_is_replaced_follows_no_link(tmp_path: Path) -> None:
    """Somebody has put a link where the new content is to be written first, or at its name."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "out").mkdir()
    for name in ("result.json", f".result.json-{os.getpid()}"):
        (tmp_path / "out" / name).symlink_to(victim)
    open_store(tmp_path / "out").overwrite("result.json", b"new")
    assert victim.read_text() == "mine"
    assert (tmp_path / "out" / "result.json").read_text() == "new"


def test_a_file_that_cannot_be_replaced_is_told_by_its_own_name(tmp_path: Path) -> None:
    """Not by that of the file which is written first."""
    with pytest.raises(FileNotFoundError) as told:
        open_store(tmp_path / "none").overwrite("result.json", b"new")
    assert told.value.filename == str(tmp_path / "none" / "result.json")


def test_a_device_or_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    """As `--report-to table:/dev/stdout`: a rename would take it away for all programs."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: cannot be written: Operation not supported"):
        replace_file(str(tmp_path / "pipe"), b"new")
    assert (tmp_path / "pipe").is_fifo()
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


def test_files_get_the_permissions_of_the_umask(tmp_path: Path) -> None:
    """As it is when the file is made, in whichever thread."""
    store = open_store(tmp_path)
    before = os.umask(0o027)
    try:
        store.create("a", b"")
        os.umask(0o077)
        store.create("b", b"")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in "ab"] == [0o640, 0o600]


# --- checksums


def test_a_json_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_json("a.json", {"x": 1.5, "10": [None], "9": {"ä": True}, "2": 1e-300})
    assert store.read_json("a.json") == {"x": 1.5, "10": [None], "9": {"ä": True}, "2": 1e-300}
    path = tmp_path / "a.json"
    path.write_text(path.read_text().replace("1.5", "1.4"))
    with pytest.raises(InputError, match=r"a\.json: damaged"):
        store.read_json("a.json")


def test_a_json_file_without_a_checksum_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"x": 1}')
    with pytest.raises(InputError, match=r"a\.json: damaged, its SHA-256 is not"):
        open_store(tmp_path).read_json("a.json", ["x"])


def test_pages_have_checksums(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write_parquet(pa.table({"x": [str(i) for i in range(1000)]}), tmp_path / "t.parquet")
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"t\.parquet: cannot be read"):
        store.read_table("t.parquet")


def test_a_commit_tells_checksums_of_its_files(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with begin(store, "") as files:
        files.path("a/x").write_text("one")
        files.write("marker.json", {"files": {"b": {"size": 0, "sha256": ""}}})
    told = json.loads((tmp_path / "marker.json").read_text())["files"]
    assert set(told) == {"a/x", "b"}
    assert Checksum(**told["a/x"]) == Checksum.from_content(b"one")


# --- a disk that loses power


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """An ext4 file system in a file, which is mounted, and that file."""
    image, mount = tmp_path / "image", tmp_path / "disk"
    mount.mkdir()
    try:
        with image.open("wb") as file:
            file.truncate(64 << 20)
        _run("mkfs.ext4", "-q", str(image))
        _run("mount", "-o", "loop", str(image), str(mount))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here: {error}")
    try:
        yield image, mount
    finally:
        _run("umount", str(mount))


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_loss_of_power(
    job: Jobs, disk: tuple[Path, Path], tmp_path: Path
) -> None:
    """The image is copied when a command has ended with 0, before the kernel writes on its own."""
    image, mount = disk
    one = job(workspace=str(mount / "run"))
    one = Job(one.directory, one.pool, one.spec, mount / "run")

    def after_power_loss(command: Sequence[str | Path]) -> dict[str, bytes]:
        program = [sys.executable, "-m", "evalsampling", *map(str, command)]
        subprocess.run(program, check=True, capture_output=True)
        copy, there = tmp_path / "copy", tmp_path / "there"
        shutil.copyfile(image, copy)
        there.mkdir()
        _run("mount", "-o", "loop", str(copy), str(there))
        try:
            return files_below(there / "run")
        finally:
            _run("umount", str(there))
            there.rmdir()
            copy.unlink()

    commands: list[Callable[[], list[str | Path]]] = [
        lambda: ["prepare", one.spec],
        lambda: ["sample", one.workspace],
        lambda: ["estimate", one.workspace, "--labels", one.deliver(one.answers(1))],
    ]
    for command in commands:
        kept = after_power_loss(command())
        here = files_below(one.workspace)
        assert {n: c for n, c in kept.items() if "/." not in f"/{n}"} == {
            n: c for n, c in here.items() if "/." not in f"/{n}"
        }
