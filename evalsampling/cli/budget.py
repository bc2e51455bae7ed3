"""`evalsampling budget`."""

import argparse
from collections.abc import Sequence

from evalsampling.cli.command import Beam, Command
from evalsampling.cli.wording import counted, wrapped
from evalsampling.commands.budget import BudgetOptions, BudgetResult, raise_budget
from evalsampling.spec.budget import Budget
from evalsampling.spec.sections import Section
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace


def _run(options: BudgetOptions, beam: Sequence[str]) -> BudgetResult:
    if beam:
        from evalsampling.pipelines.running import parse_options

        parse_options(beam)  # Before anything is changed.
    result = raise_budget(options)
    if result.short:
        from evalsampling.pipelines.prepare import top_up
        from evalsampling.pipelines.running import parse_options

        spec = PreparedPool.read(Workspace(options.workspace)).spec
        top_up(spec, None, parse_options(beam))
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


COMMAND = Command.of(BudgetOptions, _run, _text, beam=Beam.ALWAYS, reads_pools=True)
