"""How estimates settle as labels come in."""

from collections.abc import Sequence

from evalsampling.report.numbers import Number, decimals, pretty, shown, shown_range
from evalsampling.report.svg import Picture, Scale, dot, line, path, scale_for, tick_text, words

MOST_PANELS = 8
"""Numbers that are drawn: the first of them."""

_PANEL, _HEIGHT, _GAP = 352, 234, 16
_LEFT, _RIGHT, _TOP, _FOOT = 40, 14, 50, 42


def convergence_chart(
    labels: Sequence[int], numbers: Sequence[Sequence[Number]], title: str = "Estimate by labels"
) -> Picture:
    """Return a small chart for each number: its estimate and interval against labels.

    Args:
        labels: after each round, increasing.
        numbers: after each round, the same ones in the same order.
        title: of the picture.
    """
    drawn = [place for place, one in enumerate(numbers[-1]) if one.value is not None]
    drawn = (drawn or list(range(len(numbers[-1]))))[:MOST_PANELS]
    count = len(drawn)
    columns = min(count, 2)
    body = []
    for panel, place in enumerate(drawn):
        down, across = divmod(panel, 2)
        series = [now[place] for now in numbers]
        corner = (across * (_PANEL + _GAP), down * _HEIGHT)
        body.append(_panel(labels, series, *corner))
    told = "; ".join(
        f"{pretty(one)} {shown(one.value)}, {shown_range(one.low, one.high)}"
        for one in (numbers[-1][place] for place in drawn)
    )
    width = columns * _PANEL + (columns - 1) * _GAP
    return Picture(title, f"At the end: {told}", width, -(-count // 2) * _HEIGHT, "".join(body))


def _panel(labels: Sequence[int], series: Sequence[Number], left: float, top: float) -> str:
    last = series[-1]
    ends = [end for one in series for end in (one.low, one.high, one.value)]
    y = scale_for(ends, top + _HEIGHT - _FOOT, top + _TOP)
    x = Scale(0, max(labels[-1], 1), left + _LEFT, left + _PANEL - _RIGHT)
    digits = decimals(last.low, last.high)
    body = [
        words(left, top + 14, pretty(last), "t-ink t-bold", most=46),
        words(left, top + 31, _figures(last, digits), "t-accent t-bold"),
        *_grid(x, y, left, labels[-1]),
    ]
    known = [(n, one) for n, one in zip(labels, series, strict=True) if one.value is not None]
    upper = [(x(n), y.last if one.high is None else y(one.high)) for n, one in known]
    lower = [(x(n), y.first if one.low is None else y(one.low)) for n, one in known]
    if known:
        body.append(path([*upper, *reversed(lower)], "f-tint", closed=True))
        body += [path(edge, "s-accent", width=1) for edge in (upper, lower)]
        points = [(x(n), y(one.value or 0.0)) for n, one in known]
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
