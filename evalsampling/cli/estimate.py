"""`evalsampling estimate`."""

import argparse
import dataclasses
import functools
import sys
from collections.abc import Sequence
from pathlib import Path

from evalsampling.cli.command import Beam, Command, through_pipeline
from evalsampling.commands.estimate import (
    EstimateOptions,
    EstimateResult,
    ReportedEstimate,
    ReportedInterval,
    estimate,
)
from evalsampling.commands.options import add_to_command, read_options
from evalsampling.inference.many_systems import Contest
from evalsampling.storage import is_url
from evalsampling.telemetry import logs

_MOST_POINTS = 8
"""Points of a curve that are printed; `--json` has them all."""


def _run(arguments: argparse.Namespace) -> EstimateResult:
    options = read_options(EstimateOptions, arguments)
    labels, replace = _resolved(options.labels), _resolved(options.replace)
    result = _estimate(dataclasses.replace(options, labels=labels, replace=replace), arguments)
    for line in [*result.messages, *(f"warning: {warning}" for warning in result.warnings)]:
        if not logs.as_json():
            print(line, file=sys.stderr)
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
    lines = [f"{result.labels:,} labels, {result.open} open, {result.rejects} rejected"]
    shown = _thinned(result.measures)
    width = max((len(_title(one)) for one in shown), default=0)
    for one in shown:
        level = f"{100 * one.confidence:g} %"
        value = "undefined" if one.value is None else f"{one.value:.4f}"
        lines.append(
            f"{_title(one):<{width}} {value:>9}   {level} "
            f"{_end(one.low)} to {_end(one.high)} ({one.method}){_other_kinds(one)}{_tested(one)}"
        )
    lines += [line for contest in result.contests for line in contest_table(contest)]
    kinds = [kind for kind in _ASSUMES if any(kind in _kinds(one) for one in shown)]
    if kinds[:1] == ["model-assisted"]:
        lines += [f"{kind}: {_ASSUMES[kind]}" for kind in kinds]
    if result.guarantee is not None:
        lines.append(result.guarantee.words)
    return "\n".join(lines)


def contest_table(contest: Contest) -> list[str]:
    """Return the table of who beats whom: by how much a row's system is above a column's."""
    width = max(11, *(len(str(name)) + 2 for name in contest.systems))
    told = {(pair.system, pair.against): (pair.value, pair.low > 0, pair.high < 0)
            for pair in contest.pairs}  # fmt: skip
    test = "-" if contest.range_p_value is None else f"{contest.range_p_value:.3g}"
    lines = [f"{contest.measure}, row less column, * where surely not alike (all pairs together, "
             f"{100 * contest.confidence:g} %); all alike: p {test}",
             " " * width + "".join(f"{name!s:>{width}}" for name in contest.systems)]  # fmt: skip
    for row in contest.systems:
        line = f"{row!s:<{width}}"
        for column in contest.systems:
            value, above, below = told.get((row, column), told.get((column, row), (None, 0, 0)))
            sign = -1 if (column, row) in told else 1
            star = "*" if above or below else ""
            line += f"{'-' if value is None else f'{sign * value:+.4f}{star}':>{width}}"
        lines.append(line)
    return lines


_ASSUMES = {
    "model-assisted": "holds if the rate of positives rises with the score and no more positives "
    "hide from it than the spec's `hidden` makes probable",
    "design-based": "rests on how rows were drawn; it does not see positives that no label has met",
    "assumption-light": "holds wherever positives hide",
}
"""What the kinds of intervals rest on, as they stand in a line."""


def _kinds(one: ReportedEstimate) -> dict[str, ReportedInterval]:
    """Return the first interval of each kind."""
    kinds: dict[str, ReportedInterval] = {}
    for interval in one.intervals:
        kinds.setdefault(interval.kind, interval)
    return kinds


def _other_kinds(one: ReportedEstimate) -> str:
    """Return the intervals of other kinds than the default one, for the end of its line."""
    kinds = _kinds(one)
    if "model-assisted" not in kinds:
        return ""
    return "".join(
        f", {kind} {_end(kinds[kind].low)} to {_end(kinds[kind].high)}"
        for kind in list(_ASSUMES)[1:]
        if kind in kinds
    )


def _tested(one: ReportedEstimate) -> str:
    """Return what tests say of a comparison, for the end of its line."""
    told = one.significance or {}
    words = {"p_value": "p", "anytime_p_value": "anytime p", "chance_above": "chance"}
    found = [(word, told.get(key)) for key, word in words.items()]
    return "".join(f", {word} {number:.3g}" for word, number in found if number is not None)


def _title(one: ReportedEstimate) -> str:
    parts = [one.measure, None if one.threshold is None else f"at {one.threshold:.4g}"]
    parts += [None if one.system is None else f"of {one.system}"]
    parts += [None if one.against is None else f"against {one.against}", one.slice]
    return " ".join(part for part in parts if part is not None)


def _end(value: float | None) -> str:
    return "?" if value is None else f"{value:.4f}"


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
    "estimate",
    "Take labels and estimate.",
    functools.partial(add_to_command, options=EstimateOptions),
    _run,
    _text,
    Beam.WITH_RUNNER,
)
