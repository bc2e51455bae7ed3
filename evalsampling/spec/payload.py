"""The key ``pool.payload`` of a spec: columns that annotators see, and how."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from evalsampling.errors import InputError
from evalsampling.spec.sections import Section

MASKS = ("redact", "hash", "truncate")
"""Ways to show a payload column other than as it is."""


@dataclasses.dataclass(frozen=True)
class Mask:
    """How annotators see a payload column that is not shown as it is.

    Attributes:
        how: ``redact``, ``hash`` or ``truncate``.
        characters: length to which texts are truncated.
    """

    how: str
    characters: int = 0


def read_payload(section: Section) -> tuple[tuple[str, ...], dict[str, Mask]]:
    """Return the payload columns and how they are shown: ``[name, {email: hash}]``."""
    listed = section.get("payload", [])
    names: list[Any] = []
    masks: dict[str, Mask] = {}
    for item in listed if isinstance(listed, list) else [listed]:
        if not isinstance(item, Mapping):
            names.append(item)
            continue
        if len(item) != 1:
            raise InputError(f"pool.payload: must be a column and how it is shown, got {item!r}")
        ((name, how),) = item.items()
        names.append(name)
        masks[str(name)] = _mask(str(name), how)
    plain = Section(section.name, {"payload": names if isinstance(listed, list) else listed})
    return plain.columns("payload"), masks


def _mask(column: str, how: Any) -> Mask:
    if isinstance(how, Mapping):
        own = Section(f"pool.payload.{column}", how)
        own.check_keys("truncate")
        return Mask("truncate", own.integer("truncate", 0, least=1))
    if how not in MASKS[:2]:
        raise InputError(
            f"pool.payload.{column}: must be redact, hash or {{truncate: characters}}, got {how!r}"
        )
    return Mask(str(how))


def shown_mapping(name: str, mask: Mask | None) -> Any:
    """Return the entry of a column under the key ``payload``."""
    if mask is None:
        return name
    return {name: {"truncate": mask.characters} if mask.how == "truncate" else mask.how}
