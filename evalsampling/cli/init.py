"""`evalsampling init`."""

import argparse

from evalsampling.cli.command import Command
from evalsampling.cli.wording import counted, wrapped
from evalsampling.commands.init import InitOptions, InitResult, init


def _text(_: argparse.Namespace, result: InitResult) -> str:
    lines = [f"{result.spec}: a spec for {counted(result.files, 'file')}"]
    if result.open:
        lines += wrapped(f"fill in {' and '.join(result.open)}: {result.why}")
    if result.scores is not None:
        lines += wrapped(f"scores of the first rows: {result.scores}")
    lines += wrapped(f"look through it, then `evalsampling prepare {result.spec} --check`")
    return "\n".join(lines)


COMMAND = Command.of(InitOptions, init, _text)
