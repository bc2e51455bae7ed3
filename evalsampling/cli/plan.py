"""`evalsampling plan`."""

import argparse
import math

from evalsampling.cli.command import Command, told
from evalsampling.cli.wording import grouped_table, hanging
from evalsampling.commands.plan import PlannedError, PlanOptions, PlanResult, plan
from evalsampling.inference.label_likelihood import WORTH_CHOOSING
from evalsampling.report.numbers import compared

PLUS_MINUS = "\N{PLUS-MINUS SIGN} "

_MOST_DECIMALS = 9
"""Decimals of a half-width beyond which it is rounding error."""


def _text(_: argparse.Namespace, result: PlanResult) -> str:
    compares = any(row.power is not None for row in result.errors)
    unit = "budget" if result.by_cost else "labels"
    head = ["sampler, measure", unit, "std. error", "half-width"]
    chooses = any(row.selection_error is not None for row in result.errors)
    head += (
        ["power"] * compares + ["wrong"] * chooses + ["draws", "labels", "cost"] * result.by_cost
    )
    rows = []
    for row in result.errors:
        cells = [
            row.sampler,
            row.measure,
            "more" if row.budget is None else _whole_or_rounded(row.budget),
            _shown(row.standard_error, 4),
            _shown(row.half_width, 4),
        ]
        if compares:
            cells.append("" if row.power is None else f"{row.power:.2f}")
        if chooses:
            cells.append("" if row.selection_error is None else f"{row.selection_error:.2f}")
        if result.by_cost:
            cells += [_shown(row.draws, 0), _shown(row.labels, 1), _shown(row.cost, 1)]
        rows.append(cells)
    title = f"if {result.assumed}:"
    if not result.believed:
        title = "over curves of labels by rank, with about as many positives as are predicted:"
    lines = [
        *([] if result.believed or result.scores is None else hanging([f"{result.scores}."])),
        *_what_to_expect(result),
        title,
        *grouped_table(head, rows),
    ]
    return "\n".join([*lines, *_will_it_pay(result)])


def _what_to_expect(result: PlanResult) -> list[str]:
    """Return, for each measure, the half-widths to expect at the largest budget, in sentences."""
    unit = "" if result.by_cost else " labels"
    largest: dict[str, dict[str, PlannedError]] = {}
    for row in result.errors:
        if row.budget is not None and row.half_width is not None and row.standard_error is not None:
            by_sampler = largest.setdefault(row.measure, {})
            before = by_sampler.get(row.sampler)
            if before is None or row.budget > (before.budget or 0):
                by_sampler[row.sampler] = row
    sentences = []
    for measure, by_sampler in largest.items():
        budget = _whole_or_rounded(max(row.budget or 0 for row in by_sampler.values()))
        widths = [f"{_range(row)} by {name}" for name, row in by_sampler.items()]
        sentences.append(f"{compared(measure)} with {budget}{unit}: {', '.join(widths)}.")
    if any(row.half_width_low is not None for row in result.errors):
        why = "" if result.believed else "; the scores do not tell more"
        sentences.append(f"Nine real pools in ten were in such ranges{why}.")
    if result.clusters is not None:
        sentences.append(result.clusters)
    if result.votes > 1 and not result.by_cost:
        sentences.append(f"A label takes {result.votes} answers, of as many annotators.")
    return hanging(sentences)


def _range(row: PlannedError) -> str:
    """Return the half-widths to expect of a measure; the one of right scores without a range."""
    low, high = row.half_width_low, row.half_width_high
    if low is None or high is None:
        low = high = row.half_width
    least, most = (_half_or_none(width, row.no_claim) for width in (low, high))
    return least if least == most else f"{least} to {most.removeprefix(PLUS_MINUS)}"


def _half_or_none(width: float | None, no_claim: float | None) -> str:
    """Return a half-width as text: 0 for an exact number, whatever rounding has left of it."""
    most = math.inf if no_claim is None else no_claim * (1 - 1e-9)  # That of a ratio has no end.
    is_whole = width is not None and width >= most
    return "no claim" if is_whole else f"{PLUS_MINUS}{round(width or 0.0, _MOST_DECIMALS):.2g}"


def _whole_or_rounded(budget: float) -> str:
    """Return a budget as text: rounded to five figures unless it is a whole number of cents."""
    return f"{budget:,.10g}" if budget == round(budget, 2) else f"{budget:,.5g}"


def _shown(number: float | None, digits: int) -> str:
    return "-" if number is None else f"{number:,.{digits}f}"


def _will_it_pay(result: PlanResult) -> list[str]:
    """Return lines on the variance that the best proposal saves, and on what may be wrong."""
    savings = {row.measure: row.saving for row in result.errors if row.saving is not None}
    sentences = [
        f"{compared(measure)}: rows chosen as well as can be leave {saving:.2f} of the variance "
        "of rows drawn evenly" + " for equal money" * result.by_cost
        for measure, saving in savings.items()
    ]
    prices = {row.measure: row.price for row in result.errors if row.price is not None}
    if prices:
        shown = ", ".join(f"{price:.2f} for {compared(name)}" for name, price in prices.items())
        sentences.append(
            "rounds serve all measures: standard errors are so many times those of rounds for one "
            f"alone: {shown}"
        )
    likelihood = result.errors[0].label_likelihood if result.errors else None
    if likelihood is not None:
        sentences.append(
            f"label likelihood {likelihood:.2f}: from {WORTH_CHOOSING:g} on it pays to choose rows "
            "by the scores, if labels agree with them"
        )
    return hanging(sentences)


COMMAND = Command.of(PlanOptions, plan, _text, remarks=told, reads_pools=lambda _: True)
