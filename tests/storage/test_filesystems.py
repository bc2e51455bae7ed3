"""Pools, specs and labels on s3://, on an emulator of it on this machine; and what of hdfs:// can
be seen without a cluster."""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.fs
import pyarrow.parquet as pq
import pytest
import yaml

from evalsampling import InputError
from evalsampling.pool.files import find_files
from evalsampling.storage import filesystems
from tests.formats import FORMATS, formatted
from tests.jobs import Job, Jobs, call, make_pool
from tests.reference import assert_same, reference
from tests.servers import free_port, running
from tests.slow import slowly


@pytest.fixture(scope="module")
def store() -> Iterator[pyarrow.fs.S3FileSystem]:
    """An emulator with a bucket called pools, which this process finds."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        filesystems._store.cache_clear()
        with running(command, port, Path(os.devnull)):
            made = pyarrow.fs.S3FileSystem(
                endpoint_override=f"http://127.0.0.1:{port}", allow_bucket_creation=True
            )
            made.create_dir("pools")
            yield made
    filesystems._store.cache_clear()


def upload(store: pyarrow.fs.S3FileSystem, path: Path, name: str) -> str:
    with store.open_output_stream(f"pools/{name}") as stream:
        stream.write(path.read_bytes())
    return f"s3://pools/{name}"


def test_a_file_that_is_not_there_is_said_not_to_be(tmp_path: Path) -> None:
    """Arrow's own error of it is nothing but the name."""
    with pytest.raises(FileNotFoundError) as told:
        pq.read_table(tmp_path / "none.parquet")
    error = filesystems.unreadable("none.parquet", told.value)
    assert str(error) == "none.parquet: cannot be read: No such file or directory"


@pytest.mark.parametrize("suffix", ["parquet", *slowly(*FORMATS[1:])])
def test_an_evaluation(store: pyarrow.fs.S3FileSystem, job: Jobs, suffix: str) -> None:
    """Pool, spec and labels are there, the workspace is here."""
    one = formatted(job, suffix, make_pool(), files=3, budget=30, workspace=str(job().workspace))
    expected = reference(one)
    spec = yaml.safe_load(one.spec.read_text())
    pattern = Path(spec["pool"]["path"])
    for path in pattern.parent.iterdir():
        upload(store, path, f"{suffix}/{path.name}")
    spec["pool"]["path"] = f"{suffix}/{pattern.name}"
    one.spec.write_text(yaml.safe_dump(spec))
    there = upload(store, one.spec, f"{suffix}.yaml")
    found = find_files(f"s3://pools/{suffix}/*.{suffix}")
    assert [file.size for file in found] == [
        p.stat().st_size for p in sorted(pattern.parent.iterdir())
    ]
    assert all(file.modified for file in found)
    assert call("prepare", there, "--json").json["rows"] == 2000
    workspace = Path(spec["workspace"])
    assert_same(workspace, expected, budget=30)
    call("sample", workspace)
    mine = Job(one.directory, one.pool, one.spec, workspace)
    labels = upload(store, mine.deliver(mine.answers(1)), f"{suffix}-labels.csv")
    assert json.loads(call("estimate", workspace, "--labels", labels, "--json").out)["labels"] == 20


@pytest.mark.slow
def test_what_is_not_there(store: pyarrow.fs.S3FileSystem, job: Jobs) -> None:
    for path in ("s3://pools/none/*.parquet", "s3://nobody/x/*.parquet"):
        result = job(pool={"path": path}).prepare()
        assert result.status == 1
        assert path in result.err
        assert result.err.count("\n") == 1


def test_hdfs_without_its_library_is_one_clear_error(job: Jobs) -> None:
    result = job(pool={"path": "hdfs://host:8020/pool/*.parquet"}).prepare()
    assert result.status == 1
    assert "hdfs://host:8020: " in result.err
    assert result.err.count("\n") == 1


def opened_late(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    """Let something happen once, between the opening of a file and its reading."""
    open_file, done = filesystems.open_file, []

    def late(path: str) -> Any:
        file = open_file(path)
        if not done:
            done.append(None)
            change()
        return file

    monkeypatch.setattr(filesystems, "open_file", late)


CONTENT = b"task,label\nt_1,0\nt_2,0\n"


@pytest.mark.parametrize(
    "other",
    [CONTENT.replace(b"0", b"1"), CONTENT[:12], CONTENT + b"t_3,0\n", None],
    ids=["other", "shorter", "longer", "removed"],
)
def test_an_object_that_is_overwritten_while_it_is_read(
    store: pyarrow.fs.S3FileSystem,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    other: bytes | None,
) -> None:
    """It would be the new one, as far as the old one went, and what happens to be behind it."""
    (tmp_path / "a").write_bytes(CONTENT)
    url = upload(store, tmp_path / "a", "zone/a.csv")
    assert filesystems.read_regular_file(url, 1000) == CONTENT

    def change() -> None:
        if other is None:
            store.delete_file("pools/zone/a.csv")
            return
        (tmp_path / "a").write_bytes(other)
        upload(store, tmp_path / "a", "zone/a.csv")

    opened_late(monkeypatch, change)
    if other is not None and len(other) == len(CONTENT):
        # Stores tell when by the second: it is one of the two, whole.
        with contextlib.suppress(InputError):
            assert filesystems.read_regular_file(url, 1000) in (CONTENT, other)
    else:
        with pytest.raises(InputError, match=f"^{url}: was overwritten or removed while"):
            filesystems.read_regular_file(url, 1000)
    if other is not None:
        assert filesystems.read_regular_file(url, 1000) == other


class Slow:
    """A file of which a part is read, then something happens, then the rest."""

    def __init__(self, file: Any, change: Callable[[], None]) -> None:
        self._file, self._change = file, change

    def read(self, most: int) -> bytes:
        first = self._file.read(10)
        self._change()
        self._change = lambda: None
        return bytes(first + self._file.read(most))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "Slow":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def read_while(path: Path, change: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Return what is read of a file that changes when its first bytes have been read."""

    def opened(*given: Any, **named: Any) -> Slow:
        return Slow(open(*given, buffering=0, **named), change)

    with monkeypatch.context() as patch:
        patch.setattr(filesystems, "open", opened, raising=False)
        return filesystems.read_regular_file(str(path), 1000)


@pytest.mark.parametrize(
    "other",
    [b"label,task\n1,t_2\n1,t_1\n", b"label,task\n", b"label,task\n" + 20 * b"1,t_1\n"],
    ids=["as long", "shorter", "longer"],
)
def test_a_file_that_is_overwritten_in_its_place_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: bytes
) -> None:
    """Else a task of the one would have a label of the other."""
    path = tmp_path / "a.csv"
    path.write_bytes(CONTENT)

    def overwrite() -> None:
        path.write_bytes(other)
        os.utime(path, ns=(0, 0))  # Clocks of file systems are coarse.

    with pytest.raises(InputError, match=f"^{path}: was overwritten or removed while"):
        read_while(path, overwrite, monkeypatch)
    assert filesystems.read_regular_file(str(path), 1000) == other


def test_a_file_that_grows_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CONTENT)

    def append() -> None:
        with path.open("ab") as file:
            file.write(b"t_3,0\n")

    assert (CONTENT + b"t_3,0\n").startswith(read_while(path, append, monkeypatch))


def test_a_file_that_is_replaced_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is what was opened, whole."""
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_bytes(CONTENT)
    other.write_bytes(b"x" * 200)
    assert read_while(path, lambda: os.replace(other, path), monkeypatch) == CONTENT
    assert path.read_bytes() == b"x" * 200
