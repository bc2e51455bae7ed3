"""Runs a command as a Beam job."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evalsampling.commands.options import WorkspaceOptions, job_arguments
from evalsampling.workspace.workspace import Workspace


@contextlib.contextmanager
def through_pipeline(
    job: Callable[[Sequence[str]], None], options: WorkspaceOptions, beam: Sequence[str]
) -> Iterator[Any]:
    """Run a job that does the work of a command, and yield the object that the job wrote.

    Args:
        job: `main` of a pipeline.
        options: of the command.
        beam: Beam's options.

    Raises:
        InputError: if the workspace is not prepared, or as the job says.
    """
    workspace = Workspace(options.workspace)
    workspace.check_prepared()
    located = dataclasses.replace(options, workspace=workspace.path)
    with workspace.temporary_result() as (url, read):
        job([*job_arguments(located), f"--output={url}", *beam])
        yield read()
