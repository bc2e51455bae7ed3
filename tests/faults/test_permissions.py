"""A workspace of another user: what may not be written to, or not even read, in one line each."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evalsampling.storage.local import LocalStore
from tests.commands.votes import deliver
from tests.faults.operations import Killed
from tests.jobs import Job, Jobs, Result, call, files_below, make_pool
from tests.slow import fast

NOBODY = 65534

WRITERS = [
    "sample", "next", "adjudicate", "withdraw", "labels", "measure", "close", "budget",
    "top-up",
]  # fmt: skip
READERS = ["status", "verify", "again", "check", "report", "export"]
OUTSIDE = {"report.html": "report", "votes.csv": "export", "other.yaml": "init", "run": "prepare"}
"""What is written elsewhere, by its command."""

RUN = """
import dataclasses, json, sys
from tests.jobs import call
print(json.dumps([dataclasses.astuple(call(*line)) for line in json.load(sys.stdin)]))
"""


def unprivileged(lines: Sequence[Sequence[Any]]) -> list[Result]:
    """Call the command line in a process that permissions hold for, root's too."""
    command = [sys.executable, "-c", RUN]
    if os.geteuid() == 0:
        rights = "-dac_override,-dac_read_search,-fowner"
        command = ["setpriv", f"--bounding-set={rights}", *command]
    told = json.dumps([list(map(str, line)) for line in lines])
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=True)
    return [Result(*one) for one in json.loads(done.stdout.splitlines()[-1])]


def give(path: Path, folders: int, files: int) -> None:
    """Let all that is below a path belong to nobody, where we may, with such permissions."""
    is_folder = path.is_dir()
    if is_folder:
        path.chmod(0o777)
        for one in path.iterdir():
            give(one, folders, files)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    path.chmod(folders if is_folder else files)


@dataclasses.dataclass
class Foreign:
    """A workspace that is about to belong to somebody else.

    Attributes:
        job: whose workspace it is, with a round of which rows are disputed.
        outside: a folder beside it.
        lines: command lines, by what they do.
    """

    job: Job
    outside: Path
    lines: dict[str, Sequence[Any]]

    def run(self, *names: str) -> dict[str, Result]:
        return dict(zip(names, unprivileged([self.lines[name] for name in names]), strict=True))


@pytest.fixture
def foreign(job: Jobs) -> Any:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may do everything, and there is no setpriv to give that up")
    one = job(
        make_pool(200), budget=60, round_size=5, strata={"leaves": 3}, labels={"votes": 2}
    ).drawn()
    rows = [(task, name, said, "", "") for task, _ in one.answers(1)
            for name, said in (("a", "0"), ("b", "1"))]  # fmt: skip
    assert one.estimate("--labels", deliver(one, rows, "1.csv")).status == 0
    more = deliver(one, [(task, "c", "1", "", "") for task, _, _, _, _ in rows[::2]], "2.csv")
    outside, run = one.directory / "outside", one.workspace
    outside.mkdir()
    (one.directory / "other.yaml").write_text(
        one.spec.read_text().replace("workspace: workspace", "workspace: outside/run")
    )
    yield Foreign(one, outside, {
        "sample": ("sample", run), "next": ("sample", run, "--next"),
        "adjudicate": ("sample", run, "--adjudicate"), "withdraw": ("sample", run, "--withdraw", 1),
        "labels": ("estimate", run, "--labels", more), "close": ("estimate", run, "--close"),
        "measure": ("estimate", run, "--measure", "recall"),
        "budget": ("sample", run, "--budget", 100),
        "top-up": ("prepare", one.spec, "--top-up", 50),
        "status": ("status", run), "verify": ("status", run, "--verify"),
        "again": ("prepare", one.spec),
        "check": ("prepare", one.spec, "--check"),
        "report": ("report", run, "--to", outside / "report.html"),
        "export": ("export", run, "--to", outside / "votes.csv"),
        "init": ("init", one.directory / "pool" / "*.parquet", "--output", outside / "other.yaml"),
        "prepare": ("prepare", one.directory / "other.yaml", "--in-process"),
    })  # fmt: skip
    for path in (outside, one.workspace):  # so that pytest may remove them
        if path.exists():
            give(path, 0o777, 0o666)


def one_line(result: Result, path: Path) -> None:
    """Check that a command failed with one clear line that begins with a path or what is in it."""
    assert (result.status, result.out, result.err.count("\n")) == (1, "", 1), result.err
    assert result.err.partition(": ")[2].startswith(str(path)), result.err
    assert result.err.endswith(": Permission denied\n")
    assert "Errno" not in result.err


@pytest.mark.slow
def test_nothing_may_be_written(foreign: Foreign) -> None:
    """Who only reads is served; who would write is told the file, and nothing has changed."""
    give(foreign.job.workspace, 0o755, 0o644)
    before = files_below(foreign.job.directory)
    for name, result in foreign.run(*WRITERS).items():
        one_line(result, foreign.job.workspace)
        assert ".in-use: cannot be written" in result.err, name
    assert files_below(foreign.job.directory) == before
    for name, result in foreign.run(*READERS).items():
        assert result.status == 0, (name, result.err)
    assert files_below(foreign.job.workspace) == {
        name.removeprefix("workspace/"): content
        for name, content in before.items()
        if name.startswith("workspace/")
    }


@pytest.mark.slow
def test_nothing_may_be_written_elsewhere(foreign: Foreign) -> None:
    give(foreign.outside, 0o755, 0o644)
    before = files_below(foreign.job.directory)
    results = foreign.run(*OUTSIDE.values())
    for name, command in OUTSIDE.items():
        one_line(results[command], (foreign.outside / name).with_suffix(""))
    assert files_below(foreign.job.directory) == before
    assert list(foreign.outside.iterdir()) == []


@pytest.mark.slow
def test_nothing_may_be_read(foreign: Foreign) -> None:
    give(foreign.job.workspace, 0o700 if os.geteuid() == 0 else 0, 0o600)
    for result in foreign.run(*WRITERS, *READERS).values():
        one_line(result, foreign.job.workspace / "evaluation.json")
    assert list(foreign.outside.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("folder", fast(2, ["labels", "rounds/0001", "reserve"]))
def test_a_folder_that_may_not_be_read(foreign: Foreign, folder: str) -> None:
    """Nothing is said to be missing that was not looked at."""
    path = foreign.job.workspace / folder
    path.mkdir(parents=True, exist_ok=True)
    (path / "held").write_text("payload")
    give(foreign.job.workspace, 0o777, 0o666)
    give(path, 0o700 if os.geteuid() == 0 else 0, 0o600)
    one_line(foreign.run("verify")["verify"], path)
    (path / "held").unlink()


@pytest.mark.slow
@pytest.mark.parametrize("folders", [0o755, 0o777])
def test_a_round_of_another_user_whose_command_was_killed(
    foreign: Foreign, monkeypatch: pytest.MonkeyPatch, folders: int
) -> None:
    """Who reads goes on with it, also where all folders may be written to."""
    one = foreign.job

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "remove", die)
        with pytest.raises(Killed):
            call(*foreign.lines["next"])
    give(one.workspace, folders, 0o444)
    (one.workspace / ".in-use").chmod(0o666)
    before = files_below(one.workspace)
    refused = ["sample"] if folders == 0o755 else []
    results = foreign.run("status", "verify", "report", *refused)
    if told := results.pop("sample", None):
        assert (told.status, told.err.count("\n")) == (1, 1)
        assert told.err.startswith(f"evalsampling sample: {one.workspace}/"), told.err
        assert "cannot be written: " in told.err
        assert files_below(one.workspace) == before
    for result in results.values():
        assert result.status == 0, result.err
    give(one.workspace, 0o777, 0o666)
    assert foreign.run("sample")["sample"].status == 0
    assert call("status", "--verify", one.workspace).status == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder",
    ["labels", "jobs", *(pytest.param(n, marks=pytest.mark.slow) for n in ("taken", "rounds"))],
)
def test_a_folder_that_may_not_be_written_to(foreign: Foreign, folder: str) -> None:
    """What had begun is whole or does not count, whatever had its place already."""
    one, names = foreign.job, ("labels", "next")
    shutil.copytree(one.workspace, one.directory / "kept")
    for name in names:
        shutil.rmtree(one.workspace)
        shutil.copytree(one.directory / "kept", one.workspace)
        give(one.workspace / folder, 0o555, 0o444)
        told, *reading = foreign.run(name, "status", "verify").values()
        if told.status:
            one_line(told, one.workspace / folder)
        assert {each.status for each in reading} == {0}, reading
        give(one.workspace, 0o777, 0o666)
        assert call(*foreign.lines[name]).done
        assert call("status", "--verify", one.workspace).status == 0
        labels = call("status", one.workspace, "--json").json["labels"]
        assert labels == (5 if name == "labels" else 0)
