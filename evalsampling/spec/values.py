"""Values of a spec as their types have them, and what a value of another type should have been."""

import decimal
import math
import numbers
import re
import reprlib
import sys
import types
import typing
from typing import Annotated, Any, Literal, Union

import msgspec
from msgspec import Meta as Meta

from evalsampling.errors import InputError

_MOST = sys.float_info.max

Text = Annotated[str, Meta(min_length=1, description="text")]
Name = Annotated[str, Meta(description="a mapping whose keys are text")]
Count = Annotated[int, Meta(ge=1, description="a whole number of at least 1")]
Number = Annotated[float, Meta(ge=-_MOST, le=_MOST)]
Positive = Annotated[float, Meta(gt=0, le=_MOST, description="above 0")]
Fraction = Annotated[float, Meta(gt=0, lt=1, description="between 0 and 1")]
Proportion = Annotated[float, Meta(ge=0, le=1, description="between 0 and 1")]
UpToOne = Annotated[float, Meta(gt=0, le=1, description="above 0 and at most 1")]
Numbers = Annotated[tuple[Number, ...], Meta(min_length=1, description="a list of numbers")]
Columns = Annotated[tuple[str, ...], Meta(description="a list of columns")]

_STEP = re.compile(r"\.(\w+)|\[(\d+|\.{3})\]")
"""A step on the way to a value, as `msgspec` writes it: of a struct, a list or a mapping."""


def convert(path: str, value: Any, kind: Any, colon: str = ":") -> Any:
    """Return a value as a type of `msgspec` has it; errors name its path in the spec."""
    value = _plain(value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, InputError):  # Of a struct's own check.
            raise error.__cause__ from error
        path, value, kind = _wrong(path, value, kind, str(error))
        wanted = f"{path}{colon} must be {_wanted(value, kind)}"
        raise InputError(f"{wanted}, got {shown(value)}") from error


def _plain(value: Any) -> Any:
    """Return a value with Python's numbers in place of decimals and NumPy's, also within it."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, int) or not isinstance(value, decimal.Decimal | numbers.Real):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _wrong(path: str, value: Any, kind: Any, message: str) -> tuple[str, Any, Any]:
    """Return path, value and expected type of the value that a message of `msgspec` is about."""
    _, _, place = message.partition(" - at `")
    for field, index in _STEP.findall(place):
        kind, _ = bare(kind)
        if field:
            path, value = f"{path}.{field}", value[field]
            kind = typing.get_type_hints(kind, include_extras=True)[field]
        elif index.isdigit():
            kind = typing.get_args(kind)[0]
            if kind is str:
                return path, value, Columns
            value = value[int(index)]
        else:
            kind = typing.get_args(kind)[1]  # The one kind of mapping is that of numbers.
            key, value = next(item for item in value.items() if not is_number(item[1]))
            path = f"{path}.{key}"
    if place.startswith("key"):
        return path, next(key for key in value if not isinstance(key, str)), Name
    return path, value, kind


def bare(kind: Any) -> tuple[Any, str]:
    """Return a type without None and without limits, and its values in words, if it says so."""
    if typing.get_origin(kind) in (Union, types.UnionType):
        return bare(next(one for one in typing.get_args(kind) if one is not types.NoneType))
    if typing.get_origin(kind) is Annotated:
        plain, limits, *_ = typing.get_args(kind)
        return plain, getattr(limits, "description", "") or ""
    return kind, ""


def says_values(kind: Any) -> bool:
    """Tell whether a type, or one beside None, says which values it has."""
    is_union = typing.get_origin(kind) in (Union, types.UnionType)
    given = typing.get_args(kind) if is_union else [kind]
    own = [one for one in given if one is not types.NoneType]
    return all(one is bool or typing.get_origin(one) in (Annotated, Literal) for one in own)


def _wanted(value: Any, kind: Any) -> str:
    """Return the expected values of a type in words, as far as the given value differs."""
    plain, words = bare(kind)
    if plain is float and not is_number(value):
        return wanted_number(value)
    if typing.get_origin(plain) is Literal:
        return f"one of {', '.join(map(str, typing.get_args(plain)))}"
    return words or {bool: "true or false", str: "text"}.get(plain, "a mapping")


def wanted_number(value: Any) -> str:
    """Return the words for the number expected in place of a value."""
    return "finite" if isinstance(value, float) and math.isinf(value) else "a number"


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite number that a float can be."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # A whole number of hundreds of digits.
        return False


def shown(value: Any) -> str:
    """Return a value as text for a message; very long numbers are shortened."""
    return reprlib.repr(value) if isinstance(value, int) else repr(value)
