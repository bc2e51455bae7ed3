"""`evalsampling check`."""

import argparse

from evalsampling.cli.command import Command, told
from evalsampling.cli.wording import counted
from evalsampling.commands.check import CheckResult, check
from evalsampling.commands.options import SpecOptions


def _text(arguments: argparse.Namespace, result: CheckResult) -> str:
    if result.problems:
        problems = counted(len(result.problems), "problem")
        return "\n".join([*result.problems, f"{arguments.spec}: {problems}"])
    files = counted(result.files or 0, "file")
    rows = "rows that satisfy pool.where" if result.rows is None else counted(result.rows, "row")
    looked_at = f"the first {result.looked_at:,} were" if result.looked_at != 1 else "the first was"
    text = (
        f"{arguments.spec}: nothing wrong found; {rows} in {files}, of which {looked_at} looked at"
    )
    return text if result.scores is None else f"{text}\nscores of these: {result.scores}"


COMMAND = Command.of(
    SpecOptions,
    check,
    _text,
    remarks=told,
    status=lambda _, result: int(not result.ok),
    reads_pools=True,
)
