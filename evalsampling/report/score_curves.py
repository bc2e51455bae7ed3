"""Curves over thresholds, put together from the numbers of their points."""

import dataclasses
from collections.abc import Sequence

from evalsampling.report.numbers import Number, title
from evalsampling.stats.magnitudes import BY

PR_CURVE = "pr_curve"

CURVES = {
    PR_CURVE: ("recall", "precision"),
    "roc_curve": ("false_positive_rate", "true_positive_rate"),
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
        """Return the title of a picture or number of the curve."""
        return title(f"{name}{BY}{self.by}" if self.by else name, self.system)


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
