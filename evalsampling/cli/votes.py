"""`evalsampling votes`."""

import argparse

from evalsampling.cli.command import Command
from evalsampling.commands.votes import VotesOptions, VotesResult, votes


def _text(_: argparse.Namespace, result: VotesResult) -> str:
    return f"{result.rows:,} rows in {result.file}"


COMMAND = Command.of(VotesOptions, votes, _text)
