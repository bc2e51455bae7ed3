"""What annotators chose, as labelling tools write it: text, a number, or a list of texts."""

import ast
import dataclasses
import json
from collections.abc import Mapping
from typing import Any

Fields = Mapping[str, Any]
"""Fields of a row by their names, case-folded."""


class Other(str):
    """What a field holds in place of a class, in words."""


@dataclasses.dataclass(frozen=True)
class ChosenAnswer:
    """An annotator's answer about a row, or the problem why it is none.

    By question it has a text, a number, a list of texts, None if not answered, or an `Other`. Of a
    yes or a no, `says` tells whether the row has the class that the value names.
    """

    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    says: bool | None = None
    annotator: Any = None
    time: Any = None
    skipped: bool = False
    comment: str | None = None
    problem: str = ""


def found(row: Any, paths: str) -> Any:
    """Return the first text or number at some paths, None if there is none."""
    for path in filter(None, paths.split("|")):
        value = row.get(path) if isinstance(row, Mapping) else None
        head, dot, rest = path.partition(".")
        if value is None and dot and isinstance(row, Mapping):
            value = found(row.get(head), rest)
        if value not in (None, "") and not isinstance(value, Mapping | list):
            return value
    return None


def value_of(given: Any) -> Any:
    """Return what an annotator chose, as `ChosenAnswer.values` has it."""
    if isinstance(given, str) and given[:1] in ("[", "{"):
        given = parsed(given)
    if isinstance(given, Mapping):
        key = next((key for key in ("choices", "value", "label") if key in given), "")
        if len(given) == 1 and key:
            return value_of(given[key])
        if given and all(isinstance(chosen, bool) for chosen in given.values()):
            return value_of([name for name, chosen in given.items() if chosen])
        return Other("spans, boxes or other objects")
    if isinstance(given, list):
        if len(given) == 1 and isinstance(given[0], Mapping):
            return value_of(given[0])
        if any(isinstance(one, Mapping | list | None) for one in given):
            return Other("spans, boxes or ranks")
        return given[0] if len(given) == 1 else [*map(str, given)]
    return None if given == "" else given


def parsed(text: str) -> Any:
    """Return the list or object that a cell spells, as JSON or Python writes it; else the text."""
    for read in (json.loads, ast.literal_eval) if len(text) < _MOST_TEXT else (json.loads,):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text


_MOST_TEXT = 1 << 14
"""Longest list that is read as Python writes it."""


def listed(given: Any) -> list[Any]:
    """Return the values of a list, also of one that a cell spells."""
    if isinstance(given, str) and given.startswith("["):
        given = parsed(given)
    return given if isinstance(given, list) else [] if given in (None, "") else [given]


def is_text(given: Any) -> bool:
    """Tell whether a value is a text that is not empty."""
    return isinstance(given, str) and bool(given)


def object_of(given: Any) -> Fields:
    """Return an object, one without fields if it is none."""
    return given if isinstance(given, Mapping) else {}


def objects(given: Any) -> list[Fields]:
    """Return the objects of a list."""
    return [one for one in listed(given) if isinstance(one, Mapping)]
