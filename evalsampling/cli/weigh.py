"""`evalsampling weigh`."""

import argparse

from evalsampling.cli.command import Command, told
from evalsampling.cli.estimate import estimate_table
from evalsampling.cli.wording import counted
from evalsampling.commands.weigh import WeighOptions, WeighResult, weigh
from evalsampling.inference.assumptions import assumed


def _text(_: argparse.Namespace, result: WeighResult) -> str:
    head = (
        f"{counted(result.labels, 'label')}, {result.open} open, {counted(result.draws, 'draw')} "
        f"in {counted(result.rounds, 'round')}"
    )
    kinds = [*assumed(each for number in result.measures for each in number.intervals)]
    return "\n".join([head, *estimate_table(result.measures, kinds)])


COMMAND = Command.of(WeighOptions, weigh, _text, remarks=told)
