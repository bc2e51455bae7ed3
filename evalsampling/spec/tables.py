"""The section ``pool.table`` of a spec: a table of files, in place of ``pool.path``."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from evalsampling.errors import InputError
from evalsampling.parts.registry import Registry
from evalsampling.spec.sections import Section, absolute

TABLES: Registry[Any] = Registry(
    "tables",
    {
        "delta": "evalsampling.pool.tables.delta:DELTA",
        "iceberg": "evalsampling.pool.tables.iceberg:ICEBERG",
        "spark": "evalsampling.pool.tables.spark:SPARK",
    },
    "evalsampling.pool.tables.base:TableKind",
)
"""Kinds of tables, by the key of ``pool.table`` that names one."""


@dataclasses.dataclass(frozen=True)
class TableSpec:
    """A table of files."""

    kind: str  # name in `TABLES`
    name: str  # of the table: its path, or what its catalog calls it
    # the other keys of the section, as they stand there
    keys: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    pinned: Any = None  # the version that is read, as JSON, once it is settled; None before

    @property
    def named(self) -> dict[str, str]:
        """Kind and name of the table, to be shown; not the catalog, which may be confidential."""
        return {self.kind: self.name}

    def find_kind(self) -> Any:
        """Return the `pool.tables.base.TableKind` of the table."""
        return TABLES.find(f"pool.table.{self.kind}", self.kind)

    def to_mapping(self) -> dict[str, Any]:
        """Return the section as in the spec, without the pinned version."""
        return {self.kind: self.name, **self.keys}


def read_table(section: Section, directory: str) -> TableSpec:
    """Return the section ``pool.table``, checked."""
    kinds = [key for key in section.content if key in TABLES]
    if section.is_stored and not kinds:  # The package of its kind is not installed here.
        kinds = list(section.content)[:1]
    if len(kinds) != 1:
        raise InputError(f"{section.name}: must have one of the keys {', '.join(TABLES)}")
    [kind] = kinds
    name = str(section.text(kind, required=True))
    keys = {key: value for key, value in section.content.items() if key != kind}
    if not section.is_stored:
        part = TABLES.find(f"{section.name}.{kind}", kind)
        section.check_keys(kind, *part.keys)
        part.check(section)
        if part.is_path:
            name = str(absolute(f"{section.name}.{kind}", name, directory))
    return TableSpec(kind, name, keys)
