"""Thresholds to pick from: what each costs if a miss is worth so many false positives."""

import dataclasses
from collections.abc import Sequence

from evalsampling.report.numbers import Number

MISS_IN_FALSE_POSITIVES = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)
"""Costs of a miss that are tried, in false positives."""

PR_CURVE, ROC_CURVE = "pr_curve", "roc_curve"
"""Names of the curves that thresholds are picked from."""

CURVES = {
    PR_CURVE: ("recall", "precision"),
    ROC_CURVE: ("false_positive_rate", "true_positive_rate"),
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
        curve: ``pr_curve`` or ``roc_curve``.
        system: whose score it is a threshold of.
        miss_in_false_positives: how many false positives cost as much as one miss.
        cost: of false positives and misses together, for each positive of the pool, in false
            positives.
        point: of the curve.
    """

    curve: str
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
    curve: ScoreCurve,
    prevalence: float | None = None,
    costs: Sequence[float] = MISS_IN_FALSE_POSITIVES,
) -> list[ThresholdChoice]:
    """Return the cheapest threshold of a curve for each cost of a miss.

    For each positive of the pool there are so many false positives: r (1 / p - 1) with precision p
    and recall r, and f (1 - s) / s with false positive rate f, where the share s of the pool is
    positive; and 1 - r misses, r being the true positive rate. False positives and k times the
    misses are to be least. Of several the highest threshold is taken.

    Args:
        curve: of precision and recall, or of false and true positive rate.
        prevalence: share of positives in the pool, in (0, 1]; a ROC curve says nothing without it.
        costs: k, how many false positives cost as much as one miss.

    Returns:
        None of points where a value is undefined, or no row at or above is a positive; so none at
        all if there is no other.
    """
    choices = []
    counted = [
        (false, misses, point)
        for point in curve.points
        for false, misses in _for_each_positive(curve.name, point, prevalence)
    ]
    for cost in costs if counted else ():
        tried = [(false + cost * misses, -one.threshold, one) for false, misses, one in counted]
        total, _, point = min(tried, key=lambda one: one[:2])
        choices.append(ThresholdChoice(curve.name, curve.system, cost, total, point))
    return choices


def _for_each_positive(
    name: str, point: CurvePoint, prevalence: float | None
) -> list[tuple[float, float]]:
    """Return false positives and misses for each positive of the pool; nothing if not known."""
    along, up = point.along.value, point.up.value
    if along is None or up is None:
        return []
    if name == PR_CURVE:
        return [(along * (1 / up - 1), 1 - along)] if up else []
    if not prevalence or not up:
        return []
    return [(along * (1 - prevalence) / prevalence, 1 - up)]
