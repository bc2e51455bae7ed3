"""`evalsampling check`."""

import argparse

from evalsampling.cli.command import Command
from evalsampling.cli.wording import counted
from evalsampling.commands.check import CheckResult, check
from evalsampling.commands.options import SpecOptions
from evalsampling.telemetry import logs


def _run(options: SpecOptions) -> CheckResult:
    result = check(options)
    for warning in result.warnings:
        logs.say(f"warning: {warning}")
    return result


def _text(arguments: argparse.Namespace, result: CheckResult) -> str:
    if result.problems:
        problems = counted(len(result.problems), "problem")
        return "\n".join([*result.problems, f"{arguments.spec}: {problems}"])
    files = counted(result.files or 0, "file")
    text = (
        f"{arguments.spec}: nothing wrong found; {_rows(result)} in {files}, "
        f"of which the first {result.looked_at:,} were looked at"
    )
    return text if result.scores is None else f"{text}\nscores of these: {result.scores}"


def _rows(result: CheckResult) -> str:
    return "rows that satisfy pool.where" if result.rows is None else counted(result.rows, "row")


COMMAND = Command.of(
    SpecOptions,
    _run,
    _text,
    failed=lambda result: not result.ok,
    reads_pools=True,
)
