"""Parses arguments: which command, with which options.

The help lists all commands, but only the command that is run is imported, with its options.
"""

import argparse
import difflib
import functools
import re
import sys
from collections.abc import Sequence
from typing import Any

from evalsampling.cli.command import Beam, Command
from evalsampling.cli.listing import COMMANDS, OTHERS, USUAL, Listed
from evalsampling.version import __version__


class CommandParser(argparse.ArgumentParser):
    """The parser of one command, whose module is imported when arguments are parsed."""

    def __init__(self, listed: Listed, **settings: Any) -> None:
        """Make a parser without options."""
        # Whole names only: Beam has options of its own, `--label` beside our `--labels`.
        super().__init__(description=listed.help, allow_abbrev=False, **settings)
        self._listed = listed
        self._command: Command | None = None

    @property
    def command(self) -> Command:
        """The command, imported, and its options added to the parser, when first read."""
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
            "--verbose", action="store_true", help="say each step, and where an error comes from"
        )
        command.add_options(self)
        if command.beam is not Beam.NEVER:
            self.add_argument(
                "--runner",
                help="Beam runner; Beam's other options may follow"
                + " (without: computed here, without Beam)" * (command.beam is Beam.WITH_RUNNER),
            )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the namespace and the arguments left, as any parser does."""
        _ = self.command
        return super().parse_known_args(args, namespace)

    @property
    def options(self) -> list[str]:
        """The options of the command, each once."""
        _ = self.command
        return list(dict.fromkeys(re.findall(r"(?<![\w`-])--[a-z][a-z-]*", self.format_usage())))


def parse(argv: Sequence[str] | None) -> tuple[str, Command, argparse.Namespace]:
    """Return the name of a command, the command and its parsed arguments.

    The argument ``beam`` holds the options of Beam.
    """
    parser, commands = _parsers()
    if not (sys.argv[1:] if argv is None else argv):
        parser.print_help()
        sys.exit(0)
    arguments, unparsed = parser.parse_known_args(argv)
    chosen = commands[arguments.command]
    beam, runner = chosen.command.beam, getattr(arguments, "runner", None)
    if unparsed and beam is Beam.NEVER:
        chosen.error(f"unrecognized arguments: {_named(unparsed)}{_meant(unparsed, chosen)}")
    if unparsed and beam is Beam.WITH_RUNNER and runner is None:
        unknown = f"{_named(unparsed)}{_meant(unparsed, chosen)}"
        chosen.error(f"unrecognized arguments without --runner: {unknown}")
    arguments.beam = unparsed if runner is None else [f"--runner={runner}", *unparsed]
    return arguments.command, chosen.command, arguments


@functools.cache
def _parsers() -> tuple[argparse.ArgumentParser, dict[str, CommandParser]]:
    """Return the parser of the program, and the commands' parsers by name."""
    parser = argparse.ArgumentParser(
        prog="evalsampling",
        description="Tell how good a classifier is, with honest intervals, from few labels.",
        epilog=f"{_listed('the work, step by step', USUAL)}\n\n{_listed('besides', OTHERS)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(
        dest="command",
        required=True,
        metavar="COMMAND",
        parser_class=CommandParser,
        help="one of those below; COMMAND --help tells its options",
    )
    for listed in COMMANDS:
        commands.add_parser(listed.name, listed=listed)
    return parser, commands.choices


def _listed(title: str, commands: Sequence[Listed]) -> str:
    """Return lines of the help: a title, and each command with what it does."""
    return "\n".join([f"{title}:", *(f"  {each.name:<10}{each.help}" for each in commands)])


def _named(arguments: Sequence[str]) -> str:
    """Return the options among arguments without their values, which may be credentials."""
    options = [text.partition("=")[0] for text in arguments if text.startswith("-")]
    return " ".join(options or arguments)


def _meant(arguments: Sequence[str], parser: CommandParser) -> str:
    """Return a question that names the option most like the first unknown one, if any is."""
    unknown = next((text.partition("=")[0] for text in arguments if text.startswith("--")), "")
    near = difflib.get_close_matches(unknown, parser.options, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
