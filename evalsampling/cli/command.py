"""The record by which the command line knows a command: options, function, text."""

import argparse
import dataclasses
import enum
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from evalsampling.commands.options import Options
    from evalsampling.commands.result import Result


class Beam(enum.Enum):
    """Whether a command runs on Beam, so that options of Beam may follow its own."""

    NEVER = enum.auto()
    WITH_RUNNER = enum.auto()
    ALWAYS = enum.auto()


@dataclasses.dataclass(frozen=True)
class Command:
    """One command; its name and its help are in `listing.COMMANDS`.

    Attributes:
        add_options: adds the options of the command to a parser.
        run: runs the command with parsed arguments and returns its result.
        text: returns the text that is printed for a result.
        beam: whether it runs on Beam.
        status: exit code of a result.
        reads_pools: whether it reads rows of a pool, so that a user's scorer may run.
    """

    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], "Result"]
    text: Callable[[argparse.Namespace, Any], str]
    beam: Beam = Beam.NEVER
    status: Callable[[argparse.Namespace, Any], int] = lambda *_: 0
    reads_pools: bool = False

    @classmethod
    def of(
        cls,
        options: type["Options"],
        function: "Callable[[Options], Result]",
        text: Callable[[argparse.Namespace, Any], str],
        **settings: Any,
    ) -> Self:
        """Return the command that calls a function with its options and does nothing beside.

        Args:
            options: the dataclass of the function's options.
            function: what the command does.
            text: see `Command`, as of all other settings.
            **settings: see `Command`.
        """
        from evalsampling.commands.options import add_to_command, read_options  # Help needs none.

        def run(arguments: argparse.Namespace) -> "Result":
            return function(read_options(options, arguments))

        return cls(functools.partial(add_to_command, options=options), run, text, **settings)
