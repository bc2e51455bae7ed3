"""A section of the page: what its template is given, and numbers as cells of tables."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from evalsampling.report.numbers import Number, decimals, shown


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        anchor: its id, and the name of its template.
        title: its heading.
        content: what the template is given; text that is no `Markup` is escaped there.
    """

    anchor: str
    title: str
    content: Mapping[str, Any]


def data(value: float | None, digits: int = 3) -> Markup:
    """Return a number that is shown rounded and carries all its digits."""
    if value is None:
        return Markup("-")
    return Markup('<data value="{!r}">{}</data>').format(value, shown(value, digits))


def interval(low: float | None, high: float | None, digits: int = 3) -> Markup:
    """Return an interval, its ends with all their digits."""
    return Markup("{} to {}").format(data(low, digits), data(high, digits))


def figures(number: Number, digits: int | None = None) -> tuple[Markup, Markup]:
    """Return value and interval of a number, by default with as many digits as the latter has."""
    digits = decimals(number.low, number.high) if digits is None else digits
    return data(number.value, digits), interval(number.low, number.high, digits)


def value_with_interval(number: Number, digits: int | None = None) -> Markup:
    """Return a number with its interval in brackets; see `figures`."""
    return Markup("{} ({})").format(*figures(number, digits))


def code(text: str) -> Markup:
    """Return text in the type of code."""
    return Markup("<code>{}</code>").format(text)
