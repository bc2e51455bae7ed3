"""Pools in Google Cloud Storage, on an emulator of it on this machine."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.fs
import pytest
import yaml

from evalsampling import InputError
from evalsampling.io import files
from evalsampling.io.files import find_files
from evalsampling.storage.filesystems import open_file
from tests.jobs import Job, files_below, make_pool
from tests.test_equivalence import assert_same, reference
from tests.test_formats import FORMATS, formatted

BUCKET = "pools"


@pytest.fixture(scope="module")
def store() -> Iterator[pyarrow.fs.GcsFileSystem]:
    """An emulator with an empty bucket, and a way to write to it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = ["--host=127.0.0.1", f"--port={port}", "--in-memory", f"--default-bucket={BUCKET}"]
    # A process of its own: pyarrow may hold this one's interpreter while it waits for answers.
    emulator = subprocess.Popen([sys.executable, "-m", "gcp_storage_emulator", "start", *address])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
        files._store.cache_clear()
        try:
            await_port(port)
            yield pyarrow.fs.GcsFileSystem(
                anonymous=True, scheme="http", endpoint_override=f"127.0.0.1:{port}"
            )
        finally:
            emulator.kill()
            emulator.wait()
    files._store.cache_clear()


def await_port(port: int) -> None:
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise AssertionError("the emulator did not start")


def upload(store: pyarrow.fs.GcsFileSystem, directory: Path, folder: str) -> None:
    for path in directory.iterdir():
        with store.open_output_stream(f"{BUCKET}/{folder}/{path.name}") as stream:
            stream.write(path.read_bytes())


def test_listing(store: pyarrow.fs.GcsFileSystem, tmp_path: Path) -> None:
    make_pool(100).write(tmp_path, files=3)
    upload(store, tmp_path, "a/day=1")
    upload(store, tmp_path, "a/day=2")
    found = find_files(f"gs://{BUCKET}/a/*/part-[01].parquet")
    assert [file.path for file in found] == [
        f"gs://{BUCKET}/a/day={day}/part-{part}.parquet" for day in (1, 2) for part in (0, 1)
    ]
    assert len(find_files(f"gs://{BUCKET}/a/**/*.parquet")) == 6
    one = find_files(f"gs://{BUCKET}/a/day=2/part-2.parquet")
    assert [file.size for file in one] == [(tmp_path / "part-2.parquet").stat().st_size]
    assert open_file(one[0].path).read() == (tmp_path / "part-2.parquet").read_bytes()


@pytest.mark.parametrize(
    "pattern", [f"gs://{BUCKET}/none/*.parquet", f"gs://{BUCKET}/none.parquet", "gs://nobody/x/*"]
)
def test_nothing_there_is_one_clear_error(store: pyarrow.fs.GcsFileSystem, pattern: str) -> None:
    with pytest.raises(InputError) as error:
        find_files(pattern)
    assert pattern in str(error.value)
    assert "\n" not in str(error.value)


def remote(one: Job, store: pyarrow.fs.GcsFileSystem, folder: str) -> None:
    """Move the pool of a job to the store."""
    spec = yaml.safe_load(one.spec.read_text())
    pattern = Path(spec["pool"]["path"])
    upload(store, pattern.parent, folder)
    spec["pool"]["path"] = f"gs://{BUCKET}/{folder}/{pattern.name}"
    one.spec.write_text(yaml.safe_dump(spec))


@pytest.mark.parametrize("suffix", FORMATS)
def test_prepare_and_rounds(
    store: pyarrow.fs.GcsFileSystem,
    job: Callable[..., Job],
    suffix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same as of a pool of this machine, in files of several stretches."""
    monkeypatch.setattr("evalsampling.io.lines.STRETCH_BYTES", 10_000)
    monkeypatch.setattr("evalsampling.io.lines.BLOCK_BYTES", 3_000)
    one = formatted(job, suffix, make_pool(), files=3, budget=30)
    expected = reference(one)
    remote(one, store, f"pool-{suffix}")
    assert one.prepare().json["rows"] == 2000
    assert_same(one.workspace, expected, budget=30)
    assert one.sample().json["rows"] == 20
    path = one.deliver(one.answers(1))
    assert one.estimate("--labels", path).json["labels"] == 20


def test_top_up_refuses_an_object_that_was_written_again(
    store: pyarrow.fs.GcsFileSystem, job: Callable[..., Job]
) -> None:
    """Even with the same content: only its time, and so its generation, has changed."""
    one = job(files=2, budget=30)
    remote(one, store, "twice")
    assert one.prepare().status == 0
    assert one.prepare("--top-up", 10_000).status == 0
    before = files_below(one.workspace)
    time.sleep(1.1)
    upload(store, one.directory / "pool", "twice")
    result = one.prepare("--top-up", 20_000)
    assert result.status == 1
    assert f"gs://{BUCKET}/twice/part-0.parquet: the pool has changed" in result.err
    assert files_below(one.workspace) == before


def test_a_damaged_object_is_named(
    store: pyarrow.fs.GcsFileSystem, job: Callable[..., Job]
) -> None:
    one = job()
    remote(one, store, "damaged")
    with store.open_output_stream(f"{BUCKET}/damaged/part-0.parquet") as stream:
        stream.write(b"PAR1 is how it begins")
    result = one.prepare()
    assert result.status == 1
    assert f"gs://{BUCKET}/damaged/part-0.parquet: cannot be read" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("path", ["http://host/pool.parquet", "file:///pool.parquet"])
def test_other_addresses_are_refused(job: Callable[..., Job], path: str) -> None:
    result = job(pool={"path": path}).prepare()
    assert result.status == 1
    assert "pool.path: must be a path of this machine or of gs://" in result.err
