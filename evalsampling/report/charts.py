"""Charts of an evaluation: estimates side by side, by labels, along a curve, by band of scores."""

import dataclasses
import textwrap
from collections.abc import Sequence

from evalsampling.inference.score_bands import ScoreBand
from evalsampling.report.numbers import Number, decimals, percent, pretty, shown, shown_range
from evalsampling.report.score_curves import PR_CURVE, CurvePoint, ScoreCurve
from evalsampling.report.svg import (
    Picture,
    Scale,
    axis,
    bar,
    close_scale,
    dot,
    even_scale,
    line,
    path,
    ribbon,
    scale_for,
    small,
    tag,
    tick_text,
    words,
)

WIDTH = 720
"""Of all charts but that of a curve."""

# Estimates one below the other, each with its interval on a shared axis.

LETTERS = 26
"""Most letters of a line of a label."""


def interval_rows(
    rows: Sequence[tuple[str, Number]], title: str, neutral: float | None = None
) -> Picture:
    """Return a picture of named estimates as dots on their intervals, with the figures beside them.

    Where two systems are alike, at ``neutral``, is a line.
    """
    height, top, first, last = 40, 8, 188, WIDTH - 200
    ends = [end for _, number in rows if number.value is not None for end in _ends(number)]
    if neutral is None:
        scale = close_scale(ends, first, last)
    else:
        scale = even_scale([neutral, *ends], neutral, first, last)
    digits = max(decimals(number.low, number.high) for _, number in rows)
    bottom = top + height * len(rows)
    body = axis(scale, top - 8, bottom)
    if neutral is not None:
        body.append(line(scale(neutral), top - 8, scale(neutral), bottom, "s-ink", 1.5))
    for place, (name, number) in enumerate(rows):
        y = top + height * place + height / 2
        wrapped = textwrap.wrap(name, LETTERS) or [name]
        lines = {y + 4: name} if len(wrapped) == 1 else {
            y - 4: wrapped[0], y + 12: " ".join(wrapped[1:]),
        }  # fmt: skip
        body += [words(0, at, text, "t-ink t-bold", most=LETTERS) for at, text in lines.items()]
        body.append(words(WIDTH, y + 4, _with_claim(number, digits), anchor="end", most=34))
        body += _marks(number, scale, y)
    about = "; ".join(f"{name} {_with_claim(number, digits)}" for name, number in rows[:12])
    return Picture(title, about, WIDTH, bottom + 20, "".join(body))


def _ends(number: Number) -> list[float]:
    """Return the numbers that an axis must reach: value, and interval unless it claims nothing."""
    ends = [number.value, *((number.low, number.high) if number.claims else ())]
    return [end for end in ends if end is not None]


def _with_claim(number: Number, digits: int) -> str:
    """Return value and interval as text, or the reason for no interval."""
    if number.value is None:
        return "undefined"
    if not number.claims:
        return f"{shown(number.value, digits)}, no claim"
    if number.low == number.high:
        return f"{shown(number.value, digits)}, exact"
    return _figures(number, digits)


def _figures(number: Number, digits: int) -> str:
    if number.value is None:
        return "undefined"
    return f"{shown(number.value, digits)} ({shown_range(number.low, number.high, digits)})"


def _marks(number: Number, scale: Scale, y: float) -> list[str]:
    """Return interval and dot of a number at height y; an interval without a claim is hollow."""
    low = scale.first if number.low is None else scale(number.low)
    high = scale.last if number.high is None else scale(number.high)
    if number.claims:
        marks = [bar(low, high, y, 9, "f-accent")]
    else:
        marks = [tag("rect", x=low, y=y - 4.5, width=high - low, height=9, class_="s-grey",
                     stroke_dasharray="3 3")]  # fmt: skip
    return marks + ([] if number.value is None else [dot(scale(number.value), y, "f-paper s-rim")])


# Estimates against the number of labels.

MOST_PANELS = 8
"""Most numbers that are drawn: the first ones that are defined."""

_PANEL, _HEIGHT = 352, 234


def convergence_chart(labels: Sequence[int], numbers: Sequence[Sequence[Number]]) -> Picture:
    """Return a small chart for each number: its estimate and interval by labels."""
    latest = numbers[-1]
    drawn = [place for place, number in enumerate(latest) if number.value is not None]
    drawn = (drawn or list(range(len(latest))))[:MOST_PANELS]
    body = [
        _panel(labels, [each[place] for each in numbers], panel % 2 * (_PANEL + 16),
               panel // 2 * _HEIGHT)
        for panel, place in enumerate(drawn)
    ]  # fmt: skip
    about = "; ".join(
        f"{pretty(number)} {shown(number.value)}, {shown_range(number.low, number.high)}"
        for number in map(latest.__getitem__, drawn)
    )
    width, height = WIDTH if len(drawn) > 1 else _PANEL * len(drawn), -(-len(drawn) // 2) * _HEIGHT
    return Picture("Estimate by labels", f"At the end: {about}", width, height, "".join(body))


def _panel(labels: Sequence[int], series: Sequence[Number], left: float, top: float) -> str:
    last = series[-1]
    ends = [end for number in series for end in (number.low, number.high, number.value)]
    x = Scale(0, max(labels[-1], 1), left + 40, left + _PANEL - 14)
    y = scale_for(ends, top + _HEIGHT - 42, top + 50)
    body = [
        words(left, top + 14, pretty(last), "t-ink t-bold", most=46),
        words(left, top + 31, _figures(last, decimals(last.low, last.high)), "t-accent t-bold"),
    ]
    for tick in y.ticks(4):
        body.append(line(x.first, y(tick), x.last, y(tick), "s-line"))
        body.append(small(x.first - 6, y(tick) + 4, tick_text(tick), "end"))
    body += [small(x(tick), y.first + 16, f"{tick:,.0f}", "middle") for tick in x.ticks(4)]
    body.append(small(x.last, y.first + 30, "labels", "end"))
    defined = [(x(n), one) for n, one in zip(labels, series, strict=True) if one.value is not None]
    if defined:
        body += ribbon(
            [(at, y.last if one.high is None else y(one.high)) for at, one in defined],
            [(at, y.first if one.low is None else y(one.low)) for at, one in defined],
        )
        points = [(at, y(one.value or 0.0)) for at, one in defined]
        body += [path(points, "s-accent"), *(dot(*point, radius=3.5) for point in points)]
    return "".join(body)  # fmt: skip


# A precision-recall or ROC curve with its band.

MOST_POINTS = 200
"""Most points of a curve that are drawn: evenly spaced ones of a longer curve."""

FEW_POINTS = 40
"""Most points of a curve at which each is drawn as a dot."""

AXES = {
    PR_CURVE: ("recall: share of the positives that are found",
                 "precision: share of those found that are positives"),
    "roc_curve": ("false positive rate: share of the negatives that are called positive",
                  "true positive rate: share of the positives that are found"),
}  # fmt: skip
"""Titles of the horizontal and the vertical axis of each curve."""


def curve_chart(curve: ScoreCurve) -> Picture:
    """Return a picture of a curve with the intervals of its vertical axis."""
    width, height = 560, 420
    x, y = Scale(0, 1, 48, width - 20), Scale(0, 1, height - 44, 16)
    points = _thinned([point for point in curve.points if point.is_defined], MOST_POINTS)
    body = _grid(curve.name, x, y)
    if points:
        across = [x(point.along.value or 0.0) for point in points]
        ups = [point.up for point in points]
        upper = [y(1.0 if up.high is None else up.high) for up in ups]
        lower = [y(0.0 if up.low is None else up.low) for up in ups]
        spots = [*zip(across, (y(up.value or 0.0) for up in ups), strict=True)]
        body += ribbon([*zip(across, upper, strict=True)], [*zip(across, lower, strict=True)])
        body += _band(points, x, y)
        body.append(path(spots, "s-accent", width=2.5))
        body += [dot(*spot, radius=3) for spot in spots if len(spots) <= FEW_POINTS]
    kind = "Precision-recall" if curve.name == PR_CURVE else "ROC"
    about = "; ".join(
        f"at {point.threshold:.4g} "
        + ", ".join(f"{number.measure.partition('.')[2]} {shown(number.value)}"
                    for number in (point.along, point.up))
        for point in _thinned(points, 6)
    )  # fmt: skip
    return Picture(curve.titled(f"{kind} curve"), about or "undefined everywhere", width, height,
                   "".join(body))  # fmt: skip


def _band(points: Sequence[CurvePoint], x: Scale, y: Scale) -> list[str]:
    """Return the edges of the simultaneous band of the curve, where they lie inside 0 and 1."""
    edges = [
        [
            (x(point.along.value or 0.0), y(edge))
            for point in points if (band := point.up.band) is not None
            for edge in [getattr(band, end)] if edge is not None and 0 < edge < 1
        ]
        for end in ("high", "low")
    ]  # fmt: skip
    return [path(edge, "s-grey", width=1, dashes="4 3") for edge in edges if edge]


def _thinned(points: Sequence[CurvePoint], most: int) -> list[CurvePoint]:
    """Return at most `most` evenly spaced points, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    return [points[round(place * (len(points) - 1) / (most - 1))] for place in range(most)]


def _grid(name: str, x: Scale, y: Scale) -> list[str]:
    marks = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        marks += [
            line(x.first, y(tick), x.last, y(tick), "s-line"),
            line(x(tick), y.first, x(tick), y.last, "s-line"),
            small(x.first - 6, y(tick) + 4, tick_text(tick), "end"),
            small(x(tick), y.first + 16, tick_text(tick), "middle"),
        ]
    along, up = AXES[name]
    return [*marks, small(x.last, y.first + 34, along, "end", most=80),
            small(x.first + 8, y.first - 8, up + " \N{UPWARDS ARROW}", most=80)]  # fmt: skip


# Bands of scores, the highest on top: where labels were spent, and how many were positive.

_BAND, _TOP, _FIRST = 34, 30, 162


@dataclasses.dataclass(frozen=True)
class LabelledBands:
    """Bands of scores with the class whose rates they hold."""

    label: str
    bands: tuple[ScoreBand, ...]


def band_name(band: ScoreBand) -> str:
    """Return the name of a band: its range of scores, what is predicted in it, or its leaves."""
    if band.title is not None:
        return band.title
    low, high = (
        end if end is None else f"{end:.3g}".replace("-", "\N{MINUS SIGN}")
        for end in (band.low, band.high)
    )
    if low is None and high is None:
        if band.first_leaf == band.last_leaf:
            return f"leaf {band.first_leaf}"
        return f"leaves {band.first_leaf} to {band.last_leaf}"
    if low is None or high is None:
        return f"below {high}" if low is None else f"{low} and above"
    return f"{low} to {high}"


def effort_chart(bands: Sequence[ScoreBand]) -> Picture:
    """Return a chart of the shares of the pool and of the labels by band, lowest first."""
    rows = max(sum(band.rows for band in bands), 1)
    labels = max(sum(band.labelled for band in bands), 1)
    shares = [(band.rows / rows, band.labelled / labels) for band in bands]
    scale = Scale(0, max(map(max, shares)), _FIRST, WIDTH - 170)
    body = [
        small(0, 14, _heading(bands)),
        bar(scale.first, scale.first + 14, 10, 8, "f-accent"),
        small(scale.first + 20, 14, "labels"),
        bar(scale.first + 80, scale.first + 94, 10, 8, "f-grey"),
        small(scale.first + 100, 14, "rows of the pool"),
    ]
    for y, band, (pool, spent) in zip(_heights(bands), bands[::-1], shares[::-1], strict=True):
        body += [
            words(0, y + 4, band_name(band), most=24),
            bar(scale.first, scale(spent), y - 5, 9, "f-accent"),
            bar(scale.first, scale(pool), y + 6, 9, "f-grey"),
            words(WIDTH, y - 1, f"{band.labelled:,} labels, {percent(spent)}", "t-accent small",
                  "end"),
            small(WIDTH, y + 12, f"{band.rows:,} rows, {percent(pool)}", "end"),
        ]  # fmt: skip
    about = f"The highest band, {band_name(bands[-1])}, has {percent(shares[-1][0])} of the rows"
    about += f" and {percent(shares[-1][1])} of the labels"
    height = _TOP + _BAND * len(bands) + 8
    return Picture(f"Labels and rows by {_of(bands)}", about, WIDTH, height, "".join(body))


def calibration_chart(labelled: LabelledBands) -> Picture:
    """Return a chart of observed, expected and modelled rates of a class."""
    bands = labelled.bands
    scale = Scale(0, 1, _FIRST, WIDTH - 130)
    bottom = _TOP + _BAND * len(bands)
    body = [small(0, 14, _heading(bands)), *_legend(scale.first, bands)]
    body += axis(scale, _TOP, bottom)
    for y, band in zip(_heights(bands), bands[::-1], strict=True):
        body.append(words(0, y + 4, band_name(band), most=24))
        if band.model is not None:
            body.append(_area(scale(band.model.low), scale(band.model.high), y))
        if band.observed is not None:
            ends = (scale(band.observed.low), scale(band.observed.high))
            body += [bar(*ends, y, 2, "f-accent"), dot(scale(band.observed.value), y)]
        if band.prior is not None:
            x = scale(band.prior)
            body.append(line(x, y - 9, x, y + 9, "s-ink", 2))
        counts = f"{band.met:,} of {band.labelled:,}" if band.labelled else "no labels"
        body.append(words(WIDTH, y + 4, counts, "t-ink" if band.labelled else "t-soft", "end"))
    body.append(small(WIDTH, 14, f"labelled {labelled.label}", "end", most=20))
    about = "; ".join(
        f"{band_name(band)}: {band.met} of {band.labelled} labels"
        + ("" if band.prior is None else f", expected {percent(band.prior)}")
        for band in bands[::-1]
    )
    title = f"Share of {labelled.label} by {_of(bands)}"
    return Picture(title, about, WIDTH, bottom + 20, "".join(body))


def _heights(bands: Sequence[ScoreBand]) -> list[float]:
    return [_TOP + _BAND * (place + 0.5) for place in range(len(bands))]


def _of(bands: Sequence[ScoreBand]) -> str:
    """Return what bands are of."""
    return "stratum" if any(band.title is not None for band in bands) else "score"


def _legend(x: float, bands: Sequence[ScoreBand]) -> list[str]:
    marks = [dot(x + 6, 10), small(x + 16, 14, "labels say")]
    if any(band.prior is not None for band in bands):
        says = "score says" if _of(bands) == "score" else "expected"
        marks += [line(x + 98, 3, x + 98, 17, "s-ink", 2), small(x + 106, 14, says)]
    if any(band.model is not None for band in bands):
        marks += [_area(x + 186, x + 206, 10), small(x + 212, 14, "model of both")]
    return marks


def _area(low: float, high: float, y: float) -> str:
    """Return the bar of the model's interval: tinted, with an edge."""
    return tag("rect", x=low, y=y - 7, width=max(high - low, 1.5), height=14.0,
               class_="f-tint edge")  # fmt: skip


def _heading(bands: Sequence[ScoreBand]) -> str:
    unknown = any(band.low is None and band.high is None for band in bands)
    return "leaves by score" if unknown and _of(bands) == "score" else _of(bands)
