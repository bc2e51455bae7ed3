"""Runs a command as a Beam job."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from evalsampling.commands.options import WorkspaceOptions, job_arguments
from evalsampling.workspace.workspace import Workspace


def through_pipeline(
    job: Callable[[Sequence[str]], None], options: WorkspaceOptions, beam: Sequence[str]
) -> Any:
    """Run a job that does the work of a command, and return the object that the job wrote."""
    workspace = Workspace(options.workspace)
    workspace.check_prepared()
    located = dataclasses.replace(options, workspace=workspace.path)
    with workspace.temporary_result() as (url, read):
        job([*job_arguments(located), f"--output={url}", *beam])
        return read()
