"""An estimate in plain words: its value and interval, why it is no narrower, what would help."""

import dataclasses
import math
from collections.abc import Collection

from evalsampling.inference.intervals import MODEL_BASED
from evalsampling.inference.outlook import OF_DESIGN, OF_MODEL, Outlook, outlook
from evalsampling.inference.results import CENSUS, DEFINITION, EXACT, Estimate
from evalsampling.report.numbers import (
    BY_LABELS_ALONE,
    MOST_DIGITS,
    compared,
    decimals,
    higher,
    shown,
    shown_range,
    title,
    two_digits,
)

LEAST_P_VALUE = 0.0001
"""Least p-value that is named: p-values are integrated numerically."""

UNMET = 1 / 3
"""Share of an interval's width above which it is said to be due to positives that were not met."""

_EXACT_BECAUSE = {
    CENSUS: "every row that it depends on has a label",
    DEFINITION: "the predictions alone decide it, whatever the labels",
}

_NARROWEST = 10.0**-MOST_DIGITS
"""Half-width below which an interval looks like a point, and nothing is said of a narrower one."""


def stated(
    estimate: Estimate, labels: int, goal: float | None, scored: Collection[str] = ()
) -> Estimate:
    """Return an estimate with its outlook and its statement.

    Only reliable intervals of measures of the whole pool have an outlook; points of curves and
    comparisons have none. Nor has one that is wide because of positives that were not met: how fast
    it becomes narrower is as unknown as these are. Of several systems ``scored`` are the names of
    those with a score.
    """
    target, now = estimate.target, estimate.half_width
    is_plain = target.threshold is None and target.against is None and target.slice is None
    is_open = labels > 0 and estimate.unlabelled != 0 and _NARROWEST <= now < math.inf
    is_steady = estimate.reliable and estimate.claims and not is_due_to_unmet(estimate)
    if is_plain and is_open and is_steady:
        power = OF_MODEL if estimate.intervals[0].kind == MODEL_BASED else OF_DESIGN
        expected = outlook(now, labels, estimate.unlabelled, goal, power)
        estimate = dataclasses.replace(estimate, outlook=expected)
    return dataclasses.replace(estimate, statement=statement(estimate, scored))


def statement(estimate: Estimate, scored: Collection[str] = ()) -> str:
    """Return an estimate in plain words, in one to four sentences.

    All numbers in it are fields of `estimate --json`, rounded: two significant digits of the
    interval's width.
    """
    target, name = estimate.target, display_name(estimate)
    digits = decimals(estimate.low, estimate.high)
    if estimate.value is None:
        return f"{name} cannot be estimated: {estimate.reason or 'it is undefined'}."
    value = shown(estimate.value, digits)
    method = estimate.intervals[0].method
    if method in EXACT:
        return f"{name} is exactly {value}: {_EXACT_BECAUSE[method]}."
    if not estimate.claims:
        return f"{name} {value}, but the labels allow no claim yet: it may be far off."
    if math.isinf(estimate.half_width):
        return f"{name} {value}; how far off it is, is not known."
    found = f"{name} {value} ({shown_range(estimate.low, estimate.high, digits)})"
    if target.against is not None:
        assert target.null is not None
        names = target.system, target.against
        verdict = higher(estimate.low, estimate.high, target.null, names) or "not decided"
        return f"{found}: {verdict}.{_test(estimate)}"
    sentences = [f"{found}."]
    if target.slice is None and target.threshold is None:
        order = _order(scored)
        reason = _reason(estimate, order)
        sentences += [reason, _next_step(estimate.outlook, estimate)]
        sentences.append(_by_labels_alone(estimate, "" if reason else order))
    return " ".join(filter(None, sentences))


def display_name(estimate: Estimate) -> str:
    """Return the display name of the number: ``F1 of new where country=DE``."""
    target = estimate.target
    measure = target.measure
    if target.against is not None and not measure.startswith(("difference(", "ratio(")):
        measure = f"difference({measure})"
    name = title(compared(measure), target.system, target.against)
    name += "" if target.threshold is None else f" at {target.threshold:.6g}"
    return name + ("" if target.slice is None else f" where {target.slice}")


def _order(scored: Collection[str]) -> str:
    """Return the score that orders the rows of several systems, in words; empty of one system."""
    if len(scored) < 2:
        return ""
    *others, last = sorted(scored)
    if len(others) > 2:
        return "the greatest of all systems' scores"
    greater = "greater" if len(others) == 1 else "greatest"
    return f"the {greater} of the scores of {', '.join(others)} and {last}"


def _reason(estimate: Estimate, order: str) -> str:
    """Return why the interval is as wide as it is, empty if that is the draw of rows."""
    aside = estimate.without_unmet
    if aside is None or not is_due_to_unmet(estimate):
        return ""
    end = "low" if aside.low - estimate.low >= estimate.high - aside.high else "high"
    by = f", by {order}" * bool(order)
    return f"The {end} end allows for positives that score lower than every labelled positive{by}."


def is_due_to_unmet(estimate: Estimate) -> bool:
    """Return whether much of an interval is due to positives below all labelled positives."""
    width, aside = estimate.high - estimate.low, estimate.without_unmet
    return aside is not None and 0 < UNMET * width <= width - (aside.high - aside.low)


def _next_step(outlook: Outlook | None, estimate: Estimate) -> str:
    """Return how to make the interval narrower; empty without an outlook."""
    if outlook is None:
        return ""
    if outlook.labels is not None:
        exact = ": then it is exact" * (outlook.rows is not None)
        return f"For ± {outlook.half_width:g} {outlook.in_words}{exact}."
    helps = "No affordable number of labels makes it "
    advice = ": a second score or a machine's labels would"
    if estimate.without_unmet is not None:
        advice += ", or a bound on hidden positives that you can state (`hidden`)"
    return f"{helps}± {outlook.half_width:g}{advice}."


def _by_labels_alone(estimate: Estimate, order: str) -> str:
    """Return the value that labels by themselves leave open, empty if the interval holds it."""
    part = estimate.unsearched
    if part is None or not estimate.claims_more_than_labels:
        return ""
    below = " that score lower than every labelled positive" * (part.met > 0)
    labelled = f"{part.labelled:,} {'has' if part.labelled == 1 else 'have'} a label"
    by = f". By {order}," if order and part.met else ":"
    return (
        f"{BY_LABELS_ALONE} it may be {two_digits(part.value)}{by} {part.positives:,} of the "
        f"{part.rows:,} rows{below} may be positive ({labelled})."
    )


def _test(estimate: Estimate) -> str:
    """Return the chance that the first system is higher, and the p-value, in a sentence."""
    tested, parts = estimate.significance, []
    if tested is not None and tested.chance_above is not None:
        chance = _within(tested.chance_above, 0.01, 0.99)
        parts.append(f"the chance that {estimate.target.system} is higher is {chance}")
    if tested is not None and tested.p_value is not None:
        p_value = _within(tested.p_value, LEAST_P_VALUE, 1.0)
        parts.append(f"the p-value of no difference is {p_value}")
    words = ", ".join(parts)
    return f" {words[0].upper()}{words[1:]}." if words else ""


def _within(number: float, least: float, most: float) -> str:
    """Return a number with two significant digits, or that it is below or above some ends."""
    if number < least:
        return f"below {least:g}"
    return f"above {most:g}" if number > most else f"{number:.2g}"
