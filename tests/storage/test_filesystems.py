"""Pools, specs and labels on s3://, on an emulator of it on this machine; and what of hdfs:// can
be seen without a cluster."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.fs
import pyarrow.parquet as pq
import pytest
import yaml

from evalsampling.pool.files import find_files
from evalsampling.storage import filesystems
from tests.emulator import await_port, free_port
from tests.formats import FORMATS, formatted
from tests.jobs import Job, call, make_pool
from tests.reference import assert_same, reference


@pytest.fixture(scope="module")
def store() -> Iterator[pyarrow.fs.S3FileSystem]:
    """An emulator with a bucket called pools, which this process finds."""
    port = free_port()
    address = ["-H", "127.0.0.1", "-p", str(port)]
    running = subprocess.Popen(
        [sys.executable, "-m", "moto.server", *address],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        filesystems._store.cache_clear()
        try:
            await_port(port)
            made = pyarrow.fs.S3FileSystem(
                endpoint_override=f"http://127.0.0.1:{port}", allow_bucket_creation=True
            )
            made.create_dir("pools")
            yield made
        finally:
            running.kill()
            running.wait()
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


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_evaluation(
    store: pyarrow.fs.S3FileSystem, job: Callable[..., Job], suffix: str
) -> None:
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


def test_what_is_not_there(store: pyarrow.fs.S3FileSystem, job: Callable[..., Job]) -> None:
    for path in ("s3://pools/none/*.parquet", "s3://nobody/x/*.parquet"):
        result = job(pool={"path": path}).prepare()
        assert result.status == 1
        assert path in result.err
        assert result.err.count("\n") == 1


def test_hdfs_without_its_library_is_one_clear_error(job: Callable[..., Job]) -> None:
    result = job(pool={"path": "hdfs://host:8020/pool/*.parquet"}).prepare()
    assert result.status == 1
    assert "hdfs://host:8020: " in result.err
    assert result.err.count("\n") == 1
