"""A disk that is full from some write on, and a workspace nobody may write to."""

import csv
import errno
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.verify import verify
from tests.faults.operations import CHANGES, WRITES, faults, full
from tests.jobs import Job, Jobs, call, files_below, make_pool
from tests.slow import fast

COMMANDS = ["sample", "estimate", "next"]
BEAM = "--direct_num_workers=2"


def commands(one: Job) -> dict[str, Sequence[Any]]:
    """Return command lines on a workspace whose first round is open."""
    labels = one.deliver([*one.answers(1)[:3], ["nobody", "1"]])
    return {
        "estimate": ("estimate", one.workspace, "--labels", labels),
        "next": ("sample", one.workspace, "--next"),
    }


@pytest.fixture
def prepared(job: Jobs) -> Job:
    one = job(make_pool(300), budget=20, round_size=5, strata={"leaves": 3}).prepared()
    return one


def arguments(one: Job, command: str) -> Sequence[Any]:
    """Bring a workspace to where a command has something to do, and return its command line."""
    if command == "sample":
        return ("sample", one.workspace)
    assert one.sample().status == 0
    return commands(one)[command]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_full_from_every_write_on(prepared: Job, command: str) -> None:
    """Then it has room again."""
    one = prepared
    line, kept = arguments(one, command), one.directory / "kept"
    shutil.copytree(one.workspace, kept)
    before = files_below(kept)
    with faults(WRITES, None) as counted:
        assert call(*line).status == 0
    after = set(files_below(one.workspace))
    for number in range(1, counted.done + 1):
        shutil.rmtree(one.workspace)
        shutil.copytree(kept, one.workspace)
        with faults(WRITES, number, full):
            result = call(*line)
        assert (result.status, result.err.count("\n")) == (1, 1), (number, result.err)
        assert os.strerror(errno.ENOSPC) in result.err
        now = files_below(one.workspace)
        assert {name: now[name] for name in before} == before, "files are only added"
        # The note of a commit that is there and could not be flushed stays, else nothing does.
        notes = {name for name in now if name.startswith(".unfinished/")}
        assert set(now) - notes <= after, number
        assert not notes or not set(now) <= set(before) | notes, number
        assert verify(WorkspaceOptions(str(one.workspace))).bad == (), number
        assert call(*line).status == 0
        assert set(files_below(one.workspace)) >= after, number


FILES = {
    "sample": {"batch.csv", "batch.parquet", "draws.parquet", "sample-0001.json", "design.json"},
    "estimate": {"0001.json", "jobs", "labels", "estimates"},
    "next": {"batch.csv", "sample-0002.json", "closed.json", "design.json"},
}
"""Files and folders that a command writes, at the least."""

UNNAMED: list[tuple[Any, str]] = [
    (os, "fsync"),
    (Path, "write_bytes"),
    (pq, "write_table"),
    (csv, "writer"),
]
"""Operations whose errors name no file, as the system raises them."""


@pytest.mark.parametrize("command", fast(1, COMMANDS))
def test_the_file_without_room_is_named(prepared: Job, command: str) -> None:
    line, kept = arguments(prepared, command), prepared.directory / "kept"
    shutil.copytree(prepared.workspace, kept)
    with faults(UNNAMED, None) as counted:
        assert call(*line).status == 0
    named = set()
    for number in range(1, counted.done + 1):
        shutil.rmtree(prepared.workspace)
        shutil.copytree(kept, prepared.workspace)
        with faults(UNNAMED, number, full):
            error = call(*line).err
        start, _, said = error.strip().rpartition(": ")
        path = Path(start.rpartition(": ")[2])
        assert (path.is_absolute(), said) == (True, os.strerror(errno.ENOSPC)), error
        assert ".unfinished" not in path.parts[:-1], "people know the file by its name"
        named.add(re.sub(r"part-\d+", "part", path.name))  # Which part follows from the key.
    assert named >= FILES[command]


@pytest.mark.slow
def test_prepare_full_from_every_write_on(job: Jobs) -> None:
    one = job(make_pool(300), strata={"leaves": 3})
    with faults(WRITES, None) as counted:
        assert one.prepare(BEAM).status == 0
    names = set(files_below(one.workspace))
    for number in range(1, counted.done + 1):
        shutil.rmtree(one.workspace)
        with faults(WRITES, number, full):
            result = one.prepare(BEAM)
        assert (result.status, result.err.count("\n")) == (1, 1), (number, result.err)
        assert os.strerror(errno.ENOSPC) in result.err
        if (one.workspace / "evaluation.json").exists():
            assert verify(WorkspaceOptions(str(one.workspace))).bad == (), number
        else:
            assert not one.workspace.exists(), number
        assert one.prepare(BEAM).status == 0
        assert names <= set(files_below(one.workspace)), number


@pytest.mark.parametrize("command", COMMANDS)
def test_nobody_may_write(prepared: Job, command: str) -> None:
    line = arguments(prepared, command)
    before = files_below(prepared.workspace)

    def refused() -> OSError:
        return OSError(errno.EROFS, os.strerror(errno.EROFS))

    with faults([*CHANGES, (Path, "touch"), (Path, "open")], 1, refused):
        result = call(*line)
    assert (result.status, result.err.count("\n")) == (1, 1), result.err
    assert "Read-only file system" in result.err
    assert files_below(prepared.workspace) == before
    assert call(*line).status == 0
