"""The sections of a report's page: what their templates are given beside the facts."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from evalsampling.inference.results import rested_on
from evalsampling.report.charts import calibration_chart, interval_rows
from evalsampling.report.facts import Facts
from evalsampling.report.numbers import (
    BY_LABELS_ALONE,
    MOSTLY_PRIOR,
    OUTCOMES,
    Number,
    called,
    decimals,
    higher,
    is_mostly_prior,
    pretty,
    shown,
    two_digits,
)
from evalsampling.report.score_curves import curves_of
from evalsampling.stats.magnitudes import BY

MOST_SENTENCES = 8
"""Most numbers that get a sentence each; the picture has them all."""

MOST_ROWS = 30
"""Most numbers in the picture."""

MOST_SLICES = 40
"""Most slices of a column that the page shows, the largest ones; the CSV has all."""

MOST_SLICE_TABLES = 24
"""Most tables of slices on the page: of each column the first in full, the others folded."""

MOST_CURVES = 6
"""Most curves on the page."""

MOST_MEASURES = 12
"""Most measures whose systems are drawn side by side."""

_NEEDS_ALL_POSITIVES = ("recall", "f1", "f_beta", "macro", "micro", "average_precision", "mcc",
                        "multiclass_mcc", "kappa", "roc_auc", "balanced_accuracy",
                        "fowlkes_mallows", "pr_curve", "roc_curve")  # fmt: skip
"""Beginnings of measures that depend on positives nobody has labelled."""


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the page: its id, which names its template too, its heading, its content."""

    anchor: str
    title: str
    content: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def sections(facts: Facts, short: bool = False) -> list[Section]:
    """Return the sections of the page, in order, without those that would be empty."""
    told = [claims(facts), differences(facts), summary(facts, short)]
    # What is doubtful about the answers stands before any number.
    told.insert(0 if facts.estimate.get("doubts") else 3, warnings(facts))
    if short:
        told.append(basis(facts))
    else:
        told += [
            what_if(facts),
            systems(facts),
            curves(facts),
            slices(facts),
            convergence(facts),
            *by_band(facts),
            annotators(facts),
            Section("quality", "Quality of the labels"),
            all_intervals(facts),
            Section("provenance", "How to make these numbers again"),
        ]
    return [section for section in told if section is not None]


# Numbers as cells of tables.


def data(value: float | None, digits: int = 3) -> Markup:
    """Return a number that is shown rounded and carries all its digits."""
    if value is None:
        return Markup("-")
    return Markup('<data value="{!r}">{}</data>').format(value, shown(value, digits))


def interval(low: float | None, high: float | None, digits: int = 3) -> Markup:
    """Return an interval, its ends with all their digits."""
    return Markup("{} to {}").format(data(low, digits), data(high, digits))


def figures(number: Number, digits: int | None = None) -> tuple[Markup, Markup]:
    """Return value and interval of a number, by default with as many digits as the latter has."""
    digits = decimals(number.low, number.high) if digits is None else digits
    return data(number.value, digits), interval(number.low, number.high, digits)


def value_with_interval(number: Number, digits: int | None = None) -> Markup:
    """Return a number with its interval in brackets; see `figures`."""
    return Markup("{} ({})").format(*figures(number, digits))


# The headline numbers: what they say, what they rest on, and what is to be known of them.


def claims(facts: Facts) -> Section | None:
    """Return the section of what may be said of claims and promises, None without any."""
    gates = facts.estimate.get("gates") or {"gates": [], "reached": None}
    said = [*gates["gates"], *facts.estimate.get("certificates", ())]
    if not said or not facts.labels:
        return None
    content = {
        "sentences": [_parted(each["statement"]) for each in said],
        "outcome": OUTCOMES[gates["reached"]] if len(gates["gates"]) > 1 else None,
    }
    return Section("claims", "What may be claimed", content)


def basis(facts: Facts) -> Section | None:
    """Return the section of what the numbers rest on, in four lines; None without any label."""
    if not facts.labels:
        return None
    intervals = [number.intervals[0] for number in facts.numbers if number.claims]
    return Section("basis", "What this rests on", {"assumed": rested_on(intervals)})


def summary(facts: Facts, short: bool = False) -> Section:
    """Return the section of the headline numbers, in words and as a picture."""
    numbers, picture = facts.headline, None
    # Defined numbers only, or one undefined: the warnings say why numbers are undefined.
    defined = [number for number in numbers if number.value is not None]
    if len(defined) > 1 and len(facts.systems) == 1:
        rows = [(pretty(number), number) for number in numbers[:MOST_ROWS]]
        picture = interval_rows(rows, "Estimates and intervals")
    content = {
        "short": short,
        "statements": " ".join(number.statement for number in numbers[:MOST_SENTENCES]),
        "sentences": list(map(_sentence, (defined or list(numbers[:1]))[:MOST_SENTENCES])),
        "picture": picture,
        "left_out": len(numbers[MOST_ROWS:]),
        "needs_all_positives": any(
            number.measure.startswith(_NEEDS_ALL_POSITIVES) for number in facts.numbers
        ),
        "claims": any(not number.is_exact and number.claims for number in numbers),
    }
    return Section("summary", "In short", content)


def _sentence(number: Number) -> dict[str, str]:
    """Return the sentence of a number in parts: value and interval apart, and its measure.

    What it may be by the labels alone is said where positives that hide are: see `what_if`.
    """
    statement = number.statement
    if _may_hide(number):
        statement = statement.partition(f" {BY_LABELS_ALONE}")[0]
    return {**_parted(statement), "measure": number.measure.partition(BY)[0]}


def _parted(statement: str) -> dict[str, str]:
    """Return the first sentence of a statement, and the others."""
    first, end, rest = statement.partition(". ")
    return {"first": first + end.rstrip(), "rest": rest}


def _may_hide(number: Number) -> bool:
    """Return whether the interval of a number depends on positives that hide."""
    return bool(number.sensitivity) and number.claims and not number.is_exact


def what_if(facts: Facts) -> Section | None:
    """Return the section of intervals under other shares of hidden positives, None if none."""
    numbers = [number for number in facts.headline if _may_hide(number)]
    if not numbers:
        return None
    # Of several classes the shares differ.
    hidden = facts.estimate["hidden"][0] if len(facts.estimate["hidden"]) == 1 else None
    content = {
        "hidden": hidden and {
            name: [two_digits(100 * quantile) for quantile in hidden[name].values()]
            for name in ("prior", "posterior")
        },
        "numbers": numbers,
        "most": MOST_SENTENCES,
        "by_labels": [
            f"{pretty(number)}: {BY_LABELS_ALONE}{rest}" for number in numbers
            for rest in number.statement.split(f" {BY_LABELS_ALONE}")[1:]
        ],
    }  # fmt: skip
    return Section("what-if", "What if positives hid?", content)


def warnings(facts: Facts) -> Section | None:
    """Return the section of warnings, None if there are none."""
    slices = tuple(f" where {part.slice}" for part in facts.slices)
    points = tuple({f"{number.measure} at " for number in facts.numbers if number.is_point})
    by_topic: dict[str, list[str]] = {"": [], "slices": [], "points of curves": []}
    for text in dict.fromkeys(facts.estimate["warnings"]):
        topic = "points of curves" if text.startswith(points) else ""
        by_topic["slices" if any(part in text for part in slices) else topic].append(text)
    if not any(by_topic.values()):
        return None
    content = {"of_pool": by_topic.pop(""), "by_topic": by_topic}
    return Section("warnings", "Before you rely on this", content)


def all_intervals(facts: Facts) -> Section | None:
    """Return the section of every interval of the headline numbers, None without any label."""
    rows, brackets = [], ""
    for number in facts.headline[:MOST_ROWS]:
        for reported in number.intervals:
            low, high = data(reported.low), data(reported.high)
            if is_mostly_prior(reported, number.intervals):
                low, high = Markup("({}").format(low), Markup("{})").format(high)
                brackets = f" {MOSTLY_PRIOR.capitalize()}."
            rows.append((pretty(number), reported.kind, reported.method, low, high))
    if not rows or not facts.labels:
        return None
    intervals = (reported for number in facts.headline for reported in number.intervals)
    words = " ".join(f"{kind.capitalize()}: {text}." for kind, text in rested_on(intervals).items())
    return Section("intervals", "All intervals", {"words": words + brackets, "rows": rows})


# How good the systems are: against each other, by threshold, by slice and as labels came in.


def systems(facts: Facts) -> Section | None:
    """Return the section that shows all systems side by side, None if there is only one."""
    if len(facts.systems) < 2 or not facts.labels:
        return None
    by_measure: dict[str, list[Number]] = {}
    for number in facts.headline:
        by_measure.setdefault(number.measure, []).append(number)
    pictures = [
        (interval_rows([(number.system or number.title, number) for number in numbers],
                       f"{measure} by system"),
         pretty(numbers[0]).removesuffix(f" of {numbers[0].system}"))
        for measure, numbers in list(by_measure.items())[:MOST_MEASURES]
        if any(number.value is not None for number in numbers)
    ]  # fmt: skip
    content = {"pictures": pictures}
    return Section("systems", "The systems side by side", content) if pictures else None


def differences(facts: Facts) -> Section | None:
    """Return the section of differences and ratios of systems, None if none was asked for."""
    numbers = facts.differences
    if not numbers or not facts.labels:
        return None
    pictures = []
    for neutral in sorted({number.neutral for number in numbers}):
        rows = [(_compared(number), number) for number in numbers if number.neutral == neutral]
        name = "Ratios of systems" if neutral else "Differences of systems"
        pictures.append((interval_rows(rows, name, neutral), f"{neutral:g}"))
    return Section("differences", "Which system is better?", {"pictures": pictures})


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
    """Return the section of curves, None if there is none."""
    listed = curves_of(facts.numbers)[:MOST_CURVES]
    found = [curve for curve in listed if any(point.is_defined for point in curve.points)]
    if not found or not facts.labels:
        return None
    return Section("curves", "Curves", {"curves": found})


def slices(facts: Facts) -> Section | None:
    """Return the section of slices, None if there are no slices."""
    if not facts.slices or not facts.labels:
        return None
    by_title: dict[str, dict[str, Number]] = {}
    for number in facts.numbers:
        if number.slice is not None and not number.is_point:
            by_title.setdefault(number.title, {})[number.slice] = number
    whole = {number.title: number for number in (*facts.headline, *facts.differences)}
    columns = list(dict.fromkeys(part.column for part in facts.slices))[:MOST_SLICE_TABLES]
    shown_titles = list(by_title)[: max(MOST_SLICE_TABLES // len(columns), 1)]
    found, left_out = [], len(by_title) > len(shown_titles)
    for column in columns:
        parts = [part for part in facts.slices if part.column == column]
        largest = sorted(parts, key=lambda part: -part.rows)[:MOST_SLICES]
        left_out |= len(parts) > len(largest)
        tables = [
            [(part, by_title[title][part.slice]) for part in largest
             if part.slice in by_title[title]]
            for title in shown_titles
        ]  # fmt: skip
        found += [(column, [listed for listed in tables if listed])] if any(tables) else []
    content = {"columns": found, "left_out": left_out, "whole": whole}
    return Section("slices", "Slices", content) if found else None


def convergence(facts: Facts) -> Section | None:
    """Return the section of estimates after each round, None before a second round has labels."""
    if len(facts.rounds) < 2 or all(number.value is None for number in facts.rounds[-1].measures):
        return None
    return Section("convergence", "As labels came in")


# The labels: where they were spent, observed rates against scores, who gave them.


def by_band(facts: Facts) -> list[Section]:
    """Return the sections on bands of scores, none without any label or score."""
    if not facts.labels or not facts.bands:
        return []
    title = "Observed rate against score" if facts.by == "score" else "Observed rate by stratum"
    charts = [(labelled, calibration_chart(labelled)) for labelled in facts.bands]
    return [Section("effort", "Where labels were spent"),
            Section("calibration", title, {"charts": charts})]  # fmt: skip


def annotators(facts: Facts) -> Section | None:
    """Return the section of annotators, None if votes name nobody and no gold row was answered."""
    told = any(person["annotator"] is not None or person["gold"] for person in facts.annotators)
    return Section("annotators", "Annotators") if told or len(facts.annotators) > 1 else None
