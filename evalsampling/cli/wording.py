"""Text for a terminal: counts with their nouns, wrapped lines, tables."""

import itertools
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

from evalsampling.stats.counted import counted as counted

NARROWEST, WIDEST = 60, 120
"""Least and most columns of a line, however wide the terminal is."""


def columns() -> int:
    """Return the columns of a line: the terminal's, 80 without a terminal."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, NARROWEST), WIDEST)


def wrapped(text: str, indent: str = "") -> list[str]:
    """Return a sentence as lines that fit, all but the first indented."""
    return textwrap.wrap(
        text, columns(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def hanging(texts: Iterable[str]) -> list[str]:
    """Return sentences as lines that fit, all but the first line of each indented."""
    return [line for text in texts for line in wrapped(text, "  ")]


def cut(text: str, width: int) -> str:
    """Return a text, shortened in the middle if it is wider than its column."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def bold(text: str) -> str:
    """Return a text in bold if stdout is a terminal and NO_COLOR is not set."""
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    return f"\033[1m{text}\033[0m" if on_terminal and not os.environ.get("NO_COLOR") else text


def grouped_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in which rows are listed below the name of their group."""
    groups: dict[str, list[Sequence[str]]] = {}
    for name, first, *cells in rows:
        groups.setdefault(name, [[name, *[""] * (len(head) - 1)]]).append([f"  {first}", *cells])
    return table(head, list(itertools.chain(*groups.values())))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table; where it does not fit the terminal, its first column is cut."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    room = columns() - sum(widths[1:]) - 2 * (len(widths) - 1)
    widths[0] = min(widths[0], max(room, 12))
    lines = []
    for row in (head, *rows):
        first, *others = zip(row, widths, strict=True)
        cells = (f"{cell:>{width}}" for cell, width in others)
        lines.append("  ".join([f"{cut(*first):<{widths[0]}}", *cells]).rstrip())
    return [bold(lines[0]), *lines[1:]]
