"""Directories that are held for a prepare: files of others stay, those of a failed one go."""

import fcntl
import itertools
import threading
from pathlib import Path
from typing import Any

import pytest

from evalsampling.errors import InputError
from evalsampling.storage import open_store
from evalsampling.storage.preparing import check_free, preparing


@pytest.mark.parametrize("name", ["pool.csv", "pool.csv/run", "pool.csv/a/b"])
def test_a_file_where_a_directory_is_wanted(tmp_path: Path, name: str) -> None:
    (tmp_path / "pool.csv").touch()
    store = open_store(tmp_path / name)
    with pytest.raises(InputError, match=r"/pool\.csv: a file, where a directory is wanted"):
        check_free(store, [])
    with pytest.raises(InputError, match="a file"), preparing(store, "marker", "", []):
        pass


@pytest.mark.parametrize("_", range(20))
def test_a_worker_that_goes_on_leaves_nothing(tmp_path: Path, _: int) -> None:
    """Its job has failed, and it has not heard of it: the directory goes all the same."""
    store, wrote = open_store(tmp_path / "run"), threading.Event()
    ends: list[type[Exception]] = []

    def go_on() -> None:
        try:
            for file in itertools.count():
                store.create(f"scored/{file}", b"")
                wrote.set()
        except OSError as error:
            ends.append(type(error))

    def fail() -> None:
        with preparing(store, "marker", "", ["scored"]):
            worker.start()
            wrote.wait()
            raise ZeroDivisionError

    worker = threading.Thread(target=go_on)
    with pytest.raises(ZeroDivisionError):
        fail()
    worker.join(10)
    assert len(ends) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("when", "how"), [("flock", "finished"), ("flock", "failed"), ("exists", "finished")]
)
def test_a_prepare_that_loses_a_race_is_told_what_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, how: str
) -> None:
    """Another one ends when it has opened the file of the lock, or has seen the directory."""
    root = tmp_path / "run"
    other = preparing(open_store(root), "marker", "", ["scored"])
    other.__enter__()
    owner: Any = fcntl if when == "flock" else Path
    call = getattr(owner, when)

    def end_first(*arguments: Any) -> Any:
        seen = call(*arguments) if when == "exists" else None
        monkeypatch.undo()
        if how == "finished":
            (root / "marker").touch()
            (root / "cells").touch()
        other.__exit__(None, None, None)
        return seen if when == "exists" else call(*arguments)

    monkeypatch.setattr(owner, when, end_first)
    with (
        pytest.raises(InputError, match=f"another prepare has {how} there meanwhile"),
        preparing(open_store(root), "marker", "", ["scored"]),
    ):
        pytest.fail("it was given out")
    left = ["cells", "marker", "run"] if how == "finished" else []
    assert sorted(path.name for path in tmp_path.rglob("*")) == left
