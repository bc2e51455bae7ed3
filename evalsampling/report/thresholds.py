"""Thresholds to pick from: what each costs if a miss is worth so many false positives."""

import dataclasses
from collections.abc import Sequence

from evalsampling.report.numbers import Number

MISS_IN_FALSE_POSITIVES = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)
"""Costs of a miss that are tried, in false positives."""

PR_CURVE = "pr_curve"
"""Name of the curve that thresholds are picked from."""

CURVES = {
    PR_CURVE: ("recall", "precision"),
    "roc_curve": ("false_positive_rate", "true_positive_rate"),
}
"""Components of a curve that lie along and up its picture, by its name."""


@dataclasses.dataclass(frozen=True)
class CurvePoint:
    """A point of a curve.

    Attributes:
        threshold: of the score.
        along: recall, or false positive rate.
        up: precision, or true positive rate.
    """

    threshold: float
    along: Number
    up: Number


@dataclasses.dataclass(frozen=True)
class ScoreCurve:
    """A curve of one system.

    Attributes:
        name: ``pr_curve`` or ``roc_curve``.
        system: None if it needs no name.
        points: by increasing threshold.
    """

    name: str
    system: str | None
    points: tuple[CurvePoint, ...]


@dataclasses.dataclass(frozen=True)
class ThresholdChoice:
    """The cheapest threshold of a curve for one cost of a miss.

    Attributes:
        system: whose score it is a threshold of.
        miss_in_false_positives: how many false positives cost as much as one miss.
        cost: of false positives and misses together, for each positive of the pool, in false
            positives.
        point: of the curve.
    """

    system: str | None
    miss_in_false_positives: float
    cost: float
    point: CurvePoint


def curves_of(numbers: Sequence[Number]) -> list[ScoreCurve]:
    """Return the curves among the numbers of the whole pool, in their order."""
    found: dict[tuple[str, str | None], dict[str, dict[float, Number]]] = {}
    for one in numbers:
        name, _, word = one.measure.partition(".")
        if one.threshold is not None and one.slice is None and one.against is None:
            parts = found.setdefault((name, one.system), {})
            parts.setdefault(word, {})[one.threshold] = one
    curves = []
    for (name, system), parts in found.items():
        along, up = CURVES.get(name, ("", ""))
        if along in parts and up in parts:
            points = [
                CurvePoint(threshold, parts[along][threshold], parts[up][threshold])
                for threshold in sorted(parts[along].keys() & parts[up].keys())
            ]
            curves.append(ScoreCurve(name, system, tuple(points)))
    return curves


def cheapest(
    curve: ScoreCurve, costs: Sequence[float] = MISS_IN_FALSE_POSITIVES
) -> list[ThresholdChoice]:
    """Return the cheapest threshold of a precision-recall curve for each cost of a miss.

    With precision p and recall r there are r (1 / p - 1) false positives and 1 - r misses for each
    positive, so r (1 / p - 1) + k (1 - r) is least. Of several the highest threshold is taken.

    Args:
        curve: of precision and recall.
        costs: k, how many false positives cost as much as one miss.

    Returns:
        None of points where a value is undefined, or no row at or above is a positive; so none at
        all if there is no other.
    """
    choices = []
    for cost in costs:
        tried = [
            (recall * (1 / precision - 1) + cost * (1 - recall), -point.threshold, point)
            for point in curve.points
            for recall, precision in [(point.along.value, point.up.value)]
            if recall is not None and precision
        ]
        if tried:
            total, _, point = min(tried, key=lambda one: one[:2])
            choices.append(ThresholdChoice(curve.system, cost, total, point))
    return choices
