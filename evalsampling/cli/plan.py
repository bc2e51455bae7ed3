"""`evalsampling plan`."""

import argparse
import functools

from evalsampling.cli.command import Command
from evalsampling.cli.wording import grouped_table, wrapped
from evalsampling.commands.options import add_to_command, read_options
from evalsampling.commands.plan import PlanOptions, PlanResult, plan
from evalsampling.inference.label_likelihood import WORTH_CHOOSING
from evalsampling.telemetry import logs


def _run(arguments: argparse.Namespace) -> PlanResult:
    result = plan(read_options(PlanOptions, arguments))
    for warning in result.warnings:
        logs.say(f"warning: {warning}")
    return result


def _text(_: argparse.Namespace, result: PlanResult) -> str:
    compared = any(row.power is not None for row in result.errors)
    unit = "budget" if result.by_cost else "labels"
    head = ["sampler, measure", unit, "std. error", "half-width"]
    head += ["power"] * compared + ["draws", "labels", "cost"] * result.by_cost
    groups: dict[str, list[list[str]]] = {}
    for row in result.errors:
        cells = [
            row.measure,
            "more" if row.budget is None else _whole_or_rounded(row.budget),
            _shown(row.standard_error, 4),
            _shown(row.half_width, 4),
        ]
        if compared:
            cells.append("" if row.power is None else f"{row.power:.2f}")
        if result.by_cost:
            cells += [_shown(row.draws, 0), _shown(row.labels, 1), _shown(row.cost, 1)]
        groups.setdefault(row.sampler, []).append(cells)
    lines = ["if the scores' probabilities are right:", *grouped_table(head, groups)]
    return "\n".join([*lines, *_will_it_pay(result)])


def _if_off(result: PlanResult) -> list[str]:
    """Return, for each sampler and measure, a range of the half-width at the largest budget."""
    largest = {
        (row.sampler, row.measure): row for row in result.errors if row.half_width_high is not None
    }
    return [
        f"{row.measure} by {row.sampler}: the half-width at {_whole_or_rounded(row.budget)} is "
        f"{_shown(row.half_width_low, 3)} to {_shown(row.half_width_high, 3)} in eight of ten "
        "pools whose probabilities are off as those of real models are"
        for row in largest.values()
        if row.budget is not None
    ]


def _whole_or_rounded(budget: float) -> str:
    """Return a budget as text: rounded to five figures unless it is a whole number of cents."""
    return f"{budget:,.10g}" if budget == round(budget, 2) else f"{budget:,.5g}"


def _shown(number: float | None, digits: int) -> str:
    return "-" if number is None else f"{number:,.{digits}f}"


def _will_it_pay(result: PlanResult) -> list[str]:
    """Return lines on the variance that the best proposal saves, and on what may be wrong."""
    savings = {row.measure: row.saving for row in result.errors if row.saving is not None}
    sentences = [
        f"{measure}: the best proposal has {saving:.2f} of the variance of even draws"
        + " for equal money" * result.by_cost
        for measure, saving in savings.items()
    ]
    sentences += _if_off(result)
    likelihood = result.errors[0].label_likelihood if result.errors else None
    if likelihood is not None:
        sentences.append(
            f"label likelihood {likelihood:.2f}: rows are worth choosing by the scores from "
            f"{WORTH_CHOOSING:g} on, if labels bear it out"
        )
    return [line for sentence in sentences for line in wrapped(sentence, "  ")]


COMMAND = Command(
    functools.partial(add_to_command, options=PlanOptions), _run, _text, reads_pools=True
)
