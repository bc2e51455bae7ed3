"""`evalsampling export`."""

import argparse

from evalsampling.cli.command import Command
from evalsampling.commands.export import ExportOptions, ExportResult, export


def _text(_: argparse.Namespace, result: ExportResult) -> str:
    return f"{result.rows:,} rows in {result.file}"


COMMAND = Command.of(ExportOptions, export, _text)
