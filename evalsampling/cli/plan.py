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
    compared = any(one.power is not None for one in result.errors)
    unit = "budget" if result.by_cost else "labels"
    head = ["sampler, measure", unit, "std. error", "half-width"]
    head += ["power"] * compared + ["draws", "labels", "cost"] * result.by_cost
    groups: dict[str, list[list[str]]] = {}
    for one in result.errors:
        cells = [
            one.measure,
            "more" if one.budget is None else _whole_or_rounded(one.budget),
            _shown(one.standard_error, 4),
            _shown(one.half_width, 4),
        ]
        if compared:
            cells.append("" if one.power is None else f"{one.power:.2f}")
        if result.by_cost:
            cells += [_shown(one.draws, 0), _shown(one.labels, 1), _shown(one.cost, 1)]
        groups.setdefault(one.sampler, []).append(cells)
    lines = ["if the scores' probabilities are right:", *grouped_table(head, groups)]
    return "\n".join([*lines, *_will_it_pay(result)])


def _if_off(result: PlanResult) -> list[str]:
    """Return, of each sampler and measure, how sure the half-width of the largest budget is."""
    largest = {
        (one.sampler, one.measure): one for one in result.errors if one.half_width_high is not None
    }
    return [
        f"{one.measure} by {one.sampler}: the half-width at {_whole_or_rounded(one.budget)} is "
        f"{_shown(one.half_width_low, 3)} to {_shown(one.half_width_high, 3)} in eight of ten "
        "pools whose probabilities are off as those of real models are"
        for one in largest.values()
        if one.budget is not None
    ]


def _whole_or_rounded(budget: float) -> str:
    """Return labels, or money that was given, as they are, and money that was found rounded."""
    return f"{budget:,.10g}" if budget == round(budget, 2) else f"{budget:,.5g}"


def _shown(number: float | None, digits: int) -> str:
    return "-" if number is None else f"{number:,.{digits}f}"


def _will_it_pay(result: PlanResult) -> list[str]:
    """Return what the best choice of rows saves, and how sure the scores are."""
    savings = {one.measure: one.saving for one in result.errors if one.saving is not None}
    told = [
        f"{measure}: the best proposal has {saving:.2f} of the variance of even draws"
        + " for equal money" * result.by_cost
        for measure, saving in savings.items()
    ]
    told += _if_off(result)
    likelihood = result.errors[0].label_likelihood if result.errors else None
    if likelihood is not None:
        told.append(
            f"label likelihood {likelihood:.2f}: rows are worth choosing by the scores from "
            f"{WORTH_CHOOSING:g} on, if labels bear it out"
        )
    return [line for sentence in told for line in wrapped(sentence, "  ")]


COMMAND = Command(
    functools.partial(add_to_command, options=PlanOptions), _run, _text, reads_pools=True
)
