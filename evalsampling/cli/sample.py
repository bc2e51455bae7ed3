"""`evalsampling sample`."""

import argparse
import dataclasses
from collections.abc import Sequence

from evalsampling.cli.command import Beam, Command, through_pipeline
from evalsampling.cli.wording import counted, wrapped
from evalsampling.commands.budget import Raised, raise_budget
from evalsampling.commands.sample import SampleOptions, SampleResult, sample
from evalsampling.spec.budget import Budget
from evalsampling.spec.sections import Section
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace

_REASONS = {
    "budget": "the budget is spent; `--budget N` raises it, with `--budget-labels N` if it limits "
    "costs and labels",
    "exhausted": "every row that can add to the measure has been drawn",
    "nothing-adds": "no row of the pool can add to the measure, whatever its label. "
    "`evalsampling estimate` gives its value, or why it has none.",
    "no-disputes": "no row that has all its answers is disputed. "
    "`evalsampling status` tells how many rows still wait for answers.",
    "half-width": "the intervals are as narrow as the spec's `stop` wants; `--size N` draws on",
    "significance": "the difference is as significant as `stop` wants; `--size N` draws on",
    "no-new-rows": "all rows that this round drew have labels already; sample again",
}


def _run(options: SampleOptions, beam: Sequence[str]) -> SampleResult:
    options.check()
    raised = None
    if options.budget is not None:
        raised = _raised(Workspace(options.workspace), options.budget, options.budget_labels, beam)
        options = dataclasses.replace(options, budget=None, budget_labels=None)
    if beam:
        from evalsampling.pipelines.sample import main

        result = SampleResult(**through_pipeline(main, options, beam)["result"])
    else:
        result = sample(options)
    return dataclasses.replace(result, raised=raised)


def _raised(workspace: Workspace, amount: float, labels: int | None, beam: Sequence[str]) -> Raised:
    """Raise the budget, and top up the reserve where it may not last for another round."""
    if beam:
        from evalsampling.pipelines.running import parse_options

        parse_options(beam)  # Before anything is changed.
    raised = raise_budget(workspace, amount, labels)
    if raised.short:
        from evalsampling.pipelines.prepare import top_up
        from evalsampling.pipelines.running import parse_options

        top_up(PreparedPool.read(workspace).spec, None, parse_options(beam))
    return raised


def _text(arguments: argparse.Namespace, result: SampleResult) -> str:
    drawn = _drawn(arguments, result)
    if result.raised is None:
        return drawn
    budget, before = (
        Budget.read(Section("", {"budget": amount})).words
        for amount in (result.raised.budget, result.raised.before)
    )
    lines = wrapped(f"budget: {budget}, {before} before")
    if result.raised.short:
        lines += wrapped(f"the reserve of {counted(result.raised.short, 'cell')} was topped up")
    return "\n".join([*lines, drawn])


def _drawn(arguments: argparse.Namespace, result: SampleResult) -> str:
    if result.reason == "withdrawn":
        return f"round {result.round} is withdrawn: its rows count as never drawn"
    if result.reason is not None:
        return "\n".join(wrapped(f"nothing to label: {_REASONS[result.reason]}"))
    called = "adjudication" if arguments.adjudicate else "round"
    mixed = f" and {result.controls} to check annotators by" if result.controls else ""
    votes = 1 if arguments.adjudicate else result.awaited.votes
    left = " to label" + f" by {votes} people each" * (votes > 1)
    left = "" if result.again else left  # Some of an open round may have labels.
    lines = [f"{called} {result.round}: {counted(result.rows, 'row')}{left}{mixed} in",
             str(result.batch)]  # fmt: skip
    if arguments.next and result.awaited.given_up:
        lines += wrapped(f"{result.awaited.given_up}.")
    if result.again:
        size = "" if arguments.size is None else f", so --size {arguments.size} is not heeded"
        advice = f" {result.awaited.advice}." if result.awaited.advice else ""
        lines += wrapped(
            f"This round is still open ({result.awaited.words}){size}.{advice} Deliver its labels "
            "with `estimate --labels`, or close it and draw the next one with `sample --next`."
        )
    return "\n".join(lines)


COMMAND = Command.of(
    SampleOptions,
    _run,
    _text,
    beam=Beam.WITH_RUNNER,
    reads_pools=lambda arguments: arguments.budget is not None,
)
