"""Thresholds to pick from: the cheapest for each cost of a miss, counted in false positives."""

import dataclasses
from collections.abc import Sequence

from evalsampling.report.numbers import Number, title
from evalsampling.stats.magnitudes import BY, ROWS

MISS_IN_FALSE_POSITIVES = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)
"""Costs of a miss for which the cheapest threshold is listed, in false positives."""

PR_CURVE, ROC_CURVE = "pr_curve", "roc_curve"
"""Names of the curves that thresholds are picked from."""

CURVES = {
    PR_CURVE: ("recall", "precision"),
    ROC_CURVE: ("false_positive_rate", "true_positive_rate"),
}
"""Components on the horizontal and the vertical axis of a curve, by the curve's name."""


@dataclasses.dataclass(frozen=True)
class CurvePoint:
    """A point of a curve."""

    threshold: float
    along: Number
    up: Number
    f1: Number | None = None
    """Of a precision-recall curve."""

    @property
    def is_defined(self) -> bool:
        """Whether it has a place on both axes."""
        return self.along.value is not None and self.up.value is not None


@dataclasses.dataclass(frozen=True)
class ScoreCurve:
    """A curve of one system.

    Attributes:
        name: ``pr_curve`` or ``roc_curve``.
        system: None for a single one without a name.
        points: by increasing threshold.
        by: what rows count by: a column of weights, or rows; empty without weights.
    """

    name: str
    system: str | None
    points: tuple[CurvePoint, ...]
    by: str = ""

    def titled(self, name: str) -> str:
        """Return a title of what is made of the curve."""
        return title(f"{name}{BY}{self.by}" if self.by else name, self.system)


@dataclasses.dataclass(frozen=True)
class ThresholdChoice:
    """The cheapest threshold of a curve for one cost of a miss.

    Attributes:
        curve: ``pr_curve`` or ``roc_curve``.
        system: whose score it is a threshold of.
        miss_in_false_positives: how many false positives cost as much as one miss.
        cost: of false positives and misses together, divided by the positives of the pool, in
            false positives.
        point: of the curve, at the threshold.
    """

    curve: str
    system: str | None
    miss_in_false_positives: float
    cost: float
    point: CurvePoint


def curves_of(numbers: Sequence[Number]) -> list[ScoreCurve]:
    """Return the curves that numbers of the whole pool form, in the order of the numbers."""
    curve_parts: dict[tuple[str, str | None, str], dict[str, dict[float, Number]]] = {}
    for number in numbers:
        measure, _, by = number.measure.partition(BY)
        name, _, component = measure.partition(".")
        if number.threshold is not None and number.slice is None and number.against is None:
            by_component = curve_parts.setdefault((name, number.system, by), {})
            by_component.setdefault(component, {})[number.threshold] = number
    curves = []
    for (name, system, by), by_component in curve_parts.items():
        along, up = (by_component.get(component, {}) for component in CURVES.get(name, ("", "")))
        f1 = by_component.get("f1", {})
        if along and up:
            points = [
                CurvePoint(threshold, along[threshold], up[threshold], f1.get(threshold))
                for threshold in sorted(along.keys() & up.keys())
            ]
            curves.append(ScoreCurve(name, system, tuple(points), by))
    return curves


def cheapest(
    curve: ScoreCurve,
    prevalence: float | None = None,
    costs: Sequence[float] = MISS_IN_FALSE_POSITIVES,
) -> list[ThresholdChoice]:
    """Return the cheapest threshold of a curve for each cost of a miss.

    The cost is the number of false positives plus k times the number of misses, both divided by
    the positives of the pool. False positives are r (1 / p - 1) with precision p and recall r, or
    f (1 - s) / s with false positive rate f and share s of positives in the pool. Misses are
    1 - r, where r is the recall, or true positive rate. Of equal costs the highest threshold wins.

    Args:
        curve: of precision and recall, or of false and true positive rate.
        prevalence: s, in (0, 1], by the weights of rows, if they have any; a ROC curve has no
            costs without it, nor by rows where rows have weights.
        costs: k, how many false positives cost as much as one miss.

    Returns:
        One for each cost, or none. Points where a value is undefined, or where no row at or above
        the threshold is positive, are never chosen; if there are no others, the list is empty.
    """
    choices, share = [], None if curve.by == ROWS else prevalence
    counted = [
        (false, missed, point)
        for point in curve.points
        for false, missed in _for_each_positive(curve.name, point, share)
    ]
    for cost in costs if counted else ():
        totals = [
            (false + cost * missed, -point.threshold, point) for false, missed, point in counted
        ]
        total, _, point = min(totals, key=lambda candidate: candidate[:2])
        choices.append(ThresholdChoice(curve.name, curve.system, cost, total, point))
    return choices


def _for_each_positive(
    name: str, point: CurvePoint, prevalence: float | None
) -> list[tuple[float, float]]:
    """Return false positives and misses, divided by the positives of the pool; none if unknown."""
    along, up = point.along.value, point.up.value
    if along is None or up is None:
        return []
    if name == PR_CURVE:
        return [(along * (1 / up - 1), 1 - along)] if up else []
    if not prevalence or not up:
        return []
    return [(along * (1 - prevalence) / prevalence, 1 - up)]
