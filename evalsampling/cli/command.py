"""What the command line knows of a command."""

import argparse
import dataclasses
import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalsampling.commands.result import Result


class Beam(enum.Enum):
    """Whether a command runs on Beam, so that options of Beam may follow its own."""

    NEVER = enum.auto()
    WITH_RUNNER = enum.auto()
    ALWAYS = enum.auto()


@dataclasses.dataclass(frozen=True)
class Command:
    """One command; its name and what it does are in `listing.COMMANDS`.

    Attributes:
        add_options: adds its own options to its parser.
        run: does what parsed arguments ask for.
        text: says in words what came of it.
        beam: whether it runs on Beam.
        failed: whether a result is bad news, which the exit code 1 tells.
        reads_pools: whether it reads rows of a pool, so that a user's scorer may run.
    """

    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], "Result"]
    text: Callable[[argparse.Namespace, Any], str]
    beam: Beam = Beam.NEVER
    failed: Callable[[Any], bool] = lambda _: False
    reads_pools: bool = False
