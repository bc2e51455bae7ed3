"""Charts of estimates against the number of labels."""

from collections.abc import Sequence

from evalsampling.report.numbers import Number, decimals, pretty, shown, shown_range
from evalsampling.report.svg import (
    Picture,
    Scale,
    dot,
    line,
    path,
    ribbon,
    scale_for,
    tick_text,
    words,
)

MOST_PANELS = 8
"""Most numbers that are drawn: the first ones that are defined."""

_PANEL, _HEIGHT, _GAP = 352, 234, 16
_LEFT, _RIGHT, _TOP, _FOOT = 40, 14, 50, 42


def convergence_chart(labels: Sequence[int], numbers: Sequence[Sequence[Number]]) -> Picture:
    """Return a small chart for each number: its estimate and interval against labels.

    Args:
        labels: how many there are after each round, increasing.
        numbers: the estimates after each round, in the same order each time.
    """
    drawn = [place for place, number in enumerate(numbers[-1]) if number.value is not None]
    drawn = (drawn or list(range(len(numbers[-1]))))[:MOST_PANELS]
    count = len(drawn)
    columns = min(count, 2)
    body = []
    for panel, place in enumerate(drawn):
        down, across = divmod(panel, 2)
        series = [estimates[place] for estimates in numbers]
        body.append(_panel(labels, series, across * (_PANEL + _GAP), down * _HEIGHT))
    description = "; ".join(
        f"{pretty(number)} {shown(number.value)}, {shown_range(number.low, number.high)}"
        for number in (numbers[-1][place] for place in drawn)
    )
    width = columns * _PANEL + (columns - 1) * _GAP
    height = -(-count // 2) * _HEIGHT
    about = f"At the end: {description}"
    return Picture("Estimate by labels", about, width, height, "".join(body))


def _panel(labels: Sequence[int], series: Sequence[Number], left: float, top: float) -> str:
    last = series[-1]
    ends = [end for number in series for end in (number.low, number.high, number.value)]
    y = scale_for(ends, top + _HEIGHT - _FOOT, top + _TOP)
    x = Scale(0, max(labels[-1], 1), left + _LEFT, left + _PANEL - _RIGHT)
    digits = decimals(last.low, last.high)
    body = [
        words(left, top + 14, pretty(last), "t-ink t-bold", most=46),
        words(left, top + 31, _figures(last, digits), "t-accent t-bold"),
        *_grid(x, y, left, labels[-1]),
    ]
    pairs = zip(labels, series, strict=True)
    defined = [(n, number) for n, number in pairs if number.value is not None]
    upper = [(x(n), y.last if number.high is None else y(number.high)) for n, number in defined]
    lower = [(x(n), y.first if number.low is None else y(number.low)) for n, number in defined]
    if defined:
        body += ribbon(upper, lower)
        points = [(x(n), y(number.value or 0.0)) for n, number in defined]
        body.append(path(points, "s-accent", width=2))
        body += [dot(*point, radius=3.5) for point in points]
    return "".join(body)


def _figures(last: Number, digits: int) -> str:
    if last.value is None:
        return "undefined"
    return f"{shown(last.value, digits)} ({shown_range(last.low, last.high, digits)})"


def _grid(x: Scale, y: Scale, left: float, most: int) -> list[str]:
    marks = []
    for tick in y.ticks(4):
        marks.append(line(x.first, y(tick), x.last, y(tick), "s-line"))
        marks.append(words(x.first - 6, y(tick) + 4, tick_text(tick), "t-soft small", "end"))
    for tick in x.ticks(4):
        marks.append(words(x(tick), y.first + 16, f"{tick:,.0f}", "t-soft small", "middle"))
    marks.append(words(left + _PANEL - _RIGHT, y.first + 30, "labels", "t-soft small", "end"))
    return marks
