"""Pools, specs, workspaces and labels of tests in Google Cloud Storage."""

from pathlib import Path

import yaml
from google.cloud import storage

from evalsampling.workspace.snapshot import Snapshot
from tests.jobs import Job, Result, call


def upload(bucket: storage.Bucket, directory: Path, folder: str) -> None:
    for path in directory.iterdir():
        bucket.blob(f"{folder}/{path.name}").upload_from_filename(path)


def remote(one: Job, bucket: storage.Bucket, folder: str) -> None:
    """Move the pool of a job to the store."""
    spec = yaml.safe_load(one.spec.read_text())
    pattern = Path(spec["pool"]["path"])
    upload(bucket, pattern.parent, folder)
    spec["pool"]["path"] = f"gs://{bucket.name}/{folder}/{pattern.name}"
    one.spec.write_text(yaml.safe_dump(spec))


def move(one: Job, bucket: storage.Bucket, **keys: object) -> str:
    """Move pool and spec of a job to the store, with a workspace there, and return its URL."""
    remote(one, bucket, "pool")
    spec = {**yaml.safe_load(one.spec.read_text()), "workspace": "run", **keys}
    bucket.blob("specs/evaluation.yaml").upload_from_string(yaml.safe_dump(spec))
    return f"gs://{bucket.name}/specs/run"


def prepare(bucket: storage.Bucket, *options: object) -> Result:
    """Run `prepare --json` on the spec in a bucket, by Beam unless options say otherwise."""
    by_beam = ("--direct_num_workers=2",)
    spec = f"gs://{bucket.name}/specs/evaluation.yaml"
    return call("prepare", spec, "--json", *(options or by_beam))


def answer(url: str, number: int, one: Job, bucket: storage.Bucket, name: str) -> str:
    """Put the labels of a round into the store and return their URL."""
    snapshot = Snapshot.at(url)
    batch = snapshot.rounds[number - 1].batch.to_pydict()
    lines = [f"{t},{one.pool.truth[id]}" for t, id in zip(batch["task"], batch["id"], strict=True)]
    bucket.blob(name).upload_from_string("\r\n".join(["task,label", *lines, ""]))
    return f"gs://{bucket.name}/{name}"


def objects(bucket: storage.Bucket) -> dict[str, int]:
    return {blob.name: blob.generation for blob in bucket.list_blobs()}
