"""The command line: parses, calls, prints."""

import argparse
import codecs
import gc
import io
import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

from evalsampling.cli.command import Command
from evalsampling.cli.parser import parse
from evalsampling.errors import exit_code
from evalsampling.parts.references import blamed
from evalsampling.telemetry import logs

_LOGGED = ("rows", "cells", "round", "rounds", "reason", "labels", "open", "rejects", "done")
"""Keys of results that are logged."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 done, 1 it failed or found damage, 2 wrong usage, 130 Ctrl-C.

    Of gates: 10 one is not reached, 11 it cannot be said.
    """
    name, command, arguments = parse(argv)
    if argv is None:
        gc.freeze()  # Imported modules stay for good: see `evalsampling.__main__`.
        gc.enable()
    if argv is None and not command.reads_pools(arguments) and not arguments.beam:
        from evalsampling.cli.arrow import postpone_pandas  # Help and version need no Arrow.

        postpone_pandas()
    try:
        with (
            logs.verbosity(arguments.quiet, arguments.verbose),
            logs.job(name, workspace=getattr(arguments, "workspace", None)),
        ):
            # A command that goes on once its result is there shows it itself.
            show = _Show(command, arguments)
            with blamed():
                result = command.run(arguments, show)
            show(result)
    except BrokenPipeError:
        # The reader of our output has gone; Python must not try to flush the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except ModuleNotFoundError as error:
        if error.name != "apache_beam":
            raise
        reason = "this is a job of Apache Beam, which is not installed"
        print(f"evalsampling {name}: {reason}", file=sys.stderr)
        sys.exit(1)
    except logs.reported_errors() as error:
        if arguments.verbose and not logs.as_json():
            traceback.print_exc()
        if not logs.as_json():
            print(f"evalsampling {name}: {logs.one_line(error)}", file=sys.stderr)
        sys.exit(exit_code(error))
    by_gates = result.exit_code > 1
    sys.exit(0 if by_gates and getattr(arguments, "exit_zero", False) else result.exit_code)


class _Show:
    """Prints a result and logs its numbers, once."""

    def __init__(self, command: Command, arguments: argparse.Namespace) -> None:
        self._command, self._arguments, self._is_done = command, arguments, False

    def __call__(self, result: Any) -> None:
        if self._is_done:
            return
        self._is_done, content = True, result.to_json()
        numbers = content if isinstance(content, dict) else {}
        told = {
            f"{kind}: {text}"
            for kind in ("warning", "note")
            for text in numbers.get(f"{kind}s", ())
            if self._arguments.json
        }
        for line in self._command.remarks(result):
            if line not in told:
                logs.say(line)
        for warning in numbers.get("warnings", ()):
            logs.LOG.warning("%s", warning)
        logs.tell(**{key: numbers.get(key) for key in _LOGGED})
        if self._arguments.json:
            text = _json(content)
        else:
            if isinstance(sys.stdout, io.TextIOWrapper):
                sys.stdout.reconfigure(errors="replace")  # A locale may lack a letter.
            text = self._command.text(self._arguments, result)
        _print(text)


def _json(content: Any) -> str:
    """Return JSON that stdout can write: with escapes unless stdout is UTF-8 and all is text."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode()  # A path may have bytes that are no text.
        is_plain = codecs.lookup(encoding).name == "utf-8"
    except (UnicodeEncodeError, LookupError):
        is_plain = False
    return text if is_plain else json.dumps(content, allow_nan=False)


def _print(text: str) -> None:
    """Print and flush a result, so that a closed pipe is noticed here."""
    print(text, flush=True)
