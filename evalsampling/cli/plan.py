"""`evalsampling plan`."""

import argparse
import functools

from evalsampling.cli.command import Command
from evalsampling.commands.options import add_to_command, read_options
from evalsampling.commands.plan import PlanOptions, PlanResult, plan


def _run(arguments: argparse.Namespace) -> PlanResult:
    return plan(read_options(PlanOptions, arguments))


def _text(_: argparse.Namespace, result: PlanResult) -> str:
    lines = ["if the scores' probabilities are right:",
             f"{'sampler':<12}{'measure':<24}{'labels':>10}{'std. error':>12}"
             f"{'half-width':>12}"]  # fmt: skip
    for one in result.errors:
        labels = "more" if one.budget is None else f"{one.budget:,}"
        error, half = (
            "-" if number is None else f"{number:.4f}"
            for number in (one.standard_error, one.half_width)
        )
        lines.append(f"{one.sampler:<12}{one.measure:<24}{labels:>10}{error:>12}{half:>12}")
    return "\n".join(lines)


COMMAND = Command(
    "plan",
    "Predict errors before any label.",
    functools.partial(add_to_command, options=PlanOptions),
    _run,
    _text,
)
