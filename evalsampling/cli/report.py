"""`evalsampling report`."""

import argparse

from evalsampling.cli.command import Command
from evalsampling.commands.report import ReportOptions, ReportResult, report


def _text(_: argparse.Namespace, result: ReportResult) -> str:
    return (
        f"report on {result.labels:,} labels, {result.bytes / 1000:,.0f} kB, in {result.page}\n"
        f"its numbers in {result.json} and {result.csv}"
    )


COMMAND = Command.of(ReportOptions, report, _text)
