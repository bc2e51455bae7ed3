"""Commands killed between the file of a commit and their end, and a workspace that is read-only."""

import contextlib
import errno
import os
from typing import Any

import pytest

from evalsampling.storage.local import LocalStore
from tests.faults.operations import Killed
from tests.jobs import Jobs, call


@contextlib.contextmanager
def killed_when_it_counts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Kill a command when its commit is written, and its note is there still."""

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "remove", die)
        yield


READERS = ["status", "status --verify"]


@pytest.mark.parametrize("reader", READERS)
def test_a_round_is_whole_when_it_counts(
    job: Jobs, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    one = job().prepared()
    with killed_when_it_counts(monkeypatch), pytest.raises(Killed):
        one.sample()
    assert list((one.workspace / ".unfinished").glob("*.json"))
    read = call(*reader.split(), one.workspace)
    assert (read.status, "killed" in read.out) == (0, False)
    assert one.answer(1).json["labels"] == 20
    assert list((one.workspace / ".unfinished").iterdir()) == []


@pytest.mark.parametrize("again", ["prepare", *READERS])
def test_a_prepared_workspace_is_whole_when_it_counts(
    job: Jobs, monkeypatch: pytest.MonkeyPatch, again: str
) -> None:
    one = job()
    with killed_when_it_counts(monkeypatch), pytest.raises((Killed, RuntimeError)):
        one.prepare()
    assert (one.workspace / "evaluation.json").exists()
    done = one.prepare() if again == "prepare" else call(*again.split(), one.workspace)
    assert done.status == 0
    assert one.sample().json["rows"] == 20


def test_readers_of_a_workspace_that_nobody_may_write_to(
    job: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a round whose command was killed before its end."""
    one = job().prepared()
    with killed_when_it_counts(monkeypatch), pytest.raises(Killed):
        one.sample()

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        for name in ("link", "mkdir", "rename", "unlink", "rmdir"):
            patch.setattr(os, name, refuse)
        for command in READERS:
            result = call(*command.split(), one.workspace, "--json")
            assert (result.status, result.err) == (0, "")
        status = call("status", one.workspace, "--json").json
        assert (status["rounds"], status["open"]) == (1, 20)
        writing = one.sample()
        assert (writing.status, writing.err.count("\n")) == (1, 1)
        assert "Read-only file system" in writing.err
    assert one.sample().json["rows"] == 20
