"""Pictures of estimates one below the other, each with its interval on a shared axis."""

import dataclasses
import textwrap
from collections.abc import Sequence

from evalsampling.report.numbers import Number, decimals, shown, shown_range
from evalsampling.report.svg import (
    Picture,
    Scale,
    axis,
    bar,
    close_scale,
    dot,
    even_scale,
    line,
    tag,
    words,
)

_ROW = 40
_LABELS, _FIGURES, _WIDTH = 176, 184, 720
_TOP, _FOOT = 8, 20
_LETTERS = 26
"""Most letters of a line of a label."""


@dataclasses.dataclass(frozen=True)
class IntervalRow:
    """A row of the picture: an estimate with its default interval.

    Attributes:
        number: the estimate.
        label: its name in the picture; None for its title.
    """

    number: Number
    label: str | None = None

    @property
    def name(self) -> str:
        """Name of the estimate."""
        return self.number.title if self.label is None else self.label

    @property
    def ends(self) -> list[float]:
        """Numbers that an axis must reach: the value, and the interval unless it claims nothing."""
        one = self.number
        ends = [one.value, *((one.low, one.high) if one.claims else ())]
        return [end for end in ends if end is not None]

    def figures(self, digits: int) -> str:
        """Return value and interval as text."""
        one, value = self.number, shown(self.number.value, digits)
        if one.value is None:
            return "undefined"
        if not one.claims:
            return f"{value}, no claim"
        if one.low == one.high:
            return f"{value}, exact"
        return f"{value} ({shown_range(one.low, one.high, digits)})"


def interval_rows(rows: Sequence[IntervalRow], title: str, neutral: float | None = None) -> Picture:
    """Return a picture of estimates as dots on their intervals, with the figures beside them.

    Args:
        rows: at least one.
        title: of the picture.
        neutral: value at which two systems are alike, which gets a line; None for no line.
    """
    ends = [] if neutral is None else [neutral]
    ends += [end for row in rows if row.number.value is not None for end in row.ends]
    first, last = _LABELS + 12, _WIDTH - _FIGURES - 16
    if neutral is None:
        scale = close_scale(ends, first, last)
    else:
        scale = even_scale(ends, neutral, first, last)
    digits = max(decimals(row.number.low, row.number.high) for row in rows)
    bottom = _TOP + _ROW * len(rows)
    body = axis(scale, _TOP - 8, bottom)
    if neutral is not None:
        body.append(line(scale(neutral), _TOP - 8, scale(neutral), bottom, "s-ink", 1.5))
    for place, row in enumerate(rows):
        y = _TOP + _ROW * place + _ROW / 2
        body += _label(row.name, y)
        body.append(words(_WIDTH, y + 4, row.figures(digits), "t-ink", "end", most=34))
        body.append(_marks(row.number, scale, y))
    description = "; ".join(f"{row.name} {row.figures(digits)}" for row in rows[:12])
    return Picture(title, description, _WIDTH, bottom + _FOOT, "".join(body))


def _label(name: str, y: float) -> list[str]:
    """Return a name at height y, in two lines if it takes them; the rest of a longer one is cut."""
    first, *others = textwrap.wrap(name, _LETTERS) or [name]
    if not others:
        return [words(0, y + 4, name, "t-ink t-bold", most=_LETTERS)]
    rest = " ".join(others)
    return [
        words(0, y - 4, first, "t-ink t-bold", most=_LETTERS),
        words(0, y + 12, rest, "t-ink t-bold", most=_LETTERS),
    ]


def _marks(number: Number, scale: Scale, y: float) -> str:
    """Return dot and interval of a number at height y; one that claims nothing is hollow."""
    marks = []
    low = scale.first if number.low is None else scale(number.low)
    high = scale.last if number.high is None else scale(number.high)
    if number.claims:
        marks.append(bar(low, high, y, 9, "f-accent"))
    else:
        marks.append(tag("rect", x=low, y=y - 4.5, width=high - low, height=9, class_="s-grey",
                         stroke_dasharray="3 3"))  # fmt: skip
    if number.value is not None:
        marks.append(dot(scale(number.value), y, "f-paper s-rim"))
    return "".join(marks)
