"""`evalsampling verify`."""

import argparse

from evalsampling.cli.command import Command
from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.verify import VerifyResult, verify


def _text(_: argparse.Namespace, result: VerifyResult) -> str:
    unprotected = f", {result.unprotected} of them without a checksum" * bool(result.unprotected)
    count = "all are as they were written" if result.ok else f"{len(result.bad)} missing or damaged"
    lines = [*result.bad, f"{result.files} files{unprotected}: {count}"]
    if result.absent:
        lines.append(f"{len(result.absent)} files of the pool not compared; {result.absent[0]}")
    if result.drafts:
        single = result.drafts == 1
        drafts = "1 draft that does" if single else f"{result.drafts} drafts that do"
        lines.append(
            f"{drafts} not count, of commands that are at work or were killed; "
            f"{'it' if single else 'they'} may hold payload"
        )
    return "\n".join(lines)


COMMAND = Command.of(
    WorkspaceOptions,
    verify,
    _text,
    status=lambda _, result: int(not result.ok),
)
