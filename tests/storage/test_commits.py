"""Commits: all of their files come in or none, whoever is killed or meets whom."""

import json
import math
from typing import Any

import pytest

from evalsampling.storage import Store
from evalsampling.storage.checksums import checksums_of, place_of
from evalsampling.storage.commits import begin, uncommitted
from tests.faults.operations import Killed
from tests.storage.commits import fill


def everything(store: Store) -> dict[str, bytes]:
    """Names and contents of all files, but for the lock."""
    return {name: store.read(name) for name in sorted(store.sizes()) if name != ".in-use"}


def committed(store: Store) -> list[bytes]:
    """Contents of the files that the commit names."""
    files = checksums_of(store.read_json("marker.json"))
    return [store.read(place_of(name, files)) for name in ("one.txt", "two.txt")]


def contents(told: str) -> list[bytes]:
    return [f"a/one.txt {told}".encode(), f"a/deep/two.txt {told}".encode()]


def test_files_come_in_as_a_whole(store: Store) -> None:
    fill(store, "marker.json", "mine")
    found = everything(store)
    assert json.loads(found.pop("marker.json"))["content"] == "mine"
    assert (committed(store), len(found)) == (contents("mine"), 2)


def test_files_that_are_given_up(store: Store) -> None:
    fill(store, "marker.json", "mine", commit=False)
    with pytest.raises(ZeroDivisionError), begin(store, "a") as files:
        files.path("x").write_text(str(1 / 0))

    with begin(store, "a") as files:
        files.path("x").write_text("x")
        with pytest.raises(ValueError, match="not JSON compliant"):
            files.write("marker.json", {}, {"jobs/x.json": {"no JSON": math.nan}})
    assert everything(store) == {}


def test_the_second_of_two_commits_is_lost(store: Store) -> None:
    fill(store, "marker.json", "first")
    before = everything(store)
    with pytest.raises(FileExistsError):
        fill(store, "marker.json", "second")
    assert everything(store) == before


STEPS = ["create-1", "create-2", "create-3", "create-4", "read_json", "remove"]
"""The note, two files and the marker are created; whose that is, is read; the note is removed."""


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_every_step(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str, late: bool
) -> None:
    """All of a commit comes in or nothing, and another one with its marker in the other case."""
    name, _, number = step.partition("-")
    done, calls = getattr(store, name), []

    def die(*arguments: Any) -> Any:
        calls.append(arguments)
        last = len(calls) >= int(number or 1)
        if last and not late:
            raise Killed
        result = done(*arguments)
        if last:
            raise Killed
        return result

    with monkeypatch.context() as patch:
        patch.setattr(store, name, die)
        with pytest.raises(Killed):
            fill(store, "marker.json", "mine")
    counts = store.exists("marker.json")
    assert counts == (STEPS.index(step) >= 4 or (step == "create-4" and late))
    if counts:
        assert committed(store) == contents("mine")
        with pytest.raises(FileExistsError):
            fill(store, "marker.json", "another")
        assert committed(store) == contents("mine")
    else:
        assert {name for name in everything(store) if name[0] != "."} <= uncommitted(store)
    with store.one_at_a_time():
        pass
    if not counts:
        assert store.shared or everything(store) == {}
        fill(store, "marker.json", "another")
        assert committed(store) == contents("another")
    if not store.shared:
        assert {*everything(store)} == {"marker.json", "a/one.txt", "a/deep/two.txt"}


def test_what_killed_rivals_left_of_a_commit_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A note may name files of the rival that won: a directory whose locks are not seen."""
    fill(store, "marker.json", "mine")
    before = everything(store)
    store.write_json(".unfinished/x.json", {"marker": "marker.json", "files": sorted(before)[:2]})
    with store.one_at_a_time():
        pass
    assert {name: everything(store)[name] for name in before} == before
