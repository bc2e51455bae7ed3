"""Drop zones in use while labels are taken: no label is lost, doubled or of half a file."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.cloud import storage

from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.verify import verify
from evalsampling.labels.delivery import LabelFile
from evalsampling.storage import filesystems
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace
from tests.faults.operations import CHANGES, REQUESTS, Killed, faults
from tests.jobs import Job, Jobs, call, files_below, make_pool
from tests.meeting import contents, put_back, requests
from tests.stores import move, prepare

ROWS = 6
MEETINGS = int(os.environ.get("ZONE_REQUESTS", "8"))
"""Requests of a command at which another one comes in."""

Zone = dict[str, str]
"""Content of each file."""


def zones(workspace: str | Path) -> tuple[Zone, Zone]:
    """Return a zone with some answers to the first round, and what it is when all came."""
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


def some(count: int, wanted: int) -> list[int]:
    """Return numbers from 1 to a count, the first and the last among them."""
    return np.unique(np.linspace(1, count, min(count, wanted), dtype=int)).tolist()


# --- on this machine


@pytest.fixture
def here(job: Jobs) -> tuple[Job, Path]:
    """A job with an open round, and an empty zone."""
    one = job(make_pool(40), strata={"leaves": 2}, budget=40)
    assert one.prepare("--in-process").status == 0
    assert one.sample("--size", ROWS).status == 0
    zone = one.directory / "zone"
    zone.mkdir()
    return one, zone


def fill(zone: Path, files: Zone) -> None:
    """Put files into a folder, each as a whole, as `docs/labels.md` says."""
    for name, content in files.items():
        (zone / f".{name}").write_text(content)
        (zone / f".{name}").replace(zone / name)


@pytest.mark.slow
def test_files_come_after_a_kill_at_any_operation(here: tuple[Job, Path]) -> None:
    """They come in the meantime, and the command is run again."""
    one, zone = here
    first, last = zones(one.workspace)
    kept = one.directory / "kept"
    shutil.copytree(one.workspace, kept)

    def reset() -> None:
        for folder in (one.workspace, zone):
            shutil.rmtree(folder)
        shutil.copytree(kept, one.workspace)
        zone.mkdir()
        fill(zone, first)

    reset()
    with faults(CHANGES, None) as counted:
        assert one.estimate("--labels", zone).status == 0
    for at in range(1, counted.done + 1):
        reset()
        with faults(CHANGES, at), contextlib.suppress(Killed):
            one.estimate("--labels", zone)
        fill(zone, last)
        again = [one.estimate("--labels", zone) for _ in range(2)]
        assert [(told.status, told.json["labels"]) for told in again] == [(0, ROWS)] * 2, at
        assert_all_taken_once(one.workspace)


def before_the_lock(
    monkeypatch: pytest.MonkeyPatch, other: Callable[[], Any]
) -> contextlib.AbstractContextManager[None]:
    """Let another command come in after the next one has read its files, before it is alone."""
    in_use, came = Workspace.in_use, []

    @contextlib.contextmanager
    def late(self: Workspace) -> Iterator[None]:
        if not came:
            came.append(None)
            other()
        with in_use(self):
            yield

    @contextlib.contextmanager
    def patched() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(Workspace, "in_use", late)
            yield
        assert came

    return patched()


def test_two_take_from_one_folder(here: tuple[Job, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one finds more there and takes it first: this one has nothing left to take."""
    one, zone = here
    first, last = zones(one.workspace)
    fill(zone, first)

    def other() -> None:
        fill(zone, last)
        assert one.estimate("--labels", zone).json["labels"] == ROWS

    with before_the_lock(monkeypatch, other):
        told = one.estimate("--labels", zone)
    assert (told.status, told.json["labels"], told.json["rejects"]) == (0, ROWS, 1)
    assert_all_taken_once(one.workspace)


def test_a_file_is_taken_away_after_it_was_listed(
    here: tuple[Job, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is taken of the others either, and all of them when the command runs again."""
    one, zone = here
    fill(zone, zones(one.workspace)[1])
    before, read = files_below(one.workspace), LabelFile.read

    def late(*given: Any) -> LabelFile:
        (zone / "c.csv").rename(zone / "c.csv.moving")
        monkeypatch.undo()
        return read(*given)

    monkeypatch.setattr(LabelFile, "read", late)
    told = one.estimate("--labels", zone)
    assert (told.status, told.err.count("\n")) == (1, 1)
    assert f"{zone}/c.csv: cannot be read: No such file or directory" in told.err
    assert files_below(one.workspace) == before
    (zone / "c.csv.moving").rename(zone / "c.csv")
    assert one.estimate("--labels", zone).json["labels"] == ROWS
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


def taking(url: str, bucket: storage.Bucket) -> tuple[str, ...]:
    return "estimate", url, "--labels", f"gs://{bucket.name}/zone/", "--json"


def test_objects_come_after_a_kill_at_any_request(there: str, bucket: storage.Bucket) -> None:
    first, last = zones(there)
    kept, line = contents(bucket), taking(there, bucket)
    refill(bucket, first)
    with faults(REQUESTS, None) as counted:
        assert call(*line).status == 0
    assert counted.done > 5
    for at in range(1, counted.done + 1):
        put_back(bucket, kept)
        refill(bucket, first)
        with faults(REQUESTS, at), contextlib.suppress(Killed):
            call(*line)
        refill(bucket, last)
        again = [call(*line) for _ in range(2)]
        assert [(told.status, told.json["labels"]) for told in again] == [(0, ROWS)] * 2, at
        assert_all_taken_once(there)


def test_two_take_from_one_bucket(there: str, bucket: storage.Bucket) -> None:
    """The other one finds more and comes in whole, before any request of this one."""
    first, last = zones(there)
    kept, line = contents(bucket), taking(there, bucket)
    refill(bucket, first)
    with requests(None, lambda: None) as counted:
        assert call(*line).status == 0
    told = []

    def other() -> Any:
        refill(bucket, last)
        return call(*line)

    for at in some(counted.done, MEETINGS):
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


@pytest.mark.parametrize("longer", [True, False], ids=["longer", "shorter"])
def test_an_object_is_overwritten_while_it_is_read(
    there: str, bucket: storage.Bucket, monkeypatch: pytest.MonkeyPatch, longer: bool
) -> None:
    last = zones(there)[1]
    whole, half = last["a.csv"], last["a.csv"][:-10]
    refill(bucket, last | {"a.csv": half if longer else whole + "nobody,0\n"})
    before, line, open_file = contents(bucket), taking(there, bucket), filesystems.open_file

    def late(path: str) -> Any:
        file = open_file(path)
        if path.endswith("a.csv"):
            monkeypatch.undo()
            bucket.blob("zone/a.csv").upload_from_string(whole)
        return file

    monkeypatch.setattr(filesystems, "open_file", late)
    told = call(*line)
    assert (told.status, told.err.count("\n")) == (1, 1)
    assert "/zone/a.csv: was overwritten or removed while it was read; run this one" in told.err
    assert contents(bucket) == before
    assert call(*line).json["labels"] == ROWS
    assert_all_taken_once(there)
