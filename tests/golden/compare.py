"""What differs between JSON that was kept and JSON of today, in words."""

import math
from collections.abc import Iterator
from typing import Any

_RELATIVE = 1e-6
_ABSOLUTE = 1e-12
"""Numbers so near are the same. Libraries of linear algebra differ between machines, and so do the
vector units that they and NumPy use: they add in another order, which changes the last digits, and
chains that draw curves carry that on."""


_MOST_LINES = 20
"""Differences that a failure tells of."""


def assert_same(kept: Any, now: Any, of: str) -> None:
    """Check that nothing differs; the message has a line for each field that does."""
    found = [f"{of}, {line}" for line in differences(kept, now)]
    more = [f"and {len(found) - _MOST_LINES} more"] if len(found) > _MOST_LINES else []
    assert not found, "\n".join(["not as kept:", *found[:_MOST_LINES], *more])


def differences(kept: Any, now: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each difference, which begins with the path of the field."""
    if isinstance(kept, dict) and isinstance(now, dict):
        yield from _of_records(kept, now, path)
    elif isinstance(kept, list) and isinstance(now, list):
        if len(kept) != len(now):
            yield f"{path}: {len(now)} entries, {len(kept)} were kept"
        for place, (one, other) in enumerate(zip(kept, now, strict=False)):
            yield from differences(one, other, f"{path}[{_name(one, place)}]")
    elif not _same(kept, now):
        yield f"{path}: {now!r}, kept was {kept!r}"


def _of_records(kept: dict[str, Any], now: dict[str, Any], path: str) -> Iterator[str]:
    for key in kept:
        if key in now:
            yield from differences(kept[key], now[key], _below(path, key))
        else:
            yield f"{_below(path, key)}: missing"
    yield from (f"{_below(path, key)}: new, not kept" for key in now if key not in kept)
    common = [key for key in kept if key in now]
    if common != [key for key in now if key in kept]:
        yield f"{path or 'all'}: another order of {', '.join(common)}"


def _below(path: str, key: str) -> str:
    return f"{path}, {key}" if path else key


def _name(one: Any, place: int) -> str:
    """Return what tells an entry of a list: its place, and the measure and system it is about."""
    if not isinstance(one, dict):
        return str(place)
    names = (one.get(key) for key in ("measure", "system", "slice", "sampler", "method"))
    return " ".join([str(place), *(str(name) for name in names if isinstance(name, str))])


def _same(kept: Any, now: Any) -> bool:
    if type(kept) is not type(now):
        return False
    if isinstance(kept, float):
        return math.isclose(kept, now, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    return bool(kept == now)
