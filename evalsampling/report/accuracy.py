"""How good the systems are: against each other, by threshold, by slice and as labels came in."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from evalsampling.report.facts import Facts, SlicePart
from evalsampling.report.interval_rows import IntervalRow, interval_rows
from evalsampling.report.numbers import Number, called, higher, pretty
from evalsampling.report.section import (
    Section,
    data,
    figures,
    interval,
    value_with_interval,
)
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
"""Most curves on the page."""

MOST_POINTS = 21
"""Most points in the table of a curve."""

MOST_MEASURES = 12
"""Most measures whose systems are drawn side by side."""

MOST_ESTIMATES = 8
"""Most numbers that are shown after each round."""


def systems(facts: Facts) -> Section | None:
    """Return the section that shows all systems side by side, None if there is only one."""
    if len(facts.systems) < 2 or not facts.labels:
        return None
    by_measure: dict[str, list[Number]] = {}
    for number in facts.headline:
        by_measure.setdefault(number.measure, []).append(number)
    pictures = []
    for measure, numbers in list(by_measure.items())[:MOST_MEASURES]:
        if any(number.value is not None for number in numbers):
            rows = [IntervalRow(number, number.system) for number in numbers]
            name = pretty(numbers[0]).removesuffix(f" of {numbers[0].system}")
            pictures.append((interval_rows(rows, f"{measure} by system"), name))
    content = {"pictures": pictures, "overlap": not facts.differences}
    return Section("systems", "The systems side by side", content) if pictures else None


def differences(facts: Facts) -> Section | None:
    """Return the section of differences and ratios of systems, None if none was asked for."""
    numbers = facts.differences
    if not numbers or not facts.labels:
        return None
    pictures = []
    for neutral in sorted({number.neutral for number in numbers}):
        alike = [number for number in numbers if number.neutral == neutral]
        rows = [IntervalRow(number, _compared(number)) for number in alike]
        name = "Ratios of systems" if neutral else "Differences of systems"
        pictures.append((interval_rows(rows, name, neutral), f"{neutral:g}"))
    lines = [(pretty(number), *figures(number), verdict(number)) for number in numbers]
    content = {"pictures": pictures, "rows": lines}
    return Section("differences", "Which system is better?", content)


def _compared(number: Number) -> str:
    """Return the short name of a comparison: ``F1: new less old``."""
    kind, _, inner = number.measure.removesuffix(")").partition("(")
    name = called(inner if kind in ("difference", "ratio") else number.measure)
    return f"{name}: {number.system} {'by' if number.neutral else 'less'} {number.against}"


def verdict(number: Number) -> str:
    """Return in words which system of a comparison is higher, if that can be said."""
    if number.value is None or not number.claims:
        return "is not known yet"
    names = number.system, number.against
    return higher(number.low, number.high, number.neutral, names) or "cannot be distinguished"


def curves(facts: Facts) -> Section | None:
    """Return the section of curves and their cheapest thresholds, None if there is no curve."""
    if not facts.labels:
        return None
    shown = [
        (curve, cheapest(curve, facts.prevalence))
        for curve in curves_of(facts.numbers)[:MOST_CURVES]
        if any(point.is_defined for point in curve.points)
    ]
    if not shown:
        return None
    guarantee = facts.estimate["guarantee"]
    content = {
        "guarantee": guarantee and {
            "factor": guarantee["factor"] and data(guarantee["factor"], 2),
            "confidence": f"{100 * guarantee['confidence']:g}",
            "settled": guarantee["settled"],
        },
        "explained": any(choices for _, choices in shown),
        "curves": [_curve(curve, choices) for curve, choices in shown],
    }  # fmt: skip
    return Section("curves", "Thresholds to pick from", content)


def _curve(curve: ScoreCurve, choices: Sequence[ThresholdChoice]) -> dict[str, Any]:
    along, up = (name.replace("_", " ") for name in CURVES[curve.name])
    on = "" if curve.name == PR_CURVE else ", by the ROC curve"
    bands = [point.up.band for point in curve.points]
    has_f1 = all(point.f1 for point in curve.points)
    step = max(1, -(-len(curve.points) // MOST_POINTS))
    return {
        "along": along,
        "up": up,
        "f1": ["F1"] if has_f1 else [],
        "choices_caption": f"{curve.titled('Cheapest thresholds')}{on}",
        "choices": [
            (_cost(choice.miss_in_false_positives),
             f"{choice.point.threshold:.4g}".replace("-", "\N{MINUS SIGN}"),
             value_with_interval(choice.point.up), value_with_interval(choice.point.along),
             *([value_with_interval(choice.point.f1)] if choice.point.f1 else ()),
             data(choice.cost, 2))
            for choice in choices
        ],
        "caption": f"{curve.titled(curve.name.replace('_', ' '))} by threshold",
        "points": [
            (f"{point.threshold:.6g}", *figures(point.along, 3), *figures(point.up, 3),
             *([interval(band.low, band.high)] if band else ()),
             *(figures(point.f1, 3) if point.f1 else ()))
            for point, band in list(zip(curve.points, bands, strict=True))[::step]
        ],
        "band": ["band of the whole curve"] if all(bands) else [],
    }  # fmt: skip


def _cost(cost: float) -> str:
    if cost < 1:
        return f"a {1 / cost:g}th of a false positive" if cost != 0.5 else "half a false positive"
    return "as much as a false positive" if cost == 1 else f"{cost:g} false positives"


def slices(facts: Facts) -> Section | None:
    """Return the section of slices, None if there are no slices."""
    if not facts.slices or not facts.labels:
        return None
    by_slice: dict[tuple[str, str], Number] = {}
    titles: dict[str, Number] = {}
    for number in facts.numbers:
        if number.slice is not None and not number.is_point:
            by_slice[number.title, number.slice] = number
            titles.setdefault(number.title, number)
    whole = {number.title: number for number in (*facts.headline, *facts.differences)}
    found, left_out = [], 0
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
        found += [(column, tables)] if tables else []
    content = {"columns": found, "left_out": left_out or len(titles) > len(shown_titles)}
    return Section("slices", "Slices", content) if found else None


def _slice_table(
    column: str, name: str, listed: Sequence[tuple[SlicePart, Number]], whole: Number | None
) -> dict[str, Any]:
    rows: list[tuple[str, ...]] = []
    for part, number in listed:
        value, span = figures(number)
        rows.append((part.value, f"{part.rows:,}", f"{part.labels:,}", value,
                     span if number.claims else number.method))  # fmt: skip
    if whole is not None:
        rows.append((Markup("<em>whole pool</em>"), "", "", *figures(whole)))
    return {"caption": f"{name} by {column}", "column": column, "rows": rows}


def convergence(facts: Facts) -> Section | None:
    """Return the section of estimates after each round, None before a second round has labels."""
    if len(facts.rounds) < 2 or all(number.value is None for number in facts.rounds[-1].measures):
        return None
    content = {
        "names": [pretty(number) for number in facts.rounds[-1].measures[:MOST_ESTIMATES]],
        "rows": [
            (after.round, f"{after.labels:,}",
             *(value_with_interval(number, 3) for number in after.measures[:MOST_ESTIMATES]))
            for after in facts.rounds
        ],
    }  # fmt: skip
    return Section("convergence", "As labels came in", content)
