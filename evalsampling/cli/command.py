"""What the command line knows of a command."""

import argparse
import contextlib
import dataclasses
import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evalsampling.commands.options import WorkspaceOptions, job_arguments
from evalsampling.commands.result import Result
from evalsampling.workspace.workspace import Workspace


class Beam(enum.Enum):
    """Whether a command runs on Beam, so that options of Beam may follow its own."""

    NEVER = enum.auto()
    WITH_RUNNER = enum.auto()
    ALWAYS = enum.auto()


@dataclasses.dataclass(frozen=True)
class Command:
    """One command.

    Attributes:
        name: of the command.
        help: what it does.
        add_options: adds its own options to its parser.
        run: does what parsed arguments ask for.
        text: says in words what came of it.
        beam: whether it runs on Beam.
        failed: whether a result is bad news, which the exit code 1 tells.
    """

    name: str
    help: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Result]
    text: Callable[[argparse.Namespace, Any], str]
    beam: Beam = Beam.NEVER
    failed: Callable[[Any], bool] = lambda _: False


@contextlib.contextmanager
def through_pipeline(
    job: Callable[[Sequence[str]], None], options: WorkspaceOptions, beam: Sequence[str]
) -> Iterator[Any]:
    """Run a job that does the work of a command, and give the object it wrote to its output.

    Args:
        job: `main` of a pipeline.
        options: of the command.
        beam: Beam's options.

    Raises:
        InputError: if the workspace is not prepared, or as the job says.
    """
    workspace = Workspace(options.workspace)
    workspace.check_prepared()
    here = dataclasses.replace(options, workspace=workspace.path)
    with workspace.temporary_result() as (url, read):
        job([*job_arguments(here), f"--output={url}", *beam])
        yield read()
