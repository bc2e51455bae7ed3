"""`evalsampling forget`."""

import argparse

from evalsampling.cli.command import Command
from evalsampling.commands.forget import ForgetOptions, ForgetResult, forget


def _text(_: argparse.Namespace, result: ForgetResult) -> str:
    if not result.files:
        return f"nothing to erase: no payload of {result.id} is kept"
    return "\n".join([f"payload of {result.id} erased from", *result.files])


COMMAND = Command.of(ForgetOptions, forget, _text)
