"""How good the systems are: against each other, by threshold, by slice and as labels came in."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.report.convergence_chart import MOST_PANELS, convergence_chart
from evalsampling.report.curve_chart import curve_chart, lettered
from evalsampling.report.facts import Facts, SlicePart
from evalsampling.report.interval_rows import IntervalRow, interval_rows, small_interval
from evalsampling.report.markup import (
    Section,
    bullets,
    data,
    escape,
    figure,
    folded,
    interval,
    paragraph,
    table,
)
from evalsampling.report.numbers import Number, called, decimals, pretty, shown, title
from evalsampling.report.svg import scale_for
from evalsampling.report.thresholds import (
    CURVES,
    PR_CURVE,
    ScoreCurve,
    ThresholdChoice,
    cheapest,
    curves_of,
)

MOST_SLICES = 40
"""Most slices of a column that the page shows, the largest ones; the CSV has all."""

MOST_SLICE_TABLES = 24
"""Most tables of slices on the page: of each column the first in full, the others folded."""

MOST_CURVES = 6
"""Most curves that are drawn."""

MOST_POINTS = 21
"""Most points in the table of a curve."""

_PICKED = paragraph(
    "Each row of a table of thresholds is the cheapest one if a miss (a positive that is not "
    "found) costs as much as so many false positives. A threshold that was picked looks a little "
    "better than it is: let the interval decide, not the estimate."
)
"""Explains the tables of thresholds."""

MOST_MEASURES = 12
"""Most measures whose systems are drawn side by side."""


def systems(facts: Facts) -> Section | None:
    """Return the section that shows all systems side by side, None if there is only one."""
    if len(facts.systems) < 2 or not facts.labels:
        return None
    by_measure: dict[str, list[Number]] = {}
    for number in facts.headline:
        by_measure.setdefault(number.measure, []).append(number)
    body = []
    for measure, numbers in list(by_measure.items())[:MOST_MEASURES]:
        if any(number.value is not None for number in numbers):
            rows = [IntervalRow(number, number.system) for number in numbers]
            name = pretty(numbers[0]).removesuffix(f" of {numbers[0].system}")
            caption = f"{escape(name)} of each system, from the same labels."
            body.append(figure(interval_rows(rows, f"{measure} by system"), caption))
    if not body:
        return None
    if not facts.differences:
        body.append(
            paragraph(
                "All systems were judged by the same labels, so their errors go together: "
                "intervals that overlap do not mean that the systems are equal."
            )
        )
    return Section("systems", "The systems side by side", "".join(body))


def differences(facts: Facts) -> Section | None:
    """Return the section of differences and ratios of systems, None if none was asked for."""
    numbers = facts.differences
    if not numbers or not facts.labels:
        return None
    body = []
    for neutral in sorted({number.neutral for number in numbers}):
        alike = [number for number in numbers if number.neutral == neutral]
        rows = [IntervalRow(number, _compared(number)) for number in alike]
        caption = f"Systems whose interval does not hold {neutral:g} can be distinguished."
        name = "Ratios of systems" if neutral else "Differences of systems"
        body.append(figure(interval_rows(rows, name, neutral), caption))
    lines = [
        [escape(pretty(number)), *_figures(number), escape(verdict(number))] for number in numbers
    ]
    head = ["comparison", "estimate", "interval", "verdict"]
    body.append(table("Comparisons of systems", head, lines, (1, 2)))
    return Section("differences", "Which system is better?", "".join(body))


def _figures(number: Number) -> tuple[str, str]:
    """Return value and interval of a number as markup, with as many digits as the interval has."""
    digits = decimals(number.low, number.high)
    return data(number.value, digits), interval(number.low, number.high, digits)


def _compared(number: Number) -> str:
    """Return the short name of a comparison: ``F1: new less old``."""
    kind, _, inner = number.measure.removesuffix(")").partition("(")
    name = called(inner if kind in ("difference", "ratio") else number.measure)
    return f"{name}: {number.system} {'by' if number.neutral else 'less'} {number.against}"


def verdict(number: Number) -> str:
    """Return in words which system of a comparison is higher, if that can be said."""
    if number.value is None or not number.claims:
        return "is not known yet"
    if number.low is not None and number.low > number.neutral:
        return f"{number.system} is higher"
    if number.high is not None and number.high < number.neutral:
        return f"{number.against} is higher"
    return "cannot be distinguished"


def curves(facts: Facts) -> Section | None:
    """Return the section of curves and their cheapest thresholds, None if there is no curve."""
    if not facts.labels:
        return None
    body = []
    for curve in curves_of(facts.numbers)[:MOST_CURVES]:
        if not any(point.is_defined for point in curve.points):
            continue
        choices = cheapest(curve, facts.prevalence)
        caption = f"Area: {facts.level} interval of each point. "
        has_band = all(point.up.band for point in curve.points)
        caption += "Dashed: a band meant to hold the whole curve. " * has_band
        caption += "Rings: the thresholds of the table below." * bool(choices)
        body.append(figure(curve_chart(curve, choices), caption))
        if choices:
            body += [] if _PICKED in body else [_PICKED]
            body.append(_choices(choices))
        body.append(folded("Points of the curve", _points(curve)))
    if not body:
        return None
    guarantee = facts.estimate["guarantee"]
    if guarantee is not None:
        body.insert(0, paragraph(_guaranteed(guarantee)))
    return Section("curves", "Thresholds to pick from", "".join(body))


def _choices(choices: Sequence[ThresholdChoice]) -> str:
    letters = lettered(choices)
    rows = [
        [_cost(choice.miss_in_false_positives), letters[choice.point.threshold],
         f"{choice.point.threshold:.4g}".replace("-", "\N{MINUS SIGN}"),
         *("{} ({})".format(*_figures(number)) for number in (choice.point.up, choice.point.along)),
         data(choice.cost, 2)]
        for choice in choices
    ]  # fmt: skip
    along, up = _axes(choices[0].curve)
    head = ["a miss costs", "ring", "threshold", up, along, "cost for each positive"]
    on = "" if choices[0].curve == PR_CURVE else ", by the ROC curve"
    name = title("Cheapest thresholds", choices[0].system)
    return table(f"{name}{on}", head, rows, (2, 3, 4, 5))


def _axes(curve: str) -> list[str]:
    """Return what stands on the horizontal and on the vertical axis of a curve, in words."""
    return [name.replace("_", " ") for name in CURVES[curve]]


def _guaranteed(guarantee: Mapping[str, Any]) -> str:
    if guarantee["factor"] is None:
        if guarantee["settled"]:
            return "No precision is guaranteed: the warnings say why."
        return "No precision is guaranteed yet: more labels are needed."
    return (
        f"At every rank of the list the precision is within a factor of "
        f"<b>{data(guarantee['factor'], 2)}</b> of the truth, with "
        f"{100 * guarantee['confidence']:g} % confidence for all ranks together."
    )


def _cost(cost: float) -> str:
    if cost < 1:
        return f"a {1 / cost:g}th of a false positive" if cost != 0.5 else "half a false positive"
    return "as much as a false positive" if cost == 1 else f"{cost:g} false positives"


def _points(curve: ScoreCurve) -> str:
    step = max(1, -(-len(curve.points) // MOST_POINTS))
    rows = [
        [f"{point.threshold:.6g}", data(point.along.value),
         interval(point.along.low, point.along.high),
         data(point.up.value), interval(point.up.low, point.up.high)]
        for point in curve.points[::step]
    ]  # fmt: skip
    along, up = _axes(curve.name)
    head = ["threshold", along, "interval", up, "interval"]
    name = title(curve.name.replace("_", " "), curve.system)
    return table(f"{name} by threshold", head, rows, range(1, 5))


def slices(facts: Facts) -> Section | None:
    """Return the section of slices, as tables with bars, None if there are no slices."""
    if not facts.slices or not facts.labels:
        return None
    by_slice: dict[tuple[str, str], Number] = {}
    titles: dict[str, Number] = {}
    for number in facts.numbers:
        if number.slice is not None and not number.is_point:
            by_slice[number.title, number.slice] = number
            titles.setdefault(number.title, number)
    whole = {number.title: number for number in (*facts.headline, *facts.differences)}
    body, left_out = [], 0
    columns = list(dict.fromkeys(part.column for part in facts.slices))[:MOST_SLICE_TABLES]
    shown_titles = list(titles)[: max(MOST_SLICE_TABLES // len(columns), 1)]
    for column in columns:
        parts = sorted(
            (part for part in facts.slices if part.column == column), key=lambda part: -part.rows
        )
        left_out += len(parts[MOST_SLICES:])
        tables = []
        for name in shown_titles:
            listed = [(part, by_slice[name, part.slice]) for part in parts[:MOST_SLICES]
                      if (name, part.slice) in by_slice]  # fmt: skip
            if listed:
                tables.append(_slice_table(column, pretty(titles[name]), listed, whole.get(name)))
        body += tables[:1]
        if tables[1:]:
            body.append(folded(f"Other numbers by {column}", "".join(tables[1:])))
    if not body:
        return None
    missing = left_out or len(titles) > len(shown_titles)
    note = "The largest slices are shown; the CSV file has all of them." if missing else ""
    return Section("slices", "Slices", "".join(body) + (paragraph(note) if note else ""))


def _slice_table(
    column: str, name: str, listed: Sequence[tuple[SlicePart, Number]], whole: Number | None
) -> str:
    numbers = [number for _, number in listed]
    ends = [end for number in numbers for end in (number.low, number.high, number.value)]
    scale = scale_for(ends, 0, 1)
    rows = []
    for part, number in listed:
        value, span = _figures(number)
        rows.append(
            [escape(part.value), f"{part.rows:,}", f"{part.labels:,}", value,
             span if number.claims else escape(number.method),
             small_interval(number, scale.low, scale.high)]
        )  # fmt: skip
    if whole is not None:
        rows.append(
            ["<em>whole pool</em>", "", "", *_figures(whole),
             small_interval(whole, scale.low, scale.high)]
        )  # fmt: skip
    axis = f"{shown(scale.low, 0)} to {shown(scale.high, 0)}"
    head = [column, "rows", "labels", "estimate", "interval", axis]
    return table(f"{name} by {column}", head, rows, (1, 2, 3, 4))


def convergence(facts: Facts) -> Section | None:
    """Return the section of estimates after each round, None before a second round has labels."""
    if len(facts.rounds) < 2 or all(number.value is None for number in facts.rounds[-1].measures):
        return None
    picture = convergence_chart(
        [after.labels for after in facts.rounds], [after.measures for after in facts.rounds]
    )
    rows = [
        [str(after.round), f"{after.labels:,}",
         *(f"{data(number.value)} ({interval(number.low, number.high)})"
           for number in after.measures[:MOST_PANELS])]
        for after in facts.rounds
    ]  # fmt: skip
    names = [pretty(number) for number in facts.rounds[-1].measures[:MOST_PANELS]]
    listed = table("Estimates after each round", ["round", "labels", *names], rows,
                   range(1, 2 + len(names)))  # fmt: skip
    caption = "Line: estimate. Area: its interval. With the labels that are known by now."
    wider = bullets([escape(words) for after in facts.rounds for words in after.widened])
    body = figure(picture, caption) + wider + folded("The numbers", listed)
    return Section("convergence", "As labels came in", body)
