"""`evalsampling forget`."""

import argparse

from evalsampling.cli.command import Command
from evalsampling.commands.forget import ForgetOptions, ForgetResult, forget


def _text(_: argparse.Namespace, result: ForgetResult) -> str:
    id = result.id if isinstance(result.id, str) else ", ".join(result.id)
    if not result.files:
        return f"nothing to erase: no payload of {id} is kept"
    return "\n".join([f"payload of {id} erased from", *result.files])


COMMAND = Command.of(ForgetOptions, forget, _text)
