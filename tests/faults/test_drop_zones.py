"""Drop zones while labels are taken from them: no label is lost, doubled or of half a file.

Two commands meet, and whoever puts files into the zone goes on meanwhile.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.cloud import storage

from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.verify import verify
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Jobs, call, make_pool
from tests.meeting import contents, put_back, requests
from tests.stores import move, prepare

ROWS = 6
MEETINGS = int(os.environ.get("ZONE_REQUESTS", "8"))
"""Requests of a command at which another one comes in."""

Zone = dict[str, str]
"""Content of each file."""


def zones(workspace: str | Path) -> tuple[Zone, Zone]:
    """Return a zone with some answers to the first round, and what it is when all have come.

    The first file has grown by then, a further one is there; one line is about no row.
    """
    tasks = Snapshot.at(workspace).rounds[0].batch["task"].to_pylist()
    lines = [f"{task},{number % 2}\n" for number, task in enumerate(tasks)]
    assert len(lines) == ROWS
    header = "task,label\n"
    first = {"a.csv": header + "".join(lines[:2]), "b.csv": f"{header}{lines[2]}nobody,1\n"}
    last = {"a.csv": first["a.csv"] + lines[3], "c.csv": header + "".join(lines[4:])}
    return first, first | last


def assert_all_taken_once(workspace: str | Path) -> None:
    """Check that each row has its label, by one answer, and that the workspace is whole."""
    snapshot = Snapshot.at(workspace)
    tasks = snapshot.rounds[0].batch["task"].to_pylist()
    assert [len(given) for given in snapshot.tally.answers.values()] == [1] * ROWS
    label = {snapshot.tasks[question]: code for question, code in enumerate(snapshot.labels)}
    assert [label[task] for task in tasks] == [number % 2 for number in range(ROWS)]
    assert snapshot.rejects == 1
    assert [one.order for one in snapshot.deliveries] == [*range(1, len(snapshot.deliveries) + 1)]
    assert verify(WorkspaceOptions(str(workspace))).bad == ()


# --- on this machine


def fill(zone: Path, files: Zone) -> None:
    """Put files into a folder, each as a whole, as `docs/labels.md` says."""
    for name, content in files.items():
        (zone / f".{name}").write_text(content)
        (zone / f".{name}").replace(zone / name)


def test_two_take_from_one_folder(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one finds more there and takes it first: this one has nothing left to take."""
    one = job(make_pool(40), strata={"leaves": 2}, budget=40)
    assert one.prepare("--in-process").status == 0
    assert one.sample("--size", ROWS).status == 0
    zone, (first, last) = one.directory / "zone", zones(one.workspace)
    zone.mkdir()
    fill(zone, first)
    in_use, came = Workspace.in_use, []

    @contextlib.contextmanager
    def late(self: Workspace) -> Iterator[None]:
        if not came:  # This one has read its files, and is not alone yet.
            came.append(None)
            fill(zone, last)
            assert one.estimate("--labels", zone).json["labels"] == ROWS
        with in_use(self):
            yield

    monkeypatch.setattr(Workspace, "in_use", late)
    told = one.estimate("--labels", zone)
    assert came
    assert (told.status, told.json["labels"], told.json["rejects"]) == (0, ROWS, 1)
    assert_all_taken_once(one.workspace)


# --- in a bucket


@pytest.fixture
def there(job: Jobs, bucket: storage.Bucket) -> str:
    """A workspace in a bucket, with an open round."""
    url = move(job(make_pool(40), strata={"leaves": 2}, budget=40), bucket)
    assert prepare(bucket, "--in-process").status == 0
    assert call("sample", url, "--size", ROWS).status == 0
    return url


def refill(bucket: storage.Bucket, files: Zone) -> None:
    """Let the zone hold these objects and no others."""
    for blob in bucket.list_blobs(prefix="zone/"):
        if blob.name.removeprefix("zone/") not in files:
            blob.delete()
    for name, content in files.items():
        bucket.blob(f"zone/{name}").upload_from_string(content)


def test_two_take_from_one_bucket(there: str, bucket: storage.Bucket) -> None:
    """The other one finds more and comes in whole, before any request of this one."""
    first, last = zones(there)
    kept = contents(bucket)
    line = ("estimate", there, "--labels", f"gs://{bucket.name}/zone/", "--json")
    refill(bucket, first)
    with requests(None, lambda: None) as counted:
        assert call(*line).status == 0
    told = []

    def other() -> Any:
        refill(bucket, last)
        return call(*line)

    for at in np.unique(np.linspace(1, counted.done, MEETINGS, dtype=int)).tolist():
        put_back(bucket, kept)
        refill(bucket, first)
        with requests(at, other) as met:
            result = call(*line)
        told.append((result.status, met.came.status))
        for ended in (met.came, result):
            if ended.status:
                assert (ended.status, ended.err.count("\n")) == (1, 1)
                assert "meanwhile; run this one again" in ended.err
        assert call(*line).json["labels"] == ROWS
        assert_all_taken_once(there)
    assert {(0, 0), (1, 0)} <= {*told}
