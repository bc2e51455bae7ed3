"""`evalsampling plan`."""

import argparse
import functools

from evalsampling.cli.command import Command
from evalsampling.commands.options import add_to_command, read_options
from evalsampling.commands.plan import PlanOptions, PlanResult, plan


def _run(arguments: argparse.Namespace) -> PlanResult:
    return plan(read_options(PlanOptions, arguments))


_FEW_DRAWS = 100
"""Draws below which tests were seen to find less than the normal approximation says."""


def _text(_: argparse.Namespace, result: PlanResult) -> str:
    width = max(24, *(len(one.measure) + 2 for one in result.errors))
    compared = any(one.power is not None for one in result.errors)
    lines = ["if the scores' probabilities are right:",
             f"{'sampler':<12}{'measure':<{width}}{'labels':>10}{'std. error':>12}"
             f"{'half-width':>12}" + f"{'power':>8}" * compared]  # fmt: skip
    for one in result.errors:
        labels = "more" if one.budget is None else f"{one.budget:,}"
        error, half = (
            "-" if number is None else f"{number:.4f}"
            for number in (one.standard_error, one.half_width)
        )
        line = f"{one.sampler:<12}{one.measure:<{width}}{labels:>10}{error:>12}{half:>12}"
        lines.append(line if one.power is None else f"{line}{one.power:>8.2f}")
    by_formula = [one.budget for one in result.errors if one.power is not None
                  and one.half_width is None and one.budget is not None]  # fmt: skip
    if any(draws < _FEW_DRAWS for draws in by_formula):
        lines.append(
            f"draws for a power are by a normal approximation: below {_FEW_DRAWS} a test finds less"
        )
    return "\n".join(lines)


COMMAND = Command(
    "plan",
    "Predict errors before any label.",
    functools.partial(add_to_command, options=PlanOptions),
    _run,
    _text,
)
