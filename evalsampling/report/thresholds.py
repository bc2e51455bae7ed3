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
    """A point of a curve, with the F1 there of a precision-recall curve."""

    threshold: float
    along: Number
    up: Number
    f1: Number | None = None

    @property
    def is_defined(self) -> bool:
        """Whether it has a place on both axes."""
        return self.along.value is not None and self.up.value is not None


@dataclasses.dataclass(frozen=True)
class ScoreCurve:
    """A curve of one system, its points by increasing threshold, and what its rows count by."""

    name: str
    system: str | None
    points: tuple[CurvePoint, ...]
    by: str = ""

    def titled(self, name: str) -> str:
        """Return a title of what is made of the curve."""
        return title(f"{name}{BY}{self.by}" if self.by else name, self.system)


@dataclasses.dataclass(frozen=True)
class ThresholdChoice:
    """The cheapest threshold of a curve where so many false positives cost as much as one miss.

    The cost of all is in false positives, divided by the positives of the pool.
    """

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
    for (name, system, by), parts in curve_parts.items():
        along, up = (parts.get(component, {}) for component in CURVES.get(name, ("", "")))
        points = tuple(
            CurvePoint(
                threshold, along[threshold], up[threshold], parts.get("f1", {}).get(threshold)
            )
            for threshold in sorted(along.keys() & up.keys())
        )
        if along and up:
            curves.append(ScoreCurve(name, system, points, by))
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
    share = None if curve.by == ROWS else prevalence
    errors: list[tuple[float, float, CurvePoint]] = []  # False positives, misses.
    for point in curve.points:
        along, up = point.along.value, point.up.value
        if along is None or not up:
            continue
        if curve.name == PR_CURVE:
            errors.append((along * (1 / up - 1), 1 - along, point))
        elif share:
            errors.append((along * (1 - share) / share, 1 - up, point))

    def choice(cost: float) -> ThresholdChoice:
        totals = ((false + cost * missed, -at.threshold, at) for false, missed, at in errors)
        total, _, point = min(totals, key=lambda candidate: candidate[:2])
        return ThresholdChoice(cost, total, point)

    return [choice(cost) for cost in costs if errors]
