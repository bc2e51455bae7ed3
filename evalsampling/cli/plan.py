"""`evalsampling plan`."""

import argparse
import functools

from evalsampling.cli.command import Command
from evalsampling.commands.options import add_to_command, read_options
from evalsampling.commands.plan import PlanOptions, PlanResult, plan
from evalsampling.inference.label_likelihood import WORTH_CHOOSING


def _run(arguments: argparse.Namespace) -> PlanResult:
    return plan(read_options(PlanOptions, arguments))


def _text(_: argparse.Namespace, result: PlanResult) -> str:
    width = max(24, *(len(one.measure) + 2 for one in result.errors))
    name = max(12, *(len(one.sampler) + 2 for one in result.errors))
    compared = any(one.power is not None for one in result.errors)
    lines = ["if the scores' probabilities are right:",
             f"{'sampler':<{name}}{'measure':<{width}}"
             f"{'budget' if result.by_cost else 'labels':>10}{'std. error':>12}"
             f"{'half-width':>12}" + f"{'power':>8}" * compared
             + f"{'draws':>9}{'labels':>9}{'cost':>10}" * result.by_cost]  # fmt: skip
    for one in result.errors:
        budget = "more" if one.budget is None else f"{one.budget:,.10g}"
        error, half = (
            "-" if number is None else f"{number:.4f}"
            for number in (one.standard_error, one.half_width)
        )
        line = f"{one.sampler:<{name}}{one.measure:<{width}}{budget:>10}{error:>12}{half:>12}"
        if compared:
            line += "" if one.power is None else f"{one.power:>8.2f}"
        if result.by_cost:
            line += "".join(
                f"{'-' if number is None else format(number, f',.{digits}f'):>{room}}"
                for number, digits, room in (
                    (one.draws, 0, 9), (one.labels, 1, 9), (one.cost, 1, 10)
                )
            )  # fmt: skip
        lines.append(line)
    return "\n".join([*lines, *_will_it_pay(result)])


def _will_it_pay(result: PlanResult) -> list[str]:
    """Return what the best choice of rows saves, and how sure the scores are."""
    savings = {one.measure: one.saving for one in result.errors if one.saving is not None}
    lines = [
        f"{measure}: the best proposal has {saving:.2f} of the variance of even draws"
        + " for equal money" * result.by_cost
        for measure, saving in savings.items()
    ]
    likelihood = result.errors[0].label_likelihood if result.errors else None
    if likelihood is not None:
        lines.append(
            f"label likelihood {likelihood:.2f}: rows are worth choosing by the scores from "
            f"{WORTH_CHOOSING:g} on, if labels bear it out"
        )
    return lines


COMMAND = Command(
    "plan",
    "Predict errors before any label.",
    functools.partial(add_to_command, options=PlanOptions),
    _run,
    _text,
)
