"""Pieces of HTML: text is escaped, every table has a caption, every picture a name."""

import dataclasses
import html
from collections.abc import Sequence

from evalsampling.report.numbers import shown
from evalsampling.report.svg import Picture


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        anchor: its id.
        title: its heading.
        body: markup.
    """

    anchor: str
    title: str
    body: str

    def element(self) -> str:
        """Return the markup of the whole section."""
        heading = f'<h2 id="{self.anchor}-h">{escape(self.title)}</h2>'
        return (
            f'<section id="{self.anchor}" aria-labelledby="{self.anchor}-h">'
            f"{heading}{self.body}</section>"
        )


def escape(text: object) -> str:
    """Return text as markup."""
    return html.escape(str(text), quote=True)


def data(value: float | None, digits: int = 3) -> str:
    """Return the markup of a number that is shown rounded and carries all its digits."""
    if value is None:
        return "-"
    return f'<data value="{value!r}">{shown(value, digits)}</data>'


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Return an interval as markup, its ends with all their digits."""
    return f"{data(low, digits)} to {data(high, digits)}"


def paragraph(*parts: str, kind: str | None = None) -> str:
    """Return a paragraph of markup."""
    attribute = "" if kind is None else f' class="{kind}"'
    return f"<p{attribute}>{''.join(parts)}</p>"


def bullets(items: Sequence[str]) -> str:
    """Return a bulleted list of items that are markup, the empty text for no item."""
    return "" if not items else f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def figure(picture: Picture, caption: str) -> str:
    """Return the markup of a picture with a caption; it scrolls where it is too wide."""
    return (
        f'<figure><div class="wide" role="group" tabindex="0" aria-label="{escape(picture.title)}">'
        f"{picture.element()}</div><figcaption>{caption}</figcaption></figure>"
    )


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[int] = (),
) -> str:
    """Return a table whose first column names the rows.

    Args:
        caption: its title, as text.
        head: headings of the columns, as text.
        rows: cells, as markup.
        numeric: indices of the columns that hold figures.
    """

    def kind(place: int) -> str:
        return ' class="n"' if place in numeric else ""

    heads = "".join(
        f'<th scope="col"{kind(place)}>{escape(name)}</th>' for place, name in enumerate(head)
    )
    lines = []
    for first, *figures in rows:
        cells = "".join(f"<td{kind(place)}>{cell}</td>" for place, cell in enumerate(figures, 1))
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    return (
        f'<div class="wide" role="group" tabindex="0" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def folded(summary: str, body: str) -> str:
    """Return markup that is folded until its summary is chosen; print shows it always."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"
