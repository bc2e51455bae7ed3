"""`evalsampling budget`."""

import argparse
import functools

from evalsampling.cli.command import Beam, Command
from evalsampling.cli.wording import counted, wrapped
from evalsampling.commands.budget import BudgetOptions, BudgetResult, raise_budget
from evalsampling.commands.options import add_to_command, read_options
from evalsampling.spec.budget import Budget
from evalsampling.spec.sections import Section
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace


def _run(arguments: argparse.Namespace) -> BudgetResult:
    options = read_options(BudgetOptions, arguments)
    if arguments.beam:
        from evalsampling.pipelines.running import parse_options

        parse_options(arguments.beam)  # Before anything is changed.
    result = raise_budget(options)
    if result.short:
        from evalsampling.pipelines.prepare import top_up
        from evalsampling.pipelines.running import parse_options

        spec = PreparedPool.read(Workspace(options.workspace)).spec
        top_up(spec, None, parse_options(arguments.beam))
    return result


def _text(_: argparse.Namespace, result: BudgetResult) -> str:
    budget, before = (
        Budget.read(Section("", {"budget": amount})).words
        for amount in (result.budget, result.before)
    )
    lines = wrapped(f"budget: {budget}, {before} before")
    if result.short:
        lines += wrapped(f"the reserve of {counted(result.short, 'cell')} was topped up")
    return "\n".join(lines)


COMMAND = Command(
    functools.partial(add_to_command, options=BudgetOptions),
    _run,
    _text,
    Beam.ALWAYS,
    reads_pools=True,
)
