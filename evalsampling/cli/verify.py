"""`evalsampling verify`."""

import argparse
import functools

from evalsampling.cli.command import Command
from evalsampling.commands.options import WorkspaceOptions, add_to_command, read_options
from evalsampling.commands.verify import VerifyResult, verify


def _run(arguments: argparse.Namespace) -> VerifyResult:
    return verify(read_options(WorkspaceOptions, arguments))


def _text(_: argparse.Namespace, result: VerifyResult) -> str:
    unprotected = f", {result.unprotected} of them without a checksum" * bool(result.unprotected)
    count = "all are as they were written" if result.ok else f"{len(result.bad)} missing or damaged"
    return "\n".join([*result.bad, f"{result.files} files{unprotected}: {count}"])


COMMAND = Command(
    functools.partial(add_to_command, options=WorkspaceOptions),
    _run,
    _text,
    failed=lambda result: not result.ok,
)
