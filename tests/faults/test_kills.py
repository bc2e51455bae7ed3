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

from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.verify import verify
from evalsampling.storage import open_store
from evalsampling.storage.commits import uncommitted
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.faults.contents import known
from tests.faults.operations import CHANGES, Killed, faults
from tests.jobs import Jobs, call, make_pool

COMMANDS = ["prepare", "sample", "estimate", "next", "top-up"]


@dataclasses.dataclass
class Case:
    """A command on a workspace that can be put back as it was.

    Attributes:
        workspace: its path.
        arguments: of the command line.
        reset: puts everything back.
    """

    workspace: str
    arguments: Sequence[Any]
    reset: Callable[[], None]

    def run(self) -> None:
        """Run the command to its end."""
        assert call(*self.arguments, "--json").done

    def count(self) -> int:
        """Return how many operations it takes."""
        self.reset()
        with faults(CHANGES, None) as counted:
            self.run()
        return counted.done

    def kill(self, at: int) -> None:
        """Run the command, killed at an operation."""
        self.reset()
        # Killed in a worker of Beam, it ends with the second.
        with faults(CHANGES, at), contextlib.suppress(Killed, RuntimeError):
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

    Costs of steps are told by who waited to the end; the lock of a killed `prepare` stays.
    The rows of a top-up that was killed are in the files of two, which must hold the same rows.
    """
    loose = (".unfinished/", ".in-use", ".preparing", "steps/")
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

        arguments = {
            "prepare": ("prepare", one.spec),
            "top-up": ("prepare", one.spec, "--top-up", "30"),
            "sample": ("sample", here),
            "next": ("sample", here, "--next"),
            "estimate": ("estimate", here, "--labels", zone, "--close"),
        }
        return Case(str(here), arguments[command], reset)

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
