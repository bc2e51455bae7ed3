"""`evalsampling sample`."""

import argparse
from collections.abc import Sequence

from evalsampling.cli.command import Beam, Command
from evalsampling.cli.pipeline import through_pipeline
from evalsampling.cli.wording import counted, wrapped
from evalsampling.commands.sample import SampleOptions, SampleResult, sample

_REASONS = {
    "budget": "the budget is spent",
    "exhausted": "every row that can add to the measure has been drawn",
    "nothing-adds": "no row of the pool can add to the measure, whatever its label. "
    "`evalsampling estimate` gives its value, or why it has none.",
    "no-disputes": "no row that has all its answers is disputed. "
    "`evalsampling status` tells how many rows still wait for answers.",
    "half-width": "the intervals are as narrow as the spec's `stop` wants them",
    "significance": "the difference is as significant as the spec's `stop` wants it",
    "no-new-rows": "all rows that this round drew have labels already; sample again",
}


def _run(options: SampleOptions, beam: Sequence[str]) -> SampleResult:
    if not beam:
        return sample(options)
    from evalsampling.pipelines.sample import main

    return SampleResult(**through_pipeline(main, options, beam)["result"])


def _text(arguments: argparse.Namespace, result: SampleResult) -> str:
    if result.reason == "withdrawn":
        return f"round {result.round} is withdrawn: its rows count as never drawn"
    if result.reason is not None:
        return "\n".join(wrapped(f"nothing to label: {_REASONS[result.reason]}"))
    called = "adjudication" if arguments.adjudicate else "round"
    mixed = f" and {result.controls} to check annotators by" if result.controls else ""
    left = "" if result.again else " to label"  # Some of an open round may have labels.
    lines = [f"{called} {result.round}: {counted(result.rows, 'row')}{left}{mixed} in",
             str(result.batch)]  # fmt: skip
    if result.again:
        size = "" if arguments.size is None else f", so --size {arguments.size} is not heeded"
        lines += wrapped(
            f"This round is still open{size}. Deliver its labels with `estimate --labels`, or "
            "close it and draw the next one with `sample --next`."
        )
    return "\n".join(lines)


COMMAND = Command.of(SampleOptions, _run, _text, beam=Beam.WITH_RUNNER)
