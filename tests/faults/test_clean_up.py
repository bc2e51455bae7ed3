"""What docs/workspace.md says may be removed, removed after a kill at a bad moment."""

import contextlib
import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsampling.storage import open_store
from evalsampling.storage.base import DRAFTS
from evalsampling.storage.local import LocalStore
from tests.jobs import Job, call


class Killed(BaseException):
    """A process that goes away at some point."""


@contextlib.contextmanager
def killed_before_settling(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Kill a command when its marker is written and nothing else is in place."""

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "place", die)
        yield


def remove_dots(workspace: Path) -> None:
    """Remove what begins with a dot, as the documentation allows when no job runs."""
    for path in workspace.glob(".*"):
        if path.name != ".preparing":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


READERS = ["status", "status --verify"]


@pytest.mark.parametrize("reader", READERS)
def test_a_round_outlives_the_clean_up(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    one = job()
    one.prepare()
    with killed_before_settling(monkeypatch), pytest.raises(Killed):
        one.sample()
    assert not (one.round_directory(1) / "draws.parquet").exists()
    assert call(*reader.split(), one.workspace).status == 0
    remove_dots(one.workspace)
    assert one.estimate("--labels", one.deliver(one.answers(1))).json["labels"] == 20


@pytest.mark.parametrize("again", ["prepare", *READERS])
def test_a_prepared_workspace_outlives_the_clean_up(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, again: str
) -> None:
    one = job()
    with killed_before_settling(monkeypatch), pytest.raises((Killed, RuntimeError)):
        one.prepare()
    assert (one.workspace / "evaluation.json").exists()
    assert not (one.workspace / "cells.parquet").exists()
    done = one.prepare() if again == "prepare" else call(*again.split(), one.workspace)
    assert done.status == 0
    remove_dots(one.workspace)
    assert one.sample().json["rows"] == 20


def test_a_draft_that_was_put_aside_comes_back(tmp_path: Path) -> None:
    """The sweep was killed between its two steps, and the draft counts."""
    store = open_store(tmp_path)
    with store.draft() as draft:
        draft.path("a").write_text("kept")
        store.hold(draft.directory, f"{DRAFTS}/{draft.name}")
        store.write_json(f"{DRAFTS}/{draft.name}/.marker", {"marker": "m.json"})
        draft.whole = True
        store.write_json("m.json", {"draft": draft.name})
    (tmp_path / DRAFTS / draft.name).rename(tmp_path / f".aside-{draft.name}")
    store.settle()
    assert (tmp_path / "a").read_text() == "kept"


def test_readers_of_a_workspace_that_nobody_may_write_to(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in order, nor with a round that is not in place."""
    one = job()
    one.prepare()
    with killed_before_settling(monkeypatch), pytest.raises(Killed):
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
