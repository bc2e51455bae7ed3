"""Sections of the headline numbers: in short, warnings, hidden positives, all intervals."""

from typing import Any

from markupsafe import Markup

from evalsampling.inference.choice import rested_on
from evalsampling.report.facts import Facts
from evalsampling.report.interval_rows import IntervalRow, interval_rows
from evalsampling.report.numbers import (
    BY_LABELS_ALONE,
    HALF_AND_TWICE,
    MOSTLY_PRIOR,
    OUTCOMES,
    Number,
    decimals,
    is_mostly_prior,
    pretty,
    shown_range,
    two_digits,
)
from evalsampling.report.section import Section, data, figures, interval
from evalsampling.stats.counted import counted
from evalsampling.stats.magnitudes import BY

MOST_SENTENCES = 8
"""Most numbers that get a sentence each; the picture has them all."""

MOST_ROWS = 30
"""Most numbers in the picture."""

_MEANINGS = {
    "precision": "Of the rows called positive, the share that are.",
    "recall": "Of the positives in the pool, the share that is found.",
    "f1": "The harmonic mean of precision and recall.",
    "accuracy": "The share of all rows that are called rightly.",
    "specificity": "Of the negatives in the pool, the share that is called negative.",
    "npv": "Of the rows called negative, the share that are.",
    "false_positive_rate": "Of the negatives in the pool, the share that is called positive.",
    "prevalence": "The share of all rows that are positives.",
    "balanced_accuracy": "The mean of the shares of positives and of negatives called rightly.",
    "kappa": "How much more often calls and labels agree than by chance; 1 is always, 0 by chance.",
    "mcc": "The correlation of calls and labels; 1 is perfect, 0 by chance.",
    "macro_f1": "The mean of the F1 of each class.",
    "average_precision": "Precision averaged over all thresholds; 1 is perfect ranking.",
    "roc_auc": "The chance that a positive scores above a negative.",
    "brier": "Mean squared error of the probabilities; 0 is perfect.",
    "log_loss": "Mean surprise at the labels given the probabilities; 0 is perfect.",
    "mse": "The mean of the squared errors of the predicted numbers.",
    "rmse": "The root of the mean squared error, in the unit of the labels.",
    "mae": "How far the predicted numbers are off on average.",
    "r2": "The share of the variance of the labels that the predictions explain.",
    "mean_error": "How much too large the predicted numbers are on average.",
}
_NEEDS_ALL_POSITIVES = ("recall", "f1", "f_beta", "macro", "micro", "average_precision", "mcc",
                        "multiclass_mcc", "kappa", "roc_auc", "balanced_accuracy",
                        "fowlkes_mallows", "pr_curve", "roc_curve")  # fmt: skip
"""Beginnings of measures that depend on positives nobody has labelled."""


def claims(facts: Facts) -> Section | None:
    """Return the section of what the intervals say of claims, None without any."""
    gates = facts.estimate.get("gates")
    if not gates or not facts.labels:
        return None
    content = {
        "sentences": [_parted(gate["statement"]) for gate in gates["gates"]],
        "outcome": OUTCOMES[gates["reached"]] if len(gates["gates"]) > 1 else None,
    }
    return Section("claims", "What may be claimed", content)


def basis(facts: Facts) -> Section | None:
    """Return the section of what the numbers rest on, in four lines; None without any label."""
    if not facts.labels:
        return None
    intervals = [number.intervals[0] for number in facts.numbers if number.claims]
    content = {
        "labels": counted(facts.labels, "label"),
        "rows": counted(facts.rows, "row"),
        "rounds": counted(facts.estimate["round"], "round"),
        "open": counted(facts.estimate["open"], "row"),
        "passive": facts.sampler == "passive",
        "said": facts.said,
        "level": facts.level,
        "assumed": [f"A {kind} interval {words}." for kind, words in rested_on(intervals).items()],
    }
    return Section("basis", "What this rests on", content)


def summary(facts: Facts, short: bool = False) -> Section:
    """Return the section of the headline numbers, in words and as a picture."""
    numbers, estimate = facts.headline, facts.estimate
    # Defined numbers only, or one undefined: the warnings say why numbers are undefined.
    defined = [number for number in numbers if number.value is not None]
    picture = None
    if len(defined) > 1 and len(facts.systems) == 1:
        rows = [IntervalRow(number, pretty(number)) for number in numbers[:MOST_ROWS]]
        picture = interval_rows(rows, "Estimates and intervals")
    content = {
        "rows": counted(facts.rows, "row"),
        "labels": facts.labels and counted(
            facts.labels, "answer" if facts.oracle == "stochastic" else "label"),
        "statements": " ".join(number.statement for number in numbers[:MOST_SENTENCES]),
        "sentences": list(map(_sentence, (defined or list(numbers[:1]))[:MOST_SENTENCES])),
        "short": short,
        "waiting": _waiting(facts),
        "picture": picture,
        "left_out": len(numbers[MOST_ROWS:]),
        "level": facts.level,
        "rounds": counted(estimate["round"], "round"),
        "open": estimate["open"],
        "tasks": counted(estimate["open"], "task"),
        "needs_all_positives": any(
            number.measure.startswith(_NEEDS_ALL_POSITIVES) for number in facts.numbers),
        "claims": any(not number.is_exact and number.claims for number in numbers),
        "done": estimate["done"],
    }  # fmt: skip
    return Section("summary", "In short", content)


def _sentence(number: Number) -> dict[str, str]:
    """Return what a number says, its value and interval apart, and what its measure means.

    What it may be by the labels alone is said where positives that hide are: see `what_if`.
    """
    statement = number.statement
    if _may_hide(number):
        statement = statement.partition(f" {BY_LABELS_ALONE}")[0]
    return {**_parted(statement), "meaning": _MEANINGS.get(number.measure.partition(BY)[0], "")}


def _parted(statement: str) -> dict[str, str]:
    """Return the first sentence of a statement, and the others."""
    first, end, rest = statement.partition(". ")
    return {"first": first + end.rstrip(), "rest": rest}


def _waiting(facts: Facts) -> str:
    """Return how many rows were asked about and have answers, empty where none was."""
    if not facts.estimate["open"]:
        return ""
    asked = counted(facts.estimate["open"], "row")
    awaited = facts.estimate.get("awaited", {})
    begun = awaited.get("started", 0) + awaited.get("disputed", 0)
    return f"{asked} were asked about, and {begun:,} of them wait for further answers"


def _may_hide(number: Number) -> bool:
    """Return whether the interval of a number depends on positives that hide."""
    return bool(number.sensitivity) and number.claims and not number.is_exact


def what_if(facts: Facts) -> Section | None:
    """Return the section of intervals under other shares of hidden positives, None if none."""
    numbers = [number for number in facts.headline if _may_hide(number)]
    if not numbers:
        return None
    rows = []
    for number in numbers:
        digits = decimals(number.low, number.high)
        others = [interval(other.low, other.high, digits) for other in number.sensitivity]
        rows.append([pretty(number), *figures(number), *others])
    # Of several classes the shares differ.
    hidden = facts.estimate["hidden"][0] if len(facts.estimate["hidden"]) == 1 else None
    content = {
        "hidden": hidden and {
            name: [two_digits(100 * quantile) for quantile in hidden[name].values()]
            for name in ("prior", "posterior")
        },
        "numbers": list(map(_if_more_hid, numbers[:MOST_SENTENCES])),
        "others": HALF_AND_TWICE,
        "rows": rows,
        "by_labels": [
            f"{pretty(number)}: {BY_LABELS_ALONE}{rest}" for number in numbers
            for rest in number.statement.split(f" {BY_LABELS_ALONE}")[1:]
        ],
    }  # fmt: skip
    return Section("what-if", "What if positives hid?", content)


def _if_more_hid(number: Number) -> dict[str, Any]:
    """Return the interval of a number if more positives hid, and whether it looks alike."""
    digits, most = decimals(number.low, number.high), number.sensitivity[-1]
    range_now = shown_range(number.low, number.high, digits, " and ")
    return {
        "name": pretty(number),
        "low": data(most.low, digits),
        "high": data(most.high, digits),
        "range_now": range_now,
        "alike": shown_range(most.low, most.high, digits, " and ") == range_now,
    }


def warnings(facts: Facts) -> Section | None:
    """Return the section of warnings, None if there are none."""
    texts = list(dict.fromkeys(facts.estimate["warnings"]))
    if not texts:
        return None
    slices = tuple(f" where {part.slice}" for part in facts.slices)
    points = tuple({f"{number.measure} at " for number in facts.numbers if number.is_point})
    by_topic: dict[str, list[str]] = {"": [], "slices": [], "points of curves": []}
    for text in texts:
        topic = "points of curves" if points and text.startswith(points) else ""
        by_topic["slices" if any(part in text for part in slices) else topic].append(text)
    content = {
        "of_pool": by_topic.pop(""),
        "by_topic": [(f"{len(found)} about {topic}", found)
                     for topic, found in by_topic.items() if found],
    }  # fmt: skip
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
    content = {"words": words + brackets, "notes": facts.estimate["notes"], "rows": rows}
    return Section("intervals", "All intervals", content)
