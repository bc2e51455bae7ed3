"""`evalsampling forget`."""

import argparse
import functools

from evalsampling.cli.command import Command
from evalsampling.commands.forget import ForgetOptions, ForgetResult, forget
from evalsampling.commands.options import add_to_command, read_options


def _run(arguments: argparse.Namespace) -> ForgetResult:
    return forget(read_options(ForgetOptions, arguments))


def _text(_: argparse.Namespace, result: ForgetResult) -> str:
    if not result.files:
        return f"nothing to erase: no payload of {result.id} is kept"
    return "\n".join([f"payload of {result.id} erased from", *result.files])


COMMAND = Command(functools.partial(add_to_command, options=ForgetOptions), _run, _text)
