"""What was asked for: which command, with which options.

All commands are listed in the help, but only the one asked for is loaded, with its options.
"""

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from typing import Any

from evalsampling.cli.command import Beam, Command
from evalsampling.cli.listing import COMMANDS, Listed
from evalsampling.version import __version__


class CommandParser(argparse.ArgumentParser):
    """The parser of one command, which is loaded with its options when it is asked to parse."""

    def __init__(self, listed: Listed, **settings: Any) -> None:
        """Remember which command it is of.

        Args:
            listed: the command.
            **settings: of any parser.
        """
        # Whole names only: Beam has options of its own, `--label` beside our `--labels`.
        super().__init__(description=listed.help, allow_abbrev=False, **settings)
        self._listed = listed
        self._command: Command | None = None

    @property
    def command(self) -> Command:
        """The command; its options are there from now on."""
        if self._command is None:
            self._command = self._listed.load()
            self._add_options(self._command)
        return self._command

    def _add_options(self, command: Command) -> None:
        self.add_argument("--json", action="store_true", help="print JSON")
        loudness = self.add_mutually_exclusive_group()
        loudness.add_argument(
            "--quiet", action="store_true", help="no progress, messages and warnings on stderr"
        )
        loudness.add_argument(
            "--verbose", action="store_true", help="tell each step, and where an error comes from"
        )
        command.add_options(self)
        if command.beam is not Beam.NEVER:
            self.add_argument(
                "--runner",
                help="Beam runner; Beam's other options may follow"
                + " (without: computed here, without Beam)" * (command.beam is Beam.WITH_RUNNER),
            )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return what parsed and what did not, as any parser does."""
        _ = self.command
        return super().parse_known_args(args, namespace)

    @property
    def options(self) -> list[str]:
        """The options of the command, each once."""
        _ = self.command
        return list(dict.fromkeys(re.findall(r"(?<![\w`-])--[a-z][a-z-]*", self.format_usage())))


def parse(argv: Sequence[str] | None) -> tuple[str, Command, argparse.Namespace]:
    """Return the name of a command, the command and its parsed arguments.

    Of the arguments, ``beam`` are Beam's options.

    Args:
        argv: arguments of the program, None for its own.

    Raises:
        SystemExit: for wrong usage, and after the help or the version was printed.
    """
    parser, commands = _parsers()
    if not (sys.argv[1:] if argv is None else argv):
        parser.print_help()
        sys.exit(0)
    arguments, rest = parser.parse_known_args(argv)
    asked = commands[arguments.command]
    beam, runner = asked.command.beam, getattr(arguments, "runner", None)
    if rest and beam is Beam.NEVER:
        asked.error(f"unrecognized arguments: {_named(rest)}{_meant(rest, asked)}")
    if rest and beam is Beam.WITH_RUNNER and runner is None:
        asked.error(f"unrecognized arguments without --runner: {_named(rest)}{_meant(rest, asked)}")
    arguments.beam = rest if runner is None else [f"--runner={runner}", *rest]
    return arguments.command, asked.command, arguments


def options_by_command() -> dict[str, list[str]]:
    """Return the options of each command; all commands are loaded."""
    return {name: parser.options for name, parser in _parsers()[1].items()}


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, CommandParser]]:
    """Return the parser of the program, and those of the commands by their names."""
    parser = argparse.ArgumentParser(
        prog="evalsampling",
        description="Tell how good a classifier is, with honest intervals, from few labels.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=CommandParser
    )
    for listed in COMMANDS:
        commands.add_parser(listed.name, listed=listed, help=listed.help)
    return parser, commands.choices


def _named(arguments: Sequence[str]) -> str:
    """Return the options among arguments without their values, which may be credentials."""
    options = [one.partition("=")[0] for one in arguments if one.startswith("-")]
    return " ".join(options or arguments)


def _meant(arguments: Sequence[str], parser: CommandParser) -> str:
    """Return a question that names the option most like the first unknown one, if any is."""
    unknown = next((one.partition("=")[0] for one in arguments if one.startswith("--")), "")
    near = difflib.get_close_matches(unknown, parser.options, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
