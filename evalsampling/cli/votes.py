"""`evalsampling votes`."""

import argparse
import functools

from evalsampling.cli.command import Command
from evalsampling.commands.options import add_to_command, read_options
from evalsampling.commands.votes import VotesOptions, VotesResult, votes


def _run(arguments: argparse.Namespace) -> VotesResult:
    return votes(read_options(VotesOptions, arguments))


def _text(_: argparse.Namespace, result: VotesResult) -> str:
    return f"{result.rows:,} rows in {result.file}"


COMMAND = Command(functools.partial(add_to_command, options=VotesOptions), _run, _text)
