"""Pictures as SVG: shapes and text, without scripts and without anything to fetch."""

import dataclasses
import html
import math
from collections.abc import Iterable, Sequence

PALETTE = {
    "ink": ("#1c2126", "#eef1f4"),
    "soft": ("#57606a", "#a6b0ba"),
    "line": ("#d4d9de", "#3b434b"),
    "grey": ("#8a939c", "#7d8791"),
    "accent": ("#0b6aa6", "#63b9f2"),
    "tint": ("#bfdcef", "#1d4a68"),
    "paper": ("#ffffff", "#15191d"),
}
"""Colours on light and on dark paper: one accent, its tint, greys.

Text has a contrast of at least 4.5 to 1 with the paper, marks with a meaning one of 3 to 1.
Areas in the tint have edges in the accent; no difference is shown by hue alone."""

MARKS = """
.evs text{font:13px/1.3 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
.evs .t-ink{fill:var(--ink)} .evs .t-soft{fill:var(--soft)} .evs .t-accent{fill:var(--accent)}
.evs .t-bold{font-weight:600} .evs .small{font-size:12px}
.evs .f-accent{fill:var(--accent)} .evs .f-tint{fill:var(--tint)} .evs .f-grey{fill:var(--grey)}
.evs .f-line{fill:var(--line)} .evs .f-paper{fill:var(--paper)}
.evs .s-accent{stroke:var(--accent);fill:none} .evs .s-grey{stroke:var(--grey);fill:none}
.evs .s-line{stroke:var(--line);fill:none} .evs .s-ink{stroke:var(--ink);fill:none}
.evs .ring{stroke:var(--paper)} .evs .s-rim{stroke:var(--ink)}
.evs .edge{stroke:var(--accent);stroke-width:1}
"""
"""Styles of all marks, by the variables of a palette."""


def variables(dark: bool) -> str:
    """Return the palette, light or dark, as declarations of CSS variables."""
    return ";".join(f"--{name}:{colours[dark]}" for name, colours in PALETTE.items())


def tag(name: str, *children: str, **attributes: object) -> str:
    """Return an element as markup; children are markup, attributes are escaped.

    An attribute is left out if None; `class_` becomes ``class``, `_` within a name ``-``.
    """
    markup = ""
    for key, value in attributes.items():
        text = f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
        if value is not None:
            markup += f' {key.rstrip("_").replace("_", "-")}="{html.escape(text)}"'
    inner = "".join(children)
    if not inner and name in ("rect", "line", "path", "circle"):
        return f"<{name}{markup}/>"
    return f"<{name}{markup}>{inner}</{name}>"


def words(
    x: float, y: float, text: str, kind: str = "t-ink", anchor: str = "start", most: int = 60
) -> str:
    """Return a line of text with its baseline at y, cut to `most` characters, whole on hover."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    title = tag("title", html.escape(text)) if cut != text else ""
    return tag("text", title + html.escape(cut, quote=False), x=x, y=y, class_=kind,
               text_anchor=None if anchor == "start" else anchor)  # fmt: skip


def small(x: float, y: float, text: str, anchor: str = "start", most: int = 60) -> str:
    """Return a line of small grey text: see `words`."""
    return words(x, y, text, "t-soft small", anchor, most)


def line(x1: float, y1: float, x2: float, y2: float, kind: str, width: float = 1) -> str:
    """Return a straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind, stroke_width=width)


def bar(x1: float, x2: float, y: float, height: float, kind: str, least: float = 1.5) -> str:
    """Return a horizontal bar centred at y, at least `least` wide so that it can be seen."""
    width = max(abs(x2 - x1), least)
    return tag("rect", x=min(x1, x2), y=y - height / 2, width=width, height=height, rx=1.0,
               class_=kind)  # fmt: skip


def dot(x: float, y: float, kind: str = "f-accent ring", radius: float = 4.5) -> str:
    """Return a dot with a rim."""
    return tag("circle", cx=x, cy=y, r=radius, class_=kind, stroke_width=1.5)


def path(points: Iterable[tuple[float, float]], kind: str, closed: bool = False, width: float = 2,
         dashes: str | None = None) -> str:  # fmt: skip
    """Return a line through points, or the area within them if it is closed."""
    steps = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return tag("path", d=f"M{steps}{'Z' if closed else ''}", class_=kind,
               stroke_width=None if closed else width, stroke_dasharray=dashes,
               stroke_linejoin="round")  # fmt: skip


def ribbon(upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]]) -> list[str]:
    """Return the area between two lines, tinted, and the lines."""
    area = path([*upper, *reversed(lower)], "f-tint", closed=True)
    return [area, *(path(edge, "s-accent", width=1) for edge in (upper, lower))]


@dataclasses.dataclass(frozen=True)
class Scale:
    """A linear map from numbers, `low` below `high`, to the pixels `first` and `last`."""

    low: float
    high: float
    first: float
    last: float

    def __call__(self, value: float) -> float:
        """Return the pixel of a number; numbers beyond an end are put at that end."""
        share = (value - self.low) / (self.high - self.low)
        return self.first + min(max(share, 0.0), 1.0) * (self.last - self.first)

    def ticks(self, count: int = 5) -> list[float]:
        """Return about `count` round numbers from one end to the other."""
        rough = (self.high - self.low) / count
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * n for n in (1, 2, 2.5, 5, 10) if unit * n >= rough * 0.99)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(n * step, 12) for n in range(first, last + 1)]


def scale_for(values: Sequence[float | None], first: float, last: float) -> Scale:
    """Return a scale for numbers: from 0 to 1 if all lie there, else a little beyond them."""
    low, high = _span(values)
    if low >= 0 and high <= 1:
        return Scale(0.0, 1.0, first, last)
    if low >= -1 and high <= 1:
        reach = min(_rounded_up(max(abs(low), abs(high))), 1.0)
        return Scale(-reach, reach, first, last)
    return Scale(min(low, 0.0), high + 0.05 * (high - min(low, 0.0)), first, last)


def _span(values: Sequence[float | None]) -> tuple[float, float]:
    """Return the least and the greatest of the values that are defined, 0 and 1 for none."""
    defined = [value for value in values if value is not None]
    return min(defined, default=0.0), max(defined, default=1.0)


def _rounded_up(reach: float) -> float:
    """Return the least number with one digit that is not below a number above 0."""
    step = 10.0 ** math.floor(math.log10(reach))
    return math.ceil(reach / step - 1e-9) * step


def even_scale(values: Sequence[float | None], neutral: float, first: float, last: float) -> Scale:
    """Return a scale for comparisons, with the value of two equal systems in its middle.

    That is 0 for differences, 1 for ratios; ratios beyond 2 get the scale of `scale_for`.
    """
    reach = max((abs(value - neutral) for value in values if value is not None), default=0.0)
    if not reach or (neutral and reach > neutral):
        return scale_for([*values, neutral], first, last)
    reach = _rounded_up(reach)
    return Scale(neutral - reach, neutral + reach, first, last)


_NARROW = 0.15
"""Spread of numbers in [0, 1] below which a scale from 0 to 1 could not show them apart."""


def close_scale(values: Sequence[float | None], first: float, last: float) -> Scale:
    """Return a scale for numbers: that of `scale_for`, or a part of it if they lie close together.

    The ends of a part are round numbers, so that ticks show that it is a part. For dots with
    intervals, not for bars, whose length has a meaning.
    """
    low, high = _span(values)
    if low < 0 or high > 1 or high - low >= _NARROW:
        return scale_for(values, first, last)
    step = 0.05 if high - low > _NARROW / 3 else 0.01
    begin, end = math.floor(low / step - 1e-9) * step, math.ceil(high / step + 1e-9) * step
    return Scale(round(max(begin, 0.0), 12), round(min(end, 1.0), 12), first, last)


def tick_text(value: float) -> str:
    """Return the label of a tick."""
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def axis(scale: Scale, top: float, bottom: float) -> list[str]:
    """Return the vertical lines of a scale, each with its number below it."""
    marks = []
    for tick in scale.ticks():
        marks.append(line(scale(tick), top, scale(tick), bottom, "s-line"))
        marks.append(small(scale(tick), bottom + 15, tick_text(tick), "middle"))
    return marks


@dataclasses.dataclass(frozen=True)
class Picture:
    """A picture that a notebook shows by itself."""

    title: str
    description: str
    width: int
    height: int
    body: str

    def element(self, extra: str = "") -> str:
        """Return the ``svg`` element, in the colours of the page around it, `extra` first."""
        label = f"{self.title}. {self.description}"
        return tag("svg", extra + self.body, class_="evs", role="img", aria_label=label,
                   viewBox=f"0 0 {self.width} {self.height}", width=self.width,
                   height=self.height, xmlns="http://www.w3.org/2000/svg")  # fmt: skip

    @property
    def svg(self) -> str:
        """The picture as a whole SVG with a background, light or dark as the reader's screen."""
        style = (
            f".evs{{{variables(False)}}}"
            f"@media (prefers-color-scheme:dark){{.evs{{{variables(True)}}}}}{MARKS}"
        )
        paper = tag("rect", width="100%", height="100%", class_="f-paper")
        return self.element(tag("style", style) + paper)

    def _repr_svg_(self) -> str:
        return self.svg
