"""Values as JSON: as text that every reader of JSON takes."""

import json
import math
from collections.abc import Callable
from typing import Any


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
