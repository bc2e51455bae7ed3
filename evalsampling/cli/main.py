"""The command line: parses, calls, prints."""

import argparse
import codecs
import difflib
import io
import json
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

from evalsampling.cli import (
    annotators,
    budget,
    check,
    completion,
    curve,
    diagnose,
    estimate,
    forget,
    init,
    label_studio,
    plan,
    prepare,
    report,
    sample,
    simulate,
    status,
    verify,
    votes,
)
from evalsampling.cli.command import Beam, Command
from evalsampling.errors import exit_code
from evalsampling.telemetry import logs
from evalsampling.version import __version__

COMMANDS = (
    *(module.COMMAND for module in (init, check, prepare, sample)),
    label_studio.PUSH,
    label_studio.PULL,
    *(
        module.COMMAND
        for module in (
            estimate,
            report,
            curve,
            budget,
            annotators,
            votes,
            forget,
            status,
            verify,
            diagnose,
            plan,
            simulate,
            completion,
        )
    ),
)

_LOGGED = ("rows", "cells", "round", "rounds", "reason", "labels", "open", "rejects", "done")
"""Keys of results that are logged."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 done, 1 it failed or found damage, 2 wrong usage, 130 Ctrl-C."""
    arguments = _parse(argv)
    command: Command = arguments.chosen
    try:
        with (
            logs.verbosity(arguments.quiet, arguments.verbose),
            logs.job(command.name, workspace=getattr(arguments, "workspace", None)),
        ):
            result = command.run(arguments)
            content = result.to_json()
            _log(content)
        if arguments.json:
            _print(_json(content))
        else:
            if isinstance(sys.stdout, io.TextIOWrapper):
                sys.stdout.reconfigure(errors="replace")  # A locale may lack a letter.
            _print(command.text(arguments, result))
    except BrokenPipeError:
        # Whoever read our output has gone; Python must not try to flush the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except logs.TOLD as error:
        if arguments.verbose and not logs.as_json():
            traceback.print_exc()
        if not logs.as_json():
            print(f"evalsampling {command.name}: {logs.one_line(error)}", file=sys.stderr)
        sys.exit(exit_code(error))
    sys.exit(1 if command.failed(result) else 0)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return parsed arguments: ``chosen`` is the command, ``beam`` are Beam's options."""
    parser = argparse.ArgumentParser(
        prog="evalsampling",
        description="Tell how good a classifier is, with honest intervals, from few labels.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        # Whole names only: Beam has options of its own, `--label` beside our `--labels`.
        added = commands.add_parser(
            command.name, help=command.help, description=command.help, allow_abbrev=False
        )
        added.add_argument("--json", action="store_true", help="print JSON")
        loudness = added.add_mutually_exclusive_group()
        loudness.add_argument(
            "--quiet", action="store_true", help="no progress, messages and warnings on stderr"
        )
        loudness.add_argument(
            "--verbose", action="store_true", help="tell each step, and where an error comes from"
        )
        command.add_options(added)
        _add_runner(added, command.beam)
        added.set_defaults(chosen=command)
    arguments, rest = parser.parse_known_args(argv)
    beam, runner = arguments.chosen.beam, getattr(arguments, "runner", None)
    added = commands.choices[arguments.command]
    if rest and beam is Beam.NEVER:
        added.error(f"unrecognized arguments: {_named(rest)}{_meant(rest, added)}")
    if rest and beam is Beam.WITH_RUNNER and runner is None:
        added.error(f"unrecognized arguments without --runner: {_named(rest)}{_meant(rest, added)}")
    arguments.options = {name: _options_of(one) for name, one in commands.choices.items()}
    arguments.beam = rest if runner is None else [f"--runner={runner}", *rest]
    return arguments


def _add_runner(parser: argparse.ArgumentParser, beam: Beam) -> None:
    if beam is not Beam.NEVER:
        parser.add_argument(
            "--runner",
            help="Beam runner; Beam's other options may follow"
            + (" (without: computed here, without Beam)" if beam is Beam.WITH_RUNNER else ""),
        )


def _named(arguments: Sequence[str]) -> str:
    """Return the options among arguments without their values, which may be credentials."""
    options = [one.partition("=")[0] for one in arguments if one.startswith("-")]
    return " ".join(options or arguments)


def _meant(arguments: Sequence[str], parser: argparse.ArgumentParser) -> str:
    """Return a question that names the option most like the first unknown one, if any is."""
    unknown = next((one.partition("=")[0] for one in arguments if one.startswith("--")), "")
    near = difflib.get_close_matches(unknown, _options_of(parser), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def _options_of(parser: argparse.ArgumentParser) -> list[str]:
    """Return the options of a command, each once."""
    return list(dict.fromkeys(re.findall(r"(?<![\w`-])--[a-z][a-z-]*", parser.format_usage())))


def _json(content: Any) -> str:
    """Return JSON as stdout takes it: with escapes unless that is UTF-8, or where it is no text."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode()  # A path may have bytes that are no text.
        is_plain = codecs.lookup(encoding).name == "utf-8"
    except (UnicodeEncodeError, LookupError):
        is_plain = False
    return text if is_plain else json.dumps(content, allow_nan=False)


def _print(text: str) -> None:
    """Print a result, so that it is known here if nobody reads it; nothing to a closed stdout."""
    print(text, flush=True)


def _log(content: Any) -> None:
    """Log the numbers of a result, and its warnings."""
    numbers = content if isinstance(content, dict) else {}
    for warning in numbers.get("warnings", ()):
        logs.LOG.warning("%s", warning)
    logs.tell(**{key: numbers.get(key) for key in _LOGGED})
