"""Names and parameters of measures and samplers in a spec, and instances made from them."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from evalsampling.errors import InputError
from evalsampling.spec.sections import nearest
from evalsampling.spec.values import Proportion, convert, says_values


def name_and_parameters(kind: str, item: Any) -> tuple[str, dict[str, Any]]:
    """Return name and parameters of an entry, which is a name or a mapping with ``name``."""
    content = item if isinstance(item, Mapping) else {"name": item}
    name = content.get("name")
    if not isinstance(name, str):
        got = f"{dict(content)} has no name" if name is None else f"unknown {kind} {name!r}"
        raise InputError(f"{kind}: {got}; it must be the name of one, or {{name: ..., key: ...}}")
    return name, {str(k): v for k, v in content.items() if k != "name"}


def check_name(kind: str, name: str, known: Collection[str], meant: str | None = None) -> None:
    """Check that a measure or sampler has a name."""
    if name not in known and meant is not None:
        raise InputError(f"{kind}: unknown {kind} {name!r}: {meant}")
    if name not in known:
        hint = f"{nearest(name, list(known), 'known')} (or is its package not installed?)"
        raise InputError(f"{kind}: unknown {kind} {name!r}{hint}")


def construct(
    kind: str, maker: Any, name: str, parameters: Mapping[str, Any], given: Mapping[str, Any]
) -> Any:
    """Return an instance of a frozen dataclass, made with the parameters of a spec."""
    fields = {field.name for field in dataclasses.fields(maker) if field.init}
    free = sorted(fields - set(given))
    for key in parameters:
        if key not in free:
            hint = nearest(key, free) if free else "; it has no parameters of its own"
            raise InputError(f"unknown key {kind}.{key} of {name}{hint}")
    fixed = {key: value for key, value in given.items() if key in fields}
    try:
        return maker(**parameters, **fixed)
    except (TypeError, ValueError) as error:
        raise InputError(f"{kind}: {name}: {error}") from error


def check_parameters(made: Any) -> None:
    """Check the fields of a dataclass whose types say what they may be: see `says_values`.

    Numbers of other libraries become Python's.
    """
    for field in dataclasses.fields(made):
        if says_values(field.type):
            given = getattr(made, field.name)
            value = convert(field.name, given, field.type, "")
            if not isinstance(given, int | float):  # These stay as they are written.
                object.__setattr__(made, field.name, value)


def check_share(key: str, value: Any) -> None:
    """Check that a parameter is a number in [0, 1]."""
    convert(key, value, Proportion, "")
