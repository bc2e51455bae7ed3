"""Pictures of estimates one below the other, each with its interval on a shared axis."""

import dataclasses
from collections.abc import Sequence

from evalsampling.report.numbers import Number, decimals, shown, shown_range
from evalsampling.report.svg import (
    Picture,
    Scale,
    bar,
    close_scale,
    dot,
    even_scale,
    line,
    tag,
    tick_text,
    words,
)

_ROW = 40
_LABELS, _FIGURES, _WIDTH = 176, 184, 720
_TOP, _FOOT = 30, 20


@dataclasses.dataclass(frozen=True)
class IntervalRow:
    """A row of the picture: an estimate with its intervals.

    Attributes:
        label: name of the estimate.
        value: estimate, None if undefined.
        low: lower end of the default interval, None if it is not known.
        high: upper end.
        widest_low: lower end of the assumption-light interval, None if there is none.
        widest_high: upper end.
        claims: whether the interval says anything.
    """

    label: str
    value: float | None
    low: float | None
    high: float | None
    widest_low: float | None = None
    widest_high: float | None = None
    claims: bool = True

    @classmethod
    def of(cls, number: Number, label: str | None = None) -> "IntervalRow":
        """Return the row of a number, with its assumption-light interval."""
        widest = number.of_kind("assumption-light")
        return cls(
            label=number.title if label is None else label,
            value=number.value,
            low=number.low,
            high=number.high,
            widest_low=None if widest is None else widest.low,
            widest_high=None if widest is None else widest.high,
            claims=number.claims,
        )

    @property
    def ends(self) -> list[float]:
        """Numbers that an axis must reach: the value, and the interval unless it claims nothing."""
        ends = [self.value, *((self.low, self.high) if self.claims else ())]
        return [end for end in ends if end is not None]

    def figures(self, digits: int) -> str:
        """Return value and interval as text."""
        if self.value is None:
            return "undefined"
        if not self.claims:
            return f"{shown(self.value, digits)}, no claim"
        if self.low == self.high:
            return f"{shown(self.value, digits)}, exact"
        return f"{shown(self.value, digits)} ({shown_range(self.low, self.high, digits)})"


def interval_rows(rows: Sequence[IntervalRow], title: str, neutral: float | None = None) -> Picture:
    """Return a picture of estimates as dots on their intervals, with the figures beside them.

    Args:
        rows: at least one.
        title: of the picture.
        neutral: value at which two systems are alike, which gets a line; None for no line.
    """
    ends = [] if neutral is None else [neutral]
    ends += [end for row in rows if row.value is not None for end in row.ends]
    first, last = _LABELS + 12, _WIDTH - _FIGURES - 16
    if neutral is None:
        scale = close_scale(ends, first, last)
    else:
        scale = even_scale(ends, neutral, first, last)
    digits = max(decimals(row.low, row.high) for row in rows)
    wide = any(row.widest_low is not None for row in rows)
    top = _TOP if wide else 8
    bottom = top + _ROW * len(rows)
    body = [_axis(scale, top, bottom)]
    if neutral is not None:
        body.append(line(scale(neutral), top - 8, scale(neutral), bottom, "s-ink", 1.5))
    if wide:
        body.append(words(scale.first, 12, "thick: interval; thin: assuming nothing of where "
                          "positives hide", "t-soft small", most=90))  # fmt: skip
    for place, row in enumerate(rows):
        y = top + _ROW * place + _ROW / 2
        body.append(words(0, y + 4, row.label, "t-ink t-bold", most=26))
        body.append(words(_WIDTH, y + 4, row.figures(digits), "t-ink", "end", most=34))
        body.append(interval_marks(row, scale, y))
    description = "; ".join(f"{row.label} {row.figures(digits)}" for row in rows[:12])
    return Picture(title, description, _WIDTH, bottom + _FOOT, "".join(body))


def interval_marks(row: IntervalRow, scale: Scale, y: float) -> str:
    """Return dot and intervals of a row at height y; an interval that claims nothing is hollow."""
    marks = []
    if row.widest_low is not None and row.widest_high is not None:
        ends = (scale(row.widest_low), scale(row.widest_high))
        marks.append(bar(*ends, y, 2, "f-grey"))
    low = scale.first if row.low is None else scale(row.low)
    high = scale.last if row.high is None else scale(row.high)
    if row.claims:
        marks.append(bar(low, high, y, 9, "f-accent"))
    else:
        marks.append(tag("rect", x=low, y=y - 4.5, width=high - low, height=9, class_="s-grey",
                         stroke_dasharray="3 3"))  # fmt: skip
    if row.value is not None:
        marks.append(dot(scale(row.value), y, "f-paper s-rim"))
    return "".join(marks)


def _axis(scale: Scale, top: float, bottom: float) -> str:
    """Return grid lines and the numbers below them."""
    marks = []
    for tick in scale.ticks():
        x = scale(tick)
        marks.append(line(x, top - 8, x, bottom, "s-line"))
        marks.append(words(x, bottom + 15, tick_text(tick), "t-soft small", "middle"))
    return "".join(marks)


_SMALL_WIDTH, _SMALL_HEIGHT = 180, 18


def small_interval(row: IntervalRow, low: float, high: float) -> str:
    """Return one interval as a small picture without text, for the cell of a table.

    Args:
        row: its label is not used.
        low: number at the left end.
        high: at the right end, above low.
    """
    scale = Scale(low, high, 4, _SMALL_WIDTH - 4)
    y = _SMALL_HEIGHT / 2
    return tag(
        "svg", line(4, y, _SMALL_WIDTH - 4, y, "s-line"), interval_marks(row, scale, y),
        class_="evs", aria_hidden="true", viewBox=f"0 0 {_SMALL_WIDTH} {_SMALL_HEIGHT}",
        width=_SMALL_WIDTH, height=_SMALL_HEIGHT,
    )  # fmt: skip
