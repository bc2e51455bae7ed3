"""Commands that meet in a workspace at a bad moment, or are killed there."""

import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from google.api_core import exceptions
from google.cloud import storage

from evalsampling.commands.prepare import Preparation
from evalsampling.storage.commits import Commit
from evalsampling.workspace import rounds, snapshot
from evalsampling.workspace.rounds import RoundFiles
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace
from tests.faults.operations import Killed
from tests.jobs import Jobs, call
from tests.stores import move, objects, prepare


def die(*_: Any) -> None:
    raise Killed


def test_killed_before_the_marker_of_a_round_has_its_name(
    job: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are there, and do not count: no round."""
    one = job().prepared()
    link = os.link

    def die_there(source: Any, target: Any) -> None:
        if str(target).endswith("design.json"):
            raise Killed
        link(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", die_there)
        with pytest.raises(Killed):
            one.sample()
    assert (one.round_directory(1) / "batch.parquet").exists()
    assert call("status", one.workspace, "--json").json["rounds"] == 0
    assert one.sample().json["rows"] == 20


UNLOCKED = (
    "import fcntl, sys; fcntl.flock = lambda *_: None\n"
    "from evalsampling.cli import main; main(sys.argv[1:])"
)
"""The command of a machine that does not see the locks of this one."""


@pytest.mark.slow
def test_two_machines_one_disk(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one takes ours for a killed command: ours fails, nothing is broken."""
    one = job().prepared()
    write, other = Commit.write, []

    def late(self: Commit, *arguments: Any, **named: Any) -> None:
        if not other:
            command = [sys.executable, "-c", UNLOCKED, "estimate", str(one.workspace)]
            other.append(subprocess.run(command, check=True, capture_output=True))
        write(self, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Commit, "write", late)
        assert one.sample().status == 1
    assert call("status", one.workspace, "--json").json["rounds"] == 0
    assert one.sample().json["rows"] == 20


def test_a_round_and_its_labels_come_in_while_another_reads(
    job: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job().prepared()
    read, done = rounds.at_once, []

    def late(function: Any, names: Any) -> Any:
        found = read(function, names)
        if not done and getattr(function, "func", None) == RoundFiles.read:
            done.append(None)
            one.sample()
            one.answer(1)
        return found

    monkeypatch.setattr(rounds, "at_once", late)
    before = call("status", one.workspace, "--json").json
    assert (before["rounds"], before["labels"]) == (0, 0)
    after = call("status", one.workspace, "--json").json
    assert (after["rounds"], after["labels"]) == (1, 20)


def test_a_round_is_withdrawn_and_replaced_while_another_reads(
    job: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts as withdrawn, not beside the round that was drawn in its place."""
    one = job().drawn()
    read, done = snapshot.read_deliveries, []

    def late(workspace: Workspace) -> Any:
        found = read(workspace)
        if not done:
            done.append(None)
            one.sample("--withdraw", 1)
            one.sample()
        return found

    monkeypatch.setattr(snapshot, "read_deliveries", late)
    meanwhile, after = Snapshot.at(one.workspace), Snapshot.at(one.workspace)
    assert len(after.rounds) == 2
    assert meanwhile.withdrawn == after.withdrawn == {1}
    assert meanwhile.tasks == after.tasks


def test_another_round_comes_in_before_ours_is_told(
    job: Jobs, bucket: storage.Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job()
    url = move(one, bucket)
    prepare(bucket)
    new_batch, other = Workspace.new_batch, []

    @contextlib.contextmanager
    def late(self: Workspace, *arguments: Any) -> Iterator[Commit]:
        with new_batch(self, *arguments) as files:
            yield files
        if not other:
            other.append(None)
            other.append(call("sample", url, "--next", "--json").json)

    monkeypatch.setattr(Workspace, "new_batch", late)
    told = call("sample", url, "--json").json
    first, second = Snapshot.at(url).rounds
    assert (told["round"], told["batch"]) == (1, first.exported)
    assert (other[1]["round"], other[1]["batch"]) == (2, second.exported)


def test_a_launcher_that_is_gone_takes_nothing_from_its_job(
    job: Jobs, bucket: storage.Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job()
    url = move(one, bucket)
    commit, kept = Preparation.commit, []

    def lose(*arguments: Any, **named: Any) -> None:
        kept.append((arguments, named))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Preparation, "commit", lose)
        assert prepare(bucket).status == 1
    arguments, named = kept[0]
    commit(*arguments, **named)
    assert call("sample", url, "--json").json["rows"] == 20


def test_parts_that_were_removed_are_missed(
    job: Jobs, bucket: storage.Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job()
    url = move(one, bucket)
    commit, name = Preparation.commit, bucket.name

    def late(*arguments: Any, **named: Any) -> Any:
        there = storage.Client(project=None).bucket(name)
        part = next(b for b in there.list_blobs() if "/reserve/" in b.name)
        part.delete()
        return commit(*arguments, **named)

    monkeypatch.setattr(Preparation, "commit", late)
    assert f"{url}: files of it were removed meanwhile" in prepare(bucket).err
    assert not [name for name in objects(bucket) if "/run/" in name]


def test_a_slash_at_the_end_names_the_same_workspace(job: Jobs, bucket: storage.Bucket) -> None:
    one = job()
    url = move(one, bucket)
    first = prepare(bucket).json
    spec = bucket.blob("specs/evaluation.yaml")
    content = yaml.safe_load(spec.download_as_bytes())
    spec.upload_from_string(yaml.safe_dump({**content, "workspace": f"{url}/"}))
    assert prepare(bucket).json == first


def test_nothing_may_be_deleted(
    job: Jobs, bucket: storage.Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One clear error, and the workspace is whole for those who only read."""
    one = job()
    url = move(one, bucket)

    def refuse(*_: Any, **__: Any) -> None:
        raise exceptions.Forbidden("no storage.objects.delete")

    with monkeypatch.context() as patch:
        patch.setattr(storage.Blob, "delete", refuse)
        result = prepare(bucket)
        assert result.status == 1
        assert "access denied: 403 no storage.objects.delete" in result.err
        assert call("status", url, "--json").json["prepared"]["rows"] == 2000
    assert call("sample", url, "--json").json["rows"] == 20


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP], ids=["EPERM", "ENOTSUP"])
def test_a_file_system_without_hard_links(
    job: Jobs, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    one = job()
    monkeypatch.setattr(os, "link", refuse)
    result = one.prepare()
    assert result.status == 1
    assert f"{one.workspace}: its file system makes no hard links" in result.err
    assert result.err.count("\n") == 1
    assert not one.workspace.exists()
