"""`evalsampling estimate`."""

import argparse
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evalsampling.cli.command import Beam, Command, through_pipeline, told
from evalsampling.cli.wording import counted, hanging, table, wrapped
from evalsampling.commands.estimate_labelled import (
    OF_TABLE,
    EstimateCommandOptions,
    estimate_labelled,
)
from evalsampling.commands.estimate_result import Bounds, EstimateResult
from evalsampling.commands.options import add_to_command, read_options
from evalsampling.errors import UsageError
from evalsampling.inference.intervals import DESIGN_BASED
from evalsampling.inference.label_likelihood import WORTH_CHOOSING
from evalsampling.inference.results import (
    SAID,
    ReportedInterval,
    ReportedSensitivity,
    assumed,
    rested_on,
    said_of_labels,
)
from evalsampling.parts.records import read_record
from evalsampling.report.numbers import (
    HALF_AND_TWICE,
    MOSTLY_PRIOR,
    Number,
    is_mostly_prior,
    two_digits,
)
from evalsampling.storage import is_url

_WHOLE = "whole pool"

_MOST_POINTS = 8
"""Most points of a curve that are printed; `--json` has them all."""

_MOST_RANKS = 12
"""Most ranks of a curve that `--detail` prints."""

_OF_CURVE = ("precision", "recall", "f1")
"""Measures at each rank."""

_MOST_STATEMENTS = 8
"""Most numbers but for comparisons that are said in sentences; the others are in a table."""

_MOST_NOTES = 3
"""Most numbers, and most classes, that get notes on hidden positives; `--json` has all."""


def _run(arguments: argparse.Namespace, show: Callable[[Any], None]) -> EstimateResult:
    options = read_options(EstimateCommandOptions, arguments)
    labels, replace = _resolved(options.labels), _resolved(options.replace)
    options = dataclasses.replace(options, labels=labels, replace=replace)
    if arguments.beam:
        of_table = [name for name in OF_TABLE if getattr(options, name) is not None]
        if of_table:
            raise UsageError(f"--{of_table[0]} is of a table, which is read without Beam")
        label = [] if options.label is None else [f"--label={options.label}"]  # Of Beam's job.
        options = dataclasses.replace(options, label=None)
        from evalsampling.pipelines.estimate import main

        output = through_pipeline(main, options, [*arguments.beam, *label])
        result = read_record(EstimateResult, {**output["result"], "messages": output["messages"]})
        show(dataclasses.replace(result, reports=()))
    else:
        result = estimate_labelled(options, show)
    for receipt in result.reports:
        receipt.tell()
    return result


def _resolved(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(path if is_url(path) else str(Path(path).resolve()) for path in paths)


def _remarks(result: EstimateResult) -> Iterator[str]:
    """Yield what became of the deliveries, warnings but for those at the top of the text, notes."""
    yield from result.messages
    shown = (*result.doubts, *(note for note in result.notes if note.startswith(SAID)))
    yield from (line for line in told(result) if line.partition(": ")[2] not in shown)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_to_command(parser, EstimateCommandOptions)
    parser.add_argument(
        "--detail", action="store_true", help="show all intervals, and what they rest on"
    )
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit with 0 whatever the gates say"
    )


def _text(arguments: argparse.Namespace, result: EstimateResult) -> str:
    lines = hanging(result.doubts)
    labels = counted(result.labels, "label")
    lines.append(f"{labels}, {result.awaited.words}, {result.rejects} rejected")
    if not result.labels and result.awaited.total and not arguments.detail:
        nothing = "Nothing can be estimated before a row has its label."
        return "\n".join([*lines, nothing, *_gates(result)])
    headline: list[Number] = []
    if arguments.detail:
        lines += _detail(result)
    else:
        whole = [number for number in result.measures if number.is_of_pool]
        compared = [number for number in whole if number.against is not None]
        headline = compared + [each for each in whole if each.against is None][:_MOST_STATEMENTS]
        lines += hanging(number.statement for number in headline)
        lines += _short_table([each for each in result.measures if each not in headline])
        lines += _besides(result) + _curve(result, len(arguments.at))
    lines += hanging(each.statement for each in result.certificates)
    lines += _gates(result) + hanging(said_of_labels(result.notes))
    if any(map(_has_brackets, headline)):
        level = f"{100 * result.measures[0].confidence:g} % intervals"
        lines += wrapped(f"In brackets are {level}; --detail says what they rest on.")
    return "\n".join(lines)


def _has_brackets(number: Number) -> bool:
    """Return whether a number's sentence has an interval in brackets."""
    is_bounded = number.low is not None and number.high is not None
    return number.value is not None and number.claims and is_bounded and not number.is_exact


def _short_table(numbers: Sequence[Number]) -> list[str]:
    """Return a table of values and default intervals, a row each; no line of no numbers."""
    rows = [
        [_title(each), _value(each), _interval(each, each.intervals[0].kind)]
        for each in _thinned(numbers)
    ]
    if not rows:
        return []
    return table(["others", "value", f"{100 * numbers[0].confidence:g} % interval"], rows)


def _value(number: Number) -> str:
    return "undefined" if number.value is None else _end(number.value)


def _detail(result: EstimateResult) -> list[str]:
    """Return all numbers with all their intervals, and the assumptions of these."""
    shown = _thinned(result.measures)
    kinds = [*assumed(intervals := [each for number in shown for each in number.intervals])]
    lines = estimate_table(shown, kinds, _methods_asked_for(shown))
    if any(_is_bracketed(number, kind) for number in shown for kind in kinds):
        lines += hanging([MOSTLY_PRIOR])
    lines += _tests_table(shown)
    for kind, words in rested_on(intervals).items():
        lines += hanging([f"{kind}: {words}"])
    lines += _notes_on_hidden(result)
    if result.half_width is not None:
        lines.append(f"half-width {result.half_width:.4f}: of the widest interval")
    elif result.half_width_reason is not None:
        lines += hanging([f"half-width not known: {result.half_width_reason}"])
    return lines + _likelihood(result) + _besides(result) + _curve(result, _MOST_RANKS)


def _likelihood(result: EstimateResult) -> list[str]:
    """Return how good the scores' probabilities are by the labels, with each slice's."""
    if result.label_likelihood is None:
        return []
    found = (
        f"label likelihood {result.label_likelihood:.2f}: rows are worth choosing by the scores "
        f"from {WORTH_CHOOSING:g} on"
    )
    slices = result.label_likelihood_of.items()
    return hanging([found]) + [f"  {name}: {value:.2f}" for name, value in slices]


def _gates(result: EstimateResult) -> list[str]:
    """Return the verdict on each gate, and on all of several, by the intervals."""
    if result.gates is None:
        return []
    lines = hanging(gate.statement for gate in result.gates.gates)
    several = len(result.gates.gates) > 1
    return lines + [f"all gates together: {result.gates.outcome}"] * several


def _besides(result: EstimateResult) -> list[str]:
    """Return what some samplers guarantee or how many rows they drew; how well people agree."""
    told = [each.words for each in (result.guarantee, result.sample_size) if each is not None]
    return hanging(told + ([result.people.statement] if result.people is not None else []))


def _curve(result: EstimateResult, most: int) -> list[str]:
    """Return the bounds at evenly spaced ranks, at most so many; no line of other samplers."""
    if result.curve is None or not most:
        return []
    points = result.curve.points
    if len(points) > most:
        ranks = np.log([point.rank for point in points])
        even = np.linspace(ranks[0], ranks[-1], most)
        points = tuple(points[i] for i in np.unique(np.searchsorted(ranks, even - 1e-9)))
    rows = [
        [f"{point.rank:,}", f"{point.threshold:.5g}",
         *(_bounds(point.measures[name]) for name in _OF_CURVE)]
        for point in points
    ]  # fmt: skip
    average = f"average precision {_bounds(result.curve.average_precision)}"
    return [*table(["rank", "threshold", *_OF_CURVE], rows), average]


def _bounds(bounds: Bounds) -> str:
    return f"{bounds.value:.4f} ({bounds.low:.4f}-{bounds.high:.4f})"


def _notes_on_hidden(result: EstimateResult) -> list[str]:
    """Return notes on hidden positives: prior, posterior, and intervals for other shares."""
    pool = [number for number in result.measures if number.is_of_pool]
    combined = [number for number in pool if number.sensitivity]
    notes = []
    for hidden in result.hidden[:_MOST_NOTES] if combined else ():
        of_class = f" of class {hidden.label}" if len(result.hidden) > 1 else ""
        levels = ", ".join(f"{100 * float(level):g}" for level in hidden.prior)
        notes.append(
            f"hidden positives{of_class}, in % of those that the scores explain, "
            f"quantiles {levels} %: {_percents(hidden.prior)} by the spec's `hidden`, "
            f"{_percents(hidden.posterior)} with the labels"
        )
    for number in combined[:_MOST_NOTES]:
        others = zip(HALF_AND_TWICE, number.sensitivity, strict=True)
        ranges = ", ".join(f"{words}: {_ends(other)}" for words, other in others)
        notes.append(f"{_title(number)} if hidden positives were {ranges}")
    return hanging(notes)


def _percents(quantiles: Mapping[str, float]) -> str:
    return ", ".join(two_digits(100 * quantile) for quantile in quantiles.values())


def estimate_table(
    shown: Sequence[Number], kinds: Sequence[str], methods: Sequence[str] = ()
) -> list[str]:
    """Return a table of estimates, the default interval of each in the column of its kind."""
    if not shown:
        return []
    groups: dict[str, list[Number]] = {}
    for number in shown:
        groups.setdefault(number.measure, []).append(number)
    head = [f"{100 * shown[0].confidence:g} % intervals", "value", *kinds, *methods]
    alone = len(groups) == len(shown)
    by_method = len(kinds) <= 1
    rows = []
    for measure, members in groups.items():
        rows += [] if alone else [[measure, *[""] * (len(head) - 1 + by_method)]]
        for number in members:
            name = _title(number) if alone else _below(number)
            cells = [_interval(number, kind) for kind in kinds]
            ends = {item.method: _ends(item) for item in reversed(number.intervals)}
            cells += [ends.get(method, "-") for method in methods]
            rows.append([name, _value(number), *cells, *([number.method] if by_method else [])])
    return table([*head, *(["method"] if by_method else [])], rows)


def _interval(number: Number, kind: str) -> str:
    """Return the cell of an interval of a kind: its ends, ``exact``, ``no claim``, or ``-``.

    A model-based interval that is not the default is in brackets.
    """
    interval = number.of_kind(kind)
    if interval is None:
        return "-"
    if number.intervals[0] == interval and number.is_exact:
        return "exact"
    if number.intervals[0] == interval and not number.claims:
        return "no claim"
    ends = _ends(interval)
    return f"({ends})" if _is_bracketed(number, kind) else ends


def _methods_asked_for(shown: Sequence[Number]) -> list[str]:
    """Return the methods of design-based intervals that are not the first of their number."""
    methods: dict[str, None] = {}
    for number in shown:
        by_design = [item for item in number.intervals if item.kind == DESIGN_BASED]
        methods |= {item.method: None for item in by_design if item != by_design[0]}
    return list(methods)


def _is_bracketed(number: Number, kind: str) -> bool:
    interval = number.of_kind(kind)
    return interval is not None and is_mostly_prior(interval, number.intervals)


def _tests_table(shown: Sequence[Number]) -> list[str]:
    """Return a table of tests of comparisons, a row each; no line if nothing is compared."""
    tests = [(_title(item), item.significance) for item in shown if item.significance is not None]
    keys = {"p": "p_value", "anytime p": "anytime_p_value", "chance above": "chance_above"}
    columns = {
        name: ["-" if test.get(key) is None else f"{test[key]:.3g}" for _, test in tests]
        for name, key in keys.items()
    }
    columns = {name: cells for name, cells in columns.items() if {*cells} - {"-"}}
    if not columns:
        return []
    titles = [title for title, _ in tests]
    return table(
        ["tests, of the first interval", *columns],
        list(zip(titles, *columns.values(), strict=True)),
    )


def _title(number: Number) -> str:
    within = _within(number)
    return number.measure if within == _WHOLE else f"{number.measure} {within}"


def _within(number: Number) -> str:
    """Return the threshold, systems and slice that an estimate is for, in words."""
    parts = [None if number.threshold is None else f"at {number.threshold:.4g}"]
    parts += [None if number.system is None else f"of {number.system}"]
    parts += [None if number.against is None else f"against {number.against}", number.slice]
    return " ".join(part for part in parts if part is not None) or _WHOLE


def _below(number: Number) -> str:
    """Return the name of an estimate below its measure: slices are indented, but of points."""
    if number.slice is None:
        return f"  {_within(number)}"
    at = "  " if number.threshold is None else f"at {number.threshold:.4g} "
    return f"  {at}{number.slice}"


def _ends(interval: ReportedInterval | ReportedSensitivity) -> str:
    return f"{_end(interval.low)}\N{EN DASH}{_end(interval.high)}"


def _end(value: float | None) -> str:
    return "?" if value is None else f"{value:z.4f}"


def _thinned(measures: Sequence[Number]) -> list[Number]:
    """Return the estimates to print: all except evenly spaced points of long curves."""
    groups: dict[tuple[str | None, ...], list[Number]] = {}
    for number in measures:
        curve = (number.measure, number.system, number.against, number.slice)
        groups.setdefault(curve, []).append(number)
    shown = []
    for points in groups.values():
        shown += points[:: -(-len(points) // _MOST_POINTS)]
    return shown


COMMAND = Command(_add_options, _run, _text, Beam.WITH_RUNNER, _remarks)
