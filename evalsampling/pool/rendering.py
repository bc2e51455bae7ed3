"""Dates, times and nested values as text: what annotators are shown of them.

Python's own dates end with the year 9999, its times with microseconds, and its zones with those it
knows. Arrow's do not, so the text is made of Arrow's columns. Where Python has a text, it is the
same: ``2024-05-01 12:00:00.500000+02:00``.
"""

import itertools
import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.arrow import is_bytes
from evalsampling.stats.arrays import BoolArray

_FIRST, _LAST = np.datetime64("0001-01-02"), np.datetime64("9999-12-30")
"""Days between which Arrow's text is right in any zone."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY_SECONDS = 86400

_TIDIED = (
    (r"Z$", "+00:00"), (r"([+-]\d\d)(\d\d)$", r"\1:\2"), (r"(\.\d{6})000($|[+-])", r"\1\2"),
    (r"(\.\d{3})($|[+-])", r"\1000\2"), (r"\.000000($|[+-])", r"\1"),
)  # fmt: skip
"""What differs between the texts of Arrow and Python: RE2 patterns and replacements."""


def rendered(values: pa.Array) -> pa.Array:
    """Return dates, times, durations, bytes and nested values as text; other columns as they are.

    Timestamps and times have all their digits: none of the second if it is whole, else six or
    nine. A zone that is not known here, and any before the year 1 or after 9999, is shown in UTC.
    Durations are days and ``hours:minutes:seconds``; lists, maps and structs are JSON. Nulls stay.
    """
    kind = values.type
    if pa.types.is_nested(kind) or is_bytes(kind):
        held = _nested(values) if pa.types.is_nested(kind) else values.to_pylist()
        return pa.array(map(as_text, held), pa.string())
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _days_or_instants(values)
    if pa.types.is_time(kind):
        return _tidied(values.cast(pa.string()))
    if pa.types.is_duration(kind):
        per_second = _PER_SECOND[kind.unit]
        ticks = values.cast(pa.int64()).to_pylist()
        texts = (None if tick is None else _duration(tick, per_second) for tick in ticks)
        return pa.array(texts, pa.string())
    return values


def _days_or_instants(values: pa.Array) -> pa.Array:
    kind = values.type
    unit, zone = ("D", None) if pa.types.is_date(kind) else (kind.unit, kind.tz)
    stored = values.cast(pa.date32()) if pa.types.is_date(kind) else values
    width = pa.int32() if pa.types.is_date(kind) else pa.int64()
    ticks = stored.cast(width).cast(pa.int64()).fill_null(0).to_numpy()
    instants = ticks.astype(f"datetime64[{unit}]")
    # Compared by days: the limits themselves are out of the range of nanoseconds.
    days = instants.astype("datetime64[D]")
    usual = (days >= _FIRST) & (days <= _LAST)
    if zone is not None and not _is_known(zone):
        stored = stored.cast(pa.timestamp(unit, "UTC"))
    # Arrow's own text wraps around where years have more than four digits.
    safe = pc.if_else(pa.array(usual), stored, pa.scalar(0, width).cast(stored.type))
    text = _tidied(safe.cast(pa.string()))
    if not usual.all():
        text = pc.if_else(pa.array(usual), text, _far(instants, usual, zone is not None))
    return pc.if_else(values.is_valid(), text, pa.scalar(None, pa.string()))


def _far(instants: npt.NDArray[np.datetime64], usual: BoolArray, zoned: bool) -> pa.Array:
    """Return the text of instants that are not usual, in UTC."""
    days = np.datetime_as_string(instants[~usual])
    text = np.full(len(instants), None, dtype=object)
    # A year has four digits or more: numpy's -7 is -0007.
    padded = [re.sub(r"^-\d+", lambda year: f"{int(year[0]):05d}", day) for day in days.tolist()]
    text[~usual] = [day.replace("T", " ") + "Z" * zoned for day in padded]
    return _tidied(pa.array(text, pa.string()))


def _is_known(zone: str) -> bool:
    try:
        pa.array([0]).cast(pa.timestamp("s", zone)).cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _tidied(text: pa.Array) -> pa.Array:
    for pattern, replacement in _TIDIED:
        text = pc.replace_substring_regex(text, pattern, replacement)
    return text


def _duration(ticks: int, per_second: int) -> str:
    """Return the text of a duration as Python has it, with nanoseconds where there are some."""
    seconds, fraction = divmod(ticks, per_second)
    days, seconds = divmod(seconds, _DAY_SECONDS)
    text = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if fraction:
        digits = f"{fraction * 10**9 // per_second:09d}"
        text += "." + (digits[:6] if digits.endswith("000") else digits)
    return f"{days} day{'s' * (abs(days) != 1)}, {text}" if days else text


def _nested(values: pa.Array) -> list[Any]:
    """Return nested values as lists and objects whose items are `rendered`."""
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    kind, made = values.type, list[Any]()
    if pa.types.is_map(kind):
        pair = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        values = values.cast(pa.list_(pair))
    elif pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        values = values.cast(pa.large_list(kind.value_type))
    if pa.types.is_struct(kind):
        rows = (
            zip(*map(_nested, values.flatten()), strict=True) if len(kind) else [()] * len(values)
        )
        made = [dict(zip(kind.names, row, strict=True)) for row in rows]
    elif pa.types.is_nested(kind):
        items = _nested(values.flatten())
        items = [[*pair.values()] for pair in items] if pa.types.is_map(kind) else items
        rest = iter(items)
        lengths = values.value_lengths().fill_null(0).to_pylist()
        made = [list(itertools.islice(rest, length)) for length in lengths]
    else:
        shown = rendered(values)
        if not (pa.types.is_integer(shown.type) or pa.types.is_boolean(shown.type)):
            shown.validate(full=True)
        return shown.to_pylist()
    known = values.is_valid().to_pylist()
    return [value if is_known else None for value, is_known in zip(made, known, strict=True)]


def json_text(value: Any, default: Callable[[Any], Any] = str) -> str:
    """Return a value as JSON: null for a float that JSON does not have."""
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=default)


def as_text(value: Any) -> str | None:
    """Return a value as text: text as it is, null as null, numbers and nested values as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, list | dict):
        return json_text(value, as_text)
    if isinstance(value, int | float):
        return json.dumps(value)
    return str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
