"""`evalsampling report`."""

import argparse
import functools

from evalsampling.cli.command import Command
from evalsampling.commands.options import add_to_command, read_options
from evalsampling.commands.report import ReportOptions, ReportResult, report


def _run(arguments: argparse.Namespace) -> ReportResult:
    return report(read_options(ReportOptions, arguments))


def _text(_: argparse.Namespace, result: ReportResult) -> str:
    return (
        f"report on {result.labels:,} labels, {result.bytes / 1000:,.0f} kB, in {result.page}\n"
        f"its numbers in {result.json} and {result.csv}"
    )


COMMAND = Command(functools.partial(add_to_command, options=ReportOptions), _run, _text)
