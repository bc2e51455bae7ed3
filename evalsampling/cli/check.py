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
    rows = f"{counted(result.rows or 0, 'row')} in {counted(result.files or 0, 'file')}"
    text = (
        f"{arguments.spec}: nothing wrong found; {rows}, "
        f"of which the first {result.looked_at:,} were looked at"
    )
    return text if result.scores is None else f"{text}\nscores of these: {result.scores}"


COMMAND = Command.of(
    SpecOptions,
    _run,
    _text,
    status=lambda _, result: int(not result.ok),
    reads_pools=True,
)
