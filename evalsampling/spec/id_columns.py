"""The columns that identify a row of a pool: one, or several whose values are one id together."""

import itertools
import re

from evalsampling.errors import InputError
from evalsampling.spec.sections import Section

IdColumns = str | tuple[str, ...]
"""Name of the column of ids; or of two columns or more."""


def columns_of(id: IdColumns) -> tuple[str, ...]:
    """Return the names of the columns, in order."""
    return (id,) if isinstance(id, str) else id


def in_words(id: IdColumns) -> str:
    """Return the columns for a message."""
    names = ", ".join(map(repr, columns_of(id)))
    return f"column {names}" if isinstance(id, str) else f"columns {names}"


_SIDES = (
    ("l", "r"), ("left", "right"), ("lhs", "rhs"), ("1", "2"), ("a", "b"), ("x", "y"),
    ("first", "second"), ("from", "to"), ("ltable", "rtable"), ("source", "target"),
)  # fmt: skip
"""What tells the column of one record of a pair from that of the other."""

_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def sides_of(id: IdColumns) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the columns of the two records of a pair, None if rows are no pairs of a kind.

    They are by their names: every column has one that is called alike but for its side.
    """
    columns = columns_of(id)
    pairs = [both for both in itertools.permutations(columns, 2) if _are_sides(*both)]
    named = [name for both in pairs for name in both]
    if not pairs or sorted(named) != sorted(columns):
        return None
    left, right = zip(*pairs, strict=True)
    return left, right


def _are_sides(left: str, right: str) -> bool:
    """Tell whether two columns are called alike but for their sides, left and right."""
    tokens = (_TOKEN.findall(name) for name in (left, right))
    both = list(itertools.zip_longest(*tokens, fillvalue=""))
    other = [(one.lower(), two.lower()) for one, two in both if one != two]
    return len(other) == 1 and other[0] in _SIDES


def read_id(section: Section, of_items: bool) -> IdColumns:
    """Return the key ``id`` of a section: ``id`` if it is missing, a list of one as that column."""
    if not isinstance(section.get("id"), list):
        return section.text("id") or "id"
    columns = section.columns("id")
    if not columns or not all(columns):
        raise InputError(f"{section.name}.id: must be a list of columns, got {list(columns)!r}")
    if of_items and len(columns) > 1:
        raise InputError(f"{section.name}.id: a pool with lists has one column of ids")
    return columns[0] if len(columns) == 1 else columns
