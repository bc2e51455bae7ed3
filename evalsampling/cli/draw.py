"""`evalsampling draw`."""

import argparse

from evalsampling.cli.command import Command
from evalsampling.cli.wording import counted
from evalsampling.commands.draw import DrawOptions, DrawResult, draw


def _text(_: argparse.Namespace, result: DrawResult) -> str:
    lines = [
        f"round {result.round}: {counted(result.draws, 'draw')} of "
        f"{counted(result.rows, 'distinct row')}, {result.file}"
    ]
    if result.tasks is None:
        lines.append("nothing to label: earlier rounds have met all these rows")
    else:
        lines.append(f"{counted(result.to_label, 'row')} to label: {result.tasks}")
    return "\n".join(lines)


COMMAND = Command.of(DrawOptions, draw, _text, reads_pools=lambda _: True)
