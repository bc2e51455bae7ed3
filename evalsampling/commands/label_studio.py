"""Batches to a server of Label Studio, and votes back."""

import dataclasses
import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from evalsampling.commands.options import WorkspaceOptions, flag, option, positive
from evalsampling.commands.outputs import OVERWRITE, check_outputs
from evalsampling.commands.result import Result
from evalsampling.errors import InputError, UsageError
from evalsampling.labels.label_studio import CONFIG, FOLDER, TOKEN
from evalsampling.storage import replace_file
from evalsampling.storage.outputs import Output
from evalsampling.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from evalsampling.labels.label_studio_server import LabelStudio


@dataclasses.dataclass(frozen=True)
class BatchOptions(WorkspaceOptions):
    """Which batch, and on which server."""

    url: str = option(f"of the server; the key is in {TOKEN}", metavar="URL", required=True)
    round: int | None = option("round (default: the last)", type=positive, metavar="N")
    adjudication: bool = flag("the last adjudication batch, or that of --round")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PullOptions(BatchOptions):
    """Where to put the votes, too."""

    to: str = option("file of votes to write, .json", metavar="FILE", required=True)
    overwrite: bool = flag(OVERWRITE)


@dataclasses.dataclass(frozen=True)
class PushResult(Result):
    """A batch by its number, its project on the server, its tasks there, and how many are new."""

    round: int
    project: int
    title: str
    tasks: int
    new: int


@dataclasses.dataclass(frozen=True)
class PullResult(Result):
    """A batch by its number, and the file of its votes, for `estimate --labels`."""

    round: int
    file: str
    bytes: int


@dataclasses.dataclass(frozen=True)
class _Votes(Output):
    """Votes that were fetched before: all are on tasks of the workspace."""

    tasks: Collection[str] = ()

    def is_ours(self, file: pa.NativeFile) -> bool:
        try:
            return {entry["data"]["task"] for entry in json.loads(file.read())} <= {*self.tasks}
        except (KeyError, TypeError, ValueError):
            return False  # No votes of Label Studio.


def push(options: BatchOptions) -> PushResult:
    """Put a batch on a server of Label Studio; twice is once."""
    snapshot = Snapshot.at(options.workspace)
    number, title, folder = _batch(snapshot, options)
    spec, store = snapshot.pool.spec, snapshot.pool.workspace.store
    server = _server(options)
    files = [name for name in store.names(folder) if name.startswith("tasks-")]
    tasks = [task for name in files for task in json.loads(store.read(f"{folder}/{name}"))]
    if not files or not store.exists(f"{folder}/{CONFIG}"):
        raise InputError(
            f"{store.url(folder)}: files of the batch are missing, and `push` sends these"
        )
    config = store.read(f"{folder}/{CONFIG}").decode()
    votes = 1 if options.adjudication else spec.labels.votes
    project, there, new = server.push(title, config, tasks, votes, spec.sink.chunk)
    return PushResult(number, project, title, there, new)


def pull(options: PullOptions) -> PullResult:
    """Fetch the votes of a batch from a server of Label Studio into a file."""
    path = Path(options.to)
    if path.suffix != ".json":
        raise UsageError(f"--to: {options.to}: the file of votes must end in .json")
    snapshot = Snapshot.at(options.workspace)
    earlier = _Votes(options.to, tasks=snapshot.subject_of_task.keys())
    check_outputs(snapshot.pool, [earlier], options.overwrite)
    number, title, _ = _batch(snapshot, options)
    content = _server(options).pull(title)
    replace_file(str(path), content)
    return PullResult(number, str(path), len(content))


def _server(options: BatchOptions) -> "LabelStudio":
    from evalsampling.labels.label_studio_server import LabelStudio  # Its help needs no `requests`.

    return LabelStudio(options.url, os.environ.get(TOKEN, "").strip())


def _batch(snapshot: Snapshot, options: BatchOptions) -> tuple[int, str, str]:
    """Return number, title on the server and folder of the batch that is meant."""
    workspace, spec = snapshot.pool.workspace, snapshot.pool.spec
    if spec.sink.format != "label-studio":
        raise InputError(f"{workspace.path}: sink.format is {spec.sink.format}, not label-studio")
    command = "sample"
    if options.adjudication:
        command = "sample --adjudicate"
        folders = {tasks.number: tasks.folder for tasks in snapshot.adjudications}
    else:
        folders = {files.number: files.folder for files in snapshot.standing if files.exported}
    number = options.round or max(folders, default=0)
    if number not in folders:
        which = str(number) if number else f"to send or fetch: `evalsampling {command}` makes one"
        raise InputError(f"{workspace.path}: there is no batch {which}")
    name = snapshot.pool.batch_name(-number if options.adjudication else number)
    return number, f"evalsampling {name}", f"{folders[number]}/{FOLDER}"
