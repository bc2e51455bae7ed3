"""The record by which the command line knows a command: options, function, text."""

import argparse
import dataclasses
import enum
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from evalsampling.commands.options import Options, WorkspaceOptions
    from evalsampling.commands.result import Result


class Beam(enum.Enum):
    """Whether a command runs on Beam, so that options of Beam may follow its own."""

    NEVER = enum.auto()
    WITH_RUNNER = enum.auto()
    ALWAYS = enum.auto()


@dataclasses.dataclass(frozen=True)
class Command:
    """One command; its name and its help are in `listing.COMMANDS`."""

    # adds the options of the command to a parser
    add_options: Callable[[argparse.ArgumentParser], None]
    # runs the command with parsed arguments and returns its result; gets what shows the result, for
    # a command that does more once it is shown
    run: Callable[[argparse.Namespace, Callable[[Any], None]], "Result"]
    text: Callable[[argparse.Namespace, Any], str]  # returns the text that is printed for a result
    beam: Beam = Beam.NEVER
    # returns lines for stderr about a result
    remarks: Callable[[Any], Iterable[str]] = lambda _: ()
    # whether a call reads rows of a pool, so that a user's scorer may run
    reads_pools: Callable[[argparse.Namespace], bool] = lambda _: False

    @classmethod
    def of(
        cls,
        options: type["Options"],
        function: "Callable[..., Result]",
        text: Callable[[argparse.Namespace, Any], str],
        beam: Beam = Beam.NEVER,
        **settings: Any,
    ) -> Self:
        """Return a command that only calls a function with its options."""
        from evalsampling.commands.options import add_to_command, read_options  # Help needs none.

        def run(arguments: argparse.Namespace, _: Any) -> "Result":
            given = read_options(options, arguments)
            return function(given) if beam is Beam.NEVER else function(given, arguments.beam)

        add_options = functools.partial(add_to_command, options=options)
        return cls(add_options, run, text, beam, **settings)


def through_pipeline(
    job: Callable[[Sequence[str]], int], options: "WorkspaceOptions", beam: Sequence[str]
) -> Any:
    """Run a Beam job that does the work of a command, and return the object that the job wrote."""
    from evalsampling.commands.options import job_arguments
    from evalsampling.workspace.workspace import Workspace

    workspace = Workspace(options.workspace)
    workspace.check_prepared()
    located = dataclasses.replace(options, workspace=workspace.path)
    with workspace.temporary_result() as (url, read):
        job([*job_arguments(located), f"--output={url}", *beam])
        return read()


def told(result: Any) -> Iterable[str]:
    """Return a line for each warning and each note of a result."""
    yield from (f"warning: {warning}" for warning in result.warnings)
    yield from (f"note: {note}" for note in getattr(result, "notes", ()))
