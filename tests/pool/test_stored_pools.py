"""Pools in Google Cloud Storage, on an emulator of it."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from google.cloud import storage

from evalsampling import InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.files import find_files
from evalsampling.storage.filesystems import open_file
from tests.formats import FORMATS, formatted
from tests.jobs import Job, files_below, make_pool
from tests.reference import assert_same, reference
from tests.stores import move, objects, prepare, remote, upload


def test_listing(bucket: storage.Bucket, tmp_path: Path) -> None:
    make_pool(100).write(tmp_path, files=3)
    upload(bucket, tmp_path, "a/day=1")
    upload(bucket, tmp_path, "a/day=2")
    found = find_files(f"gs://{bucket.name}/a/*/part-[01].parquet")
    assert [file.path for file in found] == [
        f"gs://{bucket.name}/a/day={day}/part-{part}.parquet" for day in (1, 2) for part in (0, 1)
    ]
    assert len(find_files(f"gs://{bucket.name}/a/**/*.parquet")) == 6
    one = find_files(f"gs://{bucket.name}/a/day=2/part-2.parquet")
    assert [file.size for file in one] == [(tmp_path / "part-2.parquet").stat().st_size]
    assert open_file(one[0].path).read() == (tmp_path / "part-2.parquet").read_bytes()


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("gs://BUCKET/none/*.parquet", "gs://BUCKET/none/*.parquet: no such file"),
        ("gs://BUCKET/none.parquet", "gs://BUCKET/none.parquet: no such file"),
        ("gs://nobody/x/*", "gs://nobody: no such bucket"),
    ],
)
def test_nothing_there_is_one_clear_error(bucket: storage.Bucket, pattern: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        find_files(pattern.replace("BUCKET", bucket.name))
    assert str(error.value) == told.replace("BUCKET", bucket.name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("suffix", FORMATS)
def test_prepare_and_rounds(
    bucket: storage.Bucket, job: Callable[..., Job], suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same as of a pool of this machine, in files of several row groups."""
    monkeypatch.setattr("evalsampling.pool.stored_rows.GROUP_ROWS", 300)
    monkeypatch.setattr("evalsampling.pool.formats.text.BLOCK_BYTES", 3_000)
    one = formatted(job, suffix, make_pool(), files=3, budget=30)
    expected = reference(one)
    remote(one, bucket, f"pool-{suffix}")
    assert one.prepare().json["rows"] == 2000
    assert_same(one.workspace, expected, budget=30)
    assert one.sample().json["rows"] == 20
    assert one.estimate("--labels", one.deliver(one.answers(1))).json["labels"] == 20


def test_compressed_text(bucket: storage.Bucket, job: Callable[..., Job]) -> None:
    """It comes as it was written, without the store unpacking it."""
    one = formatted(job, "csv", make_pool(), files=2, budget=30)
    expected = reference(one)
    spec = yaml.safe_load(one.spec.read_text())
    for path in Path(spec["pool"]["path"]).parent.iterdir():
        blob = bucket.blob(f"pool/{path.name}.gz")
        blob.upload_from_string(gzip.compress(path.read_bytes()), content_type="application/gzip")
    spec["pool"]["path"] = f"gs://{bucket.name}/pool/*.csv.gz"
    one.spec.write_text(yaml.safe_dump(spec))
    assert one.prepare().json["rows"] == 2000
    assert_same(one.workspace, expected, budget=30)


def test_top_up_refuses_an_object_that_was_written_again(
    bucket: storage.Bucket, job: Callable[..., Job]
) -> None:
    """Even with the same content: only its generation has changed."""
    one = job(files=2, budget=30)
    remote(one, bucket, "twice")
    assert one.prepare().status == 0
    assert one.prepare("--top-up", 10_000).status == 0
    before = files_below(one.workspace)
    upload(bucket, one.directory / "pool", "twice")
    result = one.prepare("--top-up", 20_000)
    assert result.status == 1
    assert f"gs://{bucket.name}/twice/part-0.parquet: the pool has changed" in result.err
    assert files_below(one.workspace) == before


def test_a_damaged_object_is_named(bucket: storage.Bucket, job: Callable[..., Job]) -> None:
    one = job()
    remote(one, bucket, "damaged")
    bucket.blob("damaged/part-0.parquet").upload_from_string(b"PAR1 is how it begins")
    result = one.prepare()
    assert result.status == 1
    assert f"gs://{bucket.name}/damaged/part-0.parquet: cannot be read" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("path", ["http://host/pool.parquet", "file:///pool.parquet"])
def test_other_addresses_are_refused(job: Callable[..., Job], path: str) -> None:
    result = job(pool={"path": path}).prepare()
    assert result.status == 1
    assert "pool.path: must be a path of this machine or of gs://" in result.err


def test_a_pool_that_changes_while_it_is_read(
    job: Callable[..., Job], bucket: storage.Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job(files=2)
    move(one, bucket)
    from evalsampling.commands.prepare import Preparation

    plan, name = Preparation.plan, bucket.name

    def change(self: Preparation, *arguments: object) -> Catalog:
        blob = storage.Client(project=None).bucket(name).blob("pool/part-1.parquet")
        blob.upload_from_string(blob.download_as_bytes())
        return plan(self, *arguments)

    monkeypatch.setattr(Preparation, "plan", change)
    result = prepare(bucket)
    assert result.status == 1
    assert f"gs://{bucket.name}/pool/part-1.parquet: has changed while it was read" in result.err
    assert not [name for name in objects(bucket) if "/run/" in name]
