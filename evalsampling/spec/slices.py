"""Slices in a spec: values by column, as measures and strata name them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalsampling.errors import InputError

NULL = "null"
"""What a null is called in a slice column."""

Where = Mapping[str, tuple[str, ...]]
"""A slice: rows that have one of the values of each column."""


def read_slices(path: str, given: Any) -> Where:
    """Return the values of slices by column, none if nothing is given.

    Each column has a value, or a list of them.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"{path}: must be columns with values, as {{country: DE}}, got {given!r}")
    return {str(column): _values(f"{path}.{column}", of) for column, of in given.items()}


def _values(path: str, given: Any) -> tuple[str, ...]:
    listed = list(given) if isinstance(given, list | tuple) else [given]
    texts = tuple(_text(path, value) for value in listed)
    if not texts:
        raise InputError(f"{path}: the list of values is empty")
    for text in texts:
        if texts.count(text) > 1:
            raise InputError(f"{path}: {text} is listed twice")
    return texts


def _text(path: str, value: Any) -> str:
    """Return a value as a slice column has it."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int):
        raise InputError(f"{path}: slices are whole numbers, booleans or text, got {value!r}")
    return str(value)


def where_mapping(where: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return a slice as `read_slices` takes it: lists where there are several values."""
    return {
        column: values[0] if len(values) == 1 else list(values) for column, values in where.items()
    }


def all_named(slices: Iterable[Where]) -> Where:
    """Return all columns and values that slices name, each once."""
    values: dict[str, dict[str, None]] = {}
    for where in slices:
        for column, named in where.items():
            values.setdefault(column, {}).update(dict.fromkeys(named))
    return {column: tuple(sorted(named)) for column, named in values.items()}
