"""Commands killed at each file operation, and run again: as if nothing had happened."""

import contextlib
import dataclasses
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.cloud import storage

from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.verify import verify
from evalsampling.storage import open_store
from evalsampling.storage.commits import uncommitted
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace
from tests.faults.contents import known
from tests.faults.operations import CHANGES, REQUESTS, Killed, faults
from tests.jobs import Jobs, call, make_pool
from tests.stores import move

COMMANDS = ["prepare", "sample", "estimate", "next", "top-up"]


@dataclasses.dataclass
class Case:
    """A command on a workspace that can be put back as it was.

    Attributes:
        workspace: path or URL.
        arguments: of the command line.
        reset: puts everything back.
        operations: those at which it is killed.
    """

    workspace: str
    arguments: Sequence[Any]
    reset: Callable[[], None]
    operations: list[tuple[Any, str]]

    def run(self) -> Any:
        """Run the command to its end and return what it prints."""
        result = call(*self.arguments, "--json").done
        return result.json

    def count(self) -> int:
        """Return how many operations it takes."""
        self.reset()
        with faults(self.operations, None) as counted:
            self.run()
        return counted.done

    def kill(self, at: int) -> None:
        """Run the command, killed at an operation."""
        self.reset()
        # Killed in a worker of Beam, it ends with the second.
        with faults(self.operations, at), contextlib.suppress(Killed, RuntimeError):
            call(*self.arguments, "--json")

    def outcome(self) -> tuple[Any, ...]:
        """Return names of all files, the rows held, and everything that estimates are made of."""
        assert verify(WorkspaceOptions(self.workspace)).bad == ()
        workspace = Workspace(self.workspace)
        store = workspace.store
        attempt = store.read_json("evaluation.json")["attempt"]
        loose, own = uncommitted(store), rf"-{attempt}|(?<=/)[0-9a-f]{{12,32}}/"
        names = [re.sub(own, "", n) for n in sorted(store.sizes()) if n not in loose and _counts(n)]
        places = PreparedPool.read(workspace).reserve.places().to_pylist()
        held = sorted(tuple(row.values()) for row in places)
        return sorted(names), known(workspace), held


def _counts(name: str) -> bool:
    """Tell whether a file must be there.

    The lock of a killed `prepare` stays, and so do, in a bucket, files that no commit names: nobody
    can know there that their writer is dead. The rows of a top-up that was killed are in the files
    of two, which must hold the same rows.
    """
    loose = (".unfinished/", ".in-use", ".preparing")
    return not name.startswith((*loose, "reserve/top-up-", "jobs/top-up-"))


def check(case: Case, at: Sequence[int]) -> None:
    """Kill a command at some of its operations; run again it does what it does undisturbed."""
    case.reset()
    case.run()
    expected = case.outcome()
    for number in at:
        case.kill(number)
        # Killed when all was done, but for what it says: this call then is the next one.
        finished = case.arguments[-1] == "--next" and _all_closed(case.workspace)
        case.run()
        if finished:
            assert tasks(known(Workspace(case.workspace)))[:2] == tasks(expected[1]), number
        else:
            assert case.outcome() == expected, number


def tasks(content: Any) -> list[Any]:
    """Return what each round asks, of what `known` returns."""
    return [task for _, _, task in content[4]]


def _all_closed(workspace: str) -> bool:
    store = open_store(workspace)
    return all(store.exists(f"rounds/{name}") for name in ("0001/closed.json", "0002/design.json"))


def lines(spec: Any, workspace: Any, zone: Any) -> dict[str, Sequence[Any]]:
    """Return the command lines that are killed."""
    return {
        "prepare": ("prepare", spec),
        "top-up": ("prepare", spec, "--top-up", "30"),
        "sample": ("sample", workspace),
        "next": ("sample", workspace, "--next"),
        "estimate": ("estimate", workspace, "--labels", zone, "--close"),
    }


@pytest.fixture
def local(job: Jobs, tmp_path: Path, one_key: None) -> Callable[[str], Case]:
    """Cases on this machine."""
    one = job(make_pool(300), budget=20, round_size=5, strata={"leaves": 3})

    def case(command: str) -> Case:
        kept, here = tmp_path / "kept", one.workspace
        zone = one.directory / "zone"
        if command != "prepare":
            one.prepare()
        if command in ("next", "estimate"):
            one.sample()
            zone.mkdir()
            one.deliver([*one.answers(1)[:2], ["nobody", "1"]], "zone/a.csv")
            one.deliver(one.answers(1)[2:3], "zone/b.csv")
        if here.exists():
            here.rename(kept)

        def reset() -> None:
            shutil.rmtree(here, ignore_errors=True)
            if kept.exists():
                shutil.copytree(kept, here)

        return Case(str(here), lines(one.spec, here, zone)[command], reset, CHANGES)

    return case


@pytest.mark.parametrize(("command", "wanted"), [("prepare", 3), ("estimate", 6)])
def test_killed_at_some_operations(local: Callable[[str], Case], command: str, wanted: int) -> None:
    case = local(command)
    count = case.count()
    assert count > 20
    check(case, sorted({*np.linspace(1, count, wanted).astype(int).tolist()}))


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_every_operation(local: Callable[[str], Case], command: str) -> None:
    case = local(command)
    check(case, range(1, case.count() + 1))


@pytest.fixture
def remote(
    job: Jobs, bucket: storage.Bucket, one_key: None, tmp_path: Path
) -> Callable[[str], Case]:
    """Cases in a bucket."""
    one = job(make_pool(300), budget=20, round_size=5, strata={"leaves": 3})
    url = move(one, bucket)
    spec = url.replace("/run", "/evaluation.yaml")

    def case(command: str) -> Case:
        if command != "prepare":
            assert call("prepare", spec).status == 0
        if command in ("next", "estimate"):
            call("sample", url)
            tasks = Snapshot.at(url).rounds[0].batch["task"].to_pylist()
            halves = {
                "a": [[tasks[0], "0"], [tasks[1], "0"], ["nobody", "1"]],
                "b": [[tasks[2], "0"]],
            }
            for name, rows in halves.items():
                blob = bucket.blob(f"zone/{name}.csv")
                blob.upload_from_filename(str(one.deliver(rows, f"{name}.csv")))
        kept = {blob.name: blob.download_as_bytes() for blob in bucket.list_blobs(prefix="specs/r")}

        def reset() -> None:
            for blob in bucket.list_blobs(prefix="specs/run/"):
                blob.delete()
            for name, content in kept.items():
                bucket.blob(name).upload_from_string(content)

        return Case(url, lines(spec, url, f"gs://{bucket.name}/zone/")[command], reset, REQUESTS)

    return case


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_every_request(remote: Callable[[str], Case], command: str) -> None:
    case = remote(command)
    check(case, range(1, case.count() + 1))
