"""A precision-recall or ROC curve with its band, and thresholds to pick from on it."""

import math
from collections.abc import Sequence

from evalsampling.report.numbers import Number, shown
from evalsampling.report.svg import Picture, Scale, dot, line, path, ribbon, tick_text, words
from evalsampling.report.thresholds import PR_CURVE, CurvePoint, ScoreCurve, ThresholdChoice

MOST_POINTS = 200
"""Most points that are drawn: evenly spaced ones of a longer curve."""

_WIDTH, _HEIGHT = 560, 420
_LEFT, _RIGHT, _TOP, _FOOT = 48, 20, 16, 44
_FEW = 40
"""Most points of a curve at which each is drawn as a dot."""

_RING = 9
_NEAR = 22
"""Least distance of two rings, in pixels, at which neither covers the other."""

AXES = {
    PR_CURVE: ("recall: share of the positives that are found",
                 "precision: share of those found that are positives"),
    "roc_curve": ("false positive rate: share of the negatives that are called positive",
                  "true positive rate: share of the positives that are found"),
}  # fmt: skip
"""Titles of the horizontal and the vertical axis of each curve."""


def curve_chart(curve: ScoreCurve, choices: Sequence[ThresholdChoice] = ()) -> Picture:
    """Return a picture of a curve, with the interval of its vertical component at each point.

    Args:
        curve: with at least one point that is defined.
        choices: thresholds to mark on it.
    """
    x = Scale(0, 1, _LEFT, _WIDTH - _RIGHT)
    y = Scale(0, 1, _HEIGHT - _FOOT, _TOP)
    points = _thinned([point for point in curve.points if point.is_defined])
    body = _grid(curve.name, x, y)
    upper = [(_at(x, point.along), _end(y, point.up.high, 1.0)) for point in points]
    lower = [(_at(x, point.along), _end(y, point.up.low, 0.0)) for point in points]
    if points:
        body += ribbon(upper, lower)
        body += _band(points, x, y)
        body.append(path([(_at(x, point.along), _at(y, point.up)) for point in points], "s-accent",
                         width=2.5))  # fmt: skip
        if len(points) <= _FEW:
            body += [dot(_at(x, point.along), _at(y, point.up), radius=3) for point in points]
    body += _marked(choices, x, y)
    kind = "Precision-recall" if curve.name == PR_CURVE else "ROC"
    description = "; ".join(_words(point) for point in _thinned(points, 6))
    name, description = curve.titled(f"{kind} curve"), description or "undefined everywhere"
    return Picture(name, description, _WIDTH, _HEIGHT, "".join(body))


def _band(points: Sequence[CurvePoint], x: Scale, y: Scale) -> list[str]:
    """Return the edges of the simultaneous band of the curve, where they lie inside 0 and 1."""
    bands = [point.up.band for point in points]
    spots = {
        end: [
            (_at(x, point.along), y(edge))
            for point, band in zip(points, bands, strict=True)
            for edge in [None if band is None else getattr(band, end)]
            if edge is not None and 0 < edge < 1
        ]
        for end in ("high", "low")
    }
    return [path(edge, "s-grey", width=1, dashes="4 3") for edge in spots.values() if edge]


def _thinned(points: Sequence[CurvePoint], most: int = MOST_POINTS) -> list[CurvePoint]:
    """Return at most `most` evenly spaced points, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    return [points[round(place * (len(points) - 1) / (most - 1))] for place in range(most)]


def _at(scale: Scale, number: Number) -> float:
    return scale(number.value or 0.0)


def _end(scale: Scale, end: float | None, otherwise: float) -> float:
    return scale(otherwise if end is None else end)


def _words(point: CurvePoint) -> str:
    return (
        f"at {point.threshold:.4g} {point.along.measure.partition('.')[2]} "
        f"{shown(point.along.value)}, {point.up.measure.partition('.')[2]} {shown(point.up.value)}"
    )


def _grid(name: str, x: Scale, y: Scale) -> list[str]:
    marks = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        marks.append(line(x.first, y(tick), x.last, y(tick), "s-line"))
        marks.append(line(x(tick), y.first, x(tick), y.last, "s-line"))
        marks.append(words(x.first - 6, y(tick) + 4, tick_text(tick), "t-soft small", "end"))
        marks.append(words(x(tick), y.first + 16, tick_text(tick), "t-soft small", "middle"))
    along, up = AXES[name]
    marks.append(words(x.last, y.first + 34, along, "t-soft small", "end", most=80))
    marks.append(words(x.first + 8, y.first - 8, up + " \N{UPWARDS ARROW}", "t-soft small",
                       most=80))  # fmt: skip
    return marks


def lettered(choices: Sequence[ThresholdChoice]) -> dict[float, str]:
    """Return the letter that marks each threshold: a dict from threshold to letter."""
    thresholds = dict.fromkeys(choice.point.threshold for choice in choices)
    return {threshold: chr(ord("A") + place) for place, threshold in enumerate(thresholds)}


def _marked(choices: Sequence[ThresholdChoice], x: Scale, y: Scale) -> list[str]:
    """Return a ring with its letter for each threshold; a ring that would cover another moves."""
    marks: list[str] = []
    rings: list[tuple[float, float]] = []
    letters = lettered(choices)
    points = {choice.point.threshold: choice.point for choice in choices}
    for threshold, letter in letters.items():
        point = points[threshold]
        spot = (_at(x, point.along), _at(y, point.up))
        place = spot
        # Away from the nearer side, so that it stays in the picture.
        aside = _NEAR * 0.8 if spot[0] < (x.first + x.last) / 2 else -_NEAR * 0.8
        while any(math.dist(place, ring) < _NEAR for ring in rings):
            place = (place[0] + aside, place[1] + _NEAR * 0.8)
        rings.append(place)
        if place != spot:
            marks += [line(*spot, *place, "s-ink"), dot(*spot, "f-paper s-rim", 3)]
        marks.append(dot(*place, "f-paper s-rim", _RING))
        marks.append(words(place[0], place[1] + 4, letter, "t-ink t-bold small", "middle"))
    return marks
