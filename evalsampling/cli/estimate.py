"""`evalsampling estimate`."""

import argparse
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalsampling.cli.command import Beam, Command
from evalsampling.cli.pipeline import through_pipeline
from evalsampling.cli.wording import counted, table, wrapped
from evalsampling.commands.estimate import EstimateOptions, estimate
from evalsampling.commands.estimate_result import EstimateResult, ReportedEstimate
from evalsampling.commands.options import add_to_command, read_options
from evalsampling.inference.assumptions import ASSUMES, assumed
from evalsampling.inference.many_systems import Contest
from evalsampling.inference.results import ReportedInterval, ReportedSensitivity
from evalsampling.report.numbers import CLAIM_NOTHING, MOSTLY_PRIOR, is_mostly_prior, two_digits
from evalsampling.storage import is_url
from evalsampling.telemetry import logs

_WHOLE = "whole pool"

_MOST_POINTS = 8
"""Points of a curve that are printed; `--json` has them all."""

_MOST_NOTES = 3
"""Numbers, and classes, of which more is told than intervals; `--json` has it of all."""

_LEAST_P_VALUE = 0.0001
"""Least p-value of many systems that is told: they are found by integration."""


def _run(arguments: argparse.Namespace) -> EstimateResult:
    options = read_options(EstimateOptions, arguments)
    labels, replace = _resolved(options.labels), _resolved(options.replace)
    result = _estimate(dataclasses.replace(options, labels=labels, replace=replace), arguments)
    warnings = (f"warning: {warning}" for warning in result.warnings)
    notes = (f"note: {note}" for note in result.notes)
    for line in [*result.messages, *warnings, *notes]:
        logs.say(line)
    return result


def _resolved(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(path if is_url(path) else str(Path(path).resolve()) for path in paths)


def _estimate(options: EstimateOptions, arguments: argparse.Namespace) -> EstimateResult:
    if arguments.runner is None:
        return estimate(options)
    from evalsampling.pipelines.estimate import main

    with through_pipeline(main, options, arguments.beam) as output:
        return EstimateResult.from_json(output["result"], output["messages"])


def _text(_: argparse.Namespace, result: EstimateResult) -> str:
    lines = [f"{counted(result.labels, 'label')}, {result.open} open, {result.rejects} rejected"]
    shown = _thinned(result.measures)
    kinds = [*assumed(kind for one in shown for kind in _kinds(one))]
    lines += estimate_table(shown, kinds, _methods_asked_for(shown))
    if any(_is_bracketed(one, kind) for one in shown for kind in kinds):
        lines += wrapped(MOSTLY_PRIOR, "  ")
    lines += _tests_table(shown)
    lines += [line for contest in result.contests for line in contest_table(contest)]
    if len(kinds) > 1:
        for kind in kinds:
            short = f" ({_SHORT[kind]})" if kind in _SHORT else ""
            lines += wrapped(f"{kind}{short}: {ASSUMES[kind]}", "  ")
    lines += _notes_on_hidden(result)
    if result.half_width is not None:
        lines.append(f"half-width {result.half_width:.4f}: of the widest interval")
    elif result.half_width_reason is not None:
        lines += wrapped(f"half-width not to be told: {result.half_width_reason}", "  ")
    if result.guarantee is not None:
        lines += wrapped(result.guarantee.words, "  ")
    if result.sample_size is not None:
        lines += wrapped(result.sample_size.words, "  ")
    return "\n".join(lines)


def _notes_on_hidden(result: EstimateResult) -> list[str]:
    """Return what is thought of hidden positives, and what another share or labels would change."""
    pool = [one for one in result.measures if one.slice is None and one.threshold is None]
    combined = [one for one in pool if one.sensitivity]
    notes = []
    for hidden in result.hidden[:_MOST_NOTES] if combined else ():
        of = f" of class {hidden.label}" if len(result.hidden) > 1 else ""
        levels = ", ".join(f"{100 * float(level):g}" for level in hidden.prior)
        notes.append(
            f"hidden positives{of}, in % of those that scores tell, quantiles {levels} %: "
            f"{_percents(hidden.prior)} by the spec's `hidden`, "
            f"{_percents(hidden.posterior)} with the labels"
        )
    for one in combined[:_MOST_NOTES]:
        others = ", ".join(f"{other.share:g}: {_ends(other)}" for other in one.sensitivity)
        notes.append(f"{_title(one)} with hidden.share {others}")
    told = [(one, one.undetected) for one in pool if one.undetected is not None]
    wide = [f"{_title(one)}: {light['words']}" for one, light in told if light["further"]]
    notes += wide[:_MOST_NOTES]
    return [line for note in notes for line in wrapped(note, "  ")]


def _percents(quantiles: Mapping[str, float]) -> str:
    return ", ".join(two_digits(100 * one) for one in quantiles.values())


def estimate_table(
    shown: Sequence[ReportedEstimate], kinds: Sequence[str], methods: Sequence[str] = ()
) -> list[str]:
    """Return a table of estimates: a row each, a column for each kind of interval.

    The default interval is in the column of its kind. Where a measure comes more than once, its
    name stands above its rows.

    Args:
        shown: estimates in order.
        kinds: of the intervals that have columns.
        methods: of further intervals that have columns.
    """
    if not shown:
        return []
    groups: dict[str, list[ReportedEstimate]] = {}
    for one in shown:
        groups.setdefault(one.measure, []).append(one)
    names = [_SHORT.get(kind, kind) for kind in kinds]
    head = [f"{100 * shown[0].confidence:g} % intervals", "value", *names, *methods]
    alone = len(groups) == len(shown)
    by_method = len(kinds) <= 1
    rows = []
    for measure, members in groups.items():
        rows += [] if alone else [[measure, *[""] * (len(head) - 1 + by_method)]]
        for one in members:
            name = _title(one) if alone else _below(one)
            value = "undefined" if one.value is None else _end(one.value)
            cells = [_interval(one, kind) for kind in kinds]
            cells += [_by_method(one, method) for method in methods]
            rows.append([name, value, *cells, *([one.method] if by_method else [])])
    return table([*head, *(["method"] if by_method else [])], rows)


def _interval(one: ReportedEstimate, kind: str) -> str:
    """Return the interval of a kind; the default one tells if it claims nothing.

    A model-based one that is not the default is in brackets.
    """
    found = _kinds(one).get(kind)
    if found is None:
        return "-"
    if one.intervals[0] == found and one.method == "census":
        return "exact"
    if one.intervals[0] == found and one.method.startswith(CLAIM_NOTHING):
        return "no claim"
    ends = _ends(found)
    return f"({ends})" if _is_bracketed(one, kind) else ends


def _methods_asked_for(shown: Sequence[ReportedEstimate]) -> list[str]:
    """Return the methods of the intervals that stand beside the design-based one of a number."""
    others: dict[str, None] = {}
    for one in shown:
        first = _kinds(one).get(_BY_DESIGN)
        others |= {i.method: None for i in one.intervals if i.kind == _BY_DESIGN and i != first}
    return list(others)


def _by_method(one: ReportedEstimate, method: str) -> str:
    """Return the interval of a method."""
    return next((_ends(each) for each in one.intervals if each.method == method), "-")


def _is_bracketed(one: ReportedEstimate, kind: str) -> bool:
    found = _kinds(one).get(kind)
    return found is not None and is_mostly_prior(found, one.intervals)


def contest_table(contest: Contest) -> list[str]:
    """Return the table of who beats whom: by how much a row's system is above a column's."""
    width = max(11, *(len(str(name)) + 2 for name in contest.systems))
    told = {(pair.system, pair.against): (pair.value, pair.low > 0, pair.high < 0)
            for pair in contest.pairs}  # fmt: skip
    lines = [
        *wrapped(f"{contest.measure}, row less column, design-based: from the weights alone, "
                 "where estimates above may also rest on the model of the labels", "  "),
        *wrapped("* where surely not alike (all pairs together, "
                 f"{100 * contest.confidence:g} %); all alike: {_test(contest)}", "  "),
        " " * width + "".join(f"{name!s:>{width}}" for name in contest.systems),
    ]  # fmt: skip
    for row in contest.systems:
        line = f"{row!s:<{width}}"
        for column in contest.systems:
            value, above, below = told.get((row, column), told.get((column, row), (None, 0, 0)))
            sign = -1 if (column, row) in told else 1
            star = "*" if above or below else ""
            line += f"{'-' if value is None else _signed(sign * value) + star:>{width}}"
        lines.append(line)
    return lines


def _test(contest: Contest) -> str:
    p_value = contest.range_p_value
    if p_value is None:
        return "p -"
    return f"p < {_LEAST_P_VALUE}" if p_value < _LEAST_P_VALUE else f"p {p_value:.3g}"


def _signed(value: float) -> str:
    text = f"{value:+z.4f}"
    return text if float(text) else text.lstrip("+")


_BY_DESIGN = "design-based"

_SHORT = {"assumption-light": "light"}
"""Kinds whose column has a shorter name."""


def _kinds(one: ReportedEstimate) -> dict[str, ReportedInterval]:
    """Return the first interval of each kind."""
    kinds: dict[str, ReportedInterval] = {}
    for interval in one.intervals:
        kinds.setdefault(interval.kind, interval)
    return kinds


def _tests_table(shown: Sequence[ReportedEstimate]) -> list[str]:
    """Return a table of what tests say of comparisons; no line if nothing is compared."""
    tested = [(one, one.significance) for one in shown if one.significance is not None]
    if not tested:
        return []
    numbers = {"p": "p_value", "anytime p": "anytime_p_value", "chance above": "chance_above"}
    told = {
        name: ["-" if found.get(key) is None else f"{found[key]:.3g}" for _, found in tested]
        for name, key in numbers.items()
    }
    told = {name: cells for name, cells in told.items() if {*cells} != {"-"}}
    if not told:
        return []
    titles = [_title(one) for one, _ in tested]
    return table(["tests", *told], list(zip(titles, *told.values(), strict=True)))


def _title(one: ReportedEstimate) -> str:
    within = _within(one)
    return one.measure if within == _WHOLE else f"{one.measure} {within}"


def _within(one: ReportedEstimate) -> str:
    """Return what tells an estimate from others of its measure."""
    parts = [None if one.threshold is None else f"at {one.threshold:.4g}"]
    parts += [None if one.system is None else f"of {one.system}"]
    parts += [None if one.against is None else f"against {one.against}", one.slice]
    return " ".join(part for part in parts if part is not None) or _WHOLE


def _below(one: ReportedEstimate) -> str:
    """Return what an estimate is called below its measure; a slice is below its system.

    But for points of curves, whose names are long.
    """
    if one.slice is None:
        return f"  {_within(one)}"
    return f"    {one.slice}" if one.threshold is None else f"  at {one.threshold:.4g} {one.slice}"


def _ends(interval: ReportedInterval | ReportedSensitivity) -> str:
    return f"{_end(interval.low)}\N{EN DASH}{_end(interval.high)}"


def _end(value: float | None) -> str:
    return "?" if value is None else f"{value:z.4f}"


def _thinned(measures: Sequence[ReportedEstimate]) -> list[ReportedEstimate]:
    """Return what is printed: of a curve's many points, some."""
    groups: dict[tuple[str | None, ...], list[ReportedEstimate]] = {}
    for one in measures:
        groups.setdefault((one.measure, one.system, one.against, one.slice), []).append(one)
    shown = []
    for points in groups.values():
        shown += points[:: -(-len(points) // _MOST_POINTS)]
    return shown


COMMAND = Command(
    functools.partial(add_to_command, options=EstimateOptions), _run, _text, Beam.WITH_RUNNER
)
