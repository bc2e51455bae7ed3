"""Tables of Delta Lake, read by their log and our own reader of Parquet."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from evalsampling.errors import InputError, from_extra
from evalsampling.pool.arrow import with_fields
from evalsampling.pool.conditions import Filter
from evalsampling.pool.layout import PlannedFile, may_hold
from evalsampling.pool.tables.base import location, stored_files
from evalsampling.spec.sections import Section
from evalsampling.spec.tables import TableSpec
from evalsampling.spec.where import Condition
from evalsampling.storage.filesystems import one_line

_READ = {"deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint", "vacuumProtocolCheck"}
"""Features of a table's protocol that our reader honours, or refuses file by file."""

_MAPPING = "delta.columnMapping.mode"

_ABSOLUTE = re.compile(r"^(?:/|[A-Za-z][A-Za-z0-9+.-]*:)")
"""Begin of a path that is not relative to the table: of a file of another table, after a clone."""


class Delta:
    """A table named by the path or URL of its folder, at a version: a whole number."""

    keys = ("version",)
    is_path = True

    def check(self, section: Section) -> None:
        """Check that the version is a whole number."""
        if section.get("version") is not None:
            section.integer("version", 0, least=0)

    def pin(self, table: TableSpec) -> int:
        """Return the version to read: the spec's, else the current version."""
        return int(_opened(table.name, table.keys.get("version")).version())

    def plan(self, table: TableSpec, where: Condition | None) -> Sequence[PlannedFile]:
        """Return the files that the log has at the pinned version."""
        log = _opened(table.name, table.pinned)
        what = f"{table.name} at version {table.pinned}"
        _check_readable(log, what)
        schema = pa.schema(log.schema().to_arrow())
        partitions = log.metadata().partition_columns
        if where is not None:
            Filter.of(where, with_fields(schema))
        actions = pa.table(log.get_add_actions(flatten=True))
        paths = actions["path"].to_pylist()
        deleted = _with_deleted_rows(log, paths, table, what)
        wanted, constants = [], []
        for row, named in enumerate(paths):
            values = {
                name: actions[f"partition.{name}"][row].cast(schema.field(name).type)
                for name in partitions
            }
            if not may_hold(where, values):
                continue
            if named in deleted:
                raise _deleted(f"rows of {named}", table, what)
            # The log names a file below the table, or by its URL.
            path = unquote(named)
            is_absolute = _ABSOLUTE.match(named)
            wanted.append(location(path, table.name) if is_absolute else f"{table.name}/{path}")
            constants.append(values)
        return [
            PlannedFile(stored, values, schema, where)
            for stored, values in zip(stored_files(wanted, what), constants, strict=True)
        ]


DELTA = Delta()
"""The kind ``delta``."""


def _opened(path: str, version: int | None) -> Any:
    """Return a table at a version, the current one if None."""
    with from_extra("delta", "deltalake", "pool.table.delta"):
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError
    try:
        return DeltaTable(path, version=version)
    except TableNotFoundError as error:
        raise InputError(f"{path}: no Delta table") from error
    except (DeltaError, OSError, ValueError) as error:
        if version is None:
            why = one_line(error)
            raise InputError(f"{path}: cannot be read as a Delta table: {why}") from error
        last = _opened(path, None).version()
        raise InputError(
            f"{path}: version {version} is not there or its log is gone; the current one is {last}"
        ) from error


def _check_readable(log: Any, what: str) -> None:
    """Check that a table has no feature that would be read wrongly."""
    features = {
        feature.removesuffix("-preview") for feature in log.protocol().reader_features or ()
    }
    if (log.metadata().configuration or {}).get(_MAPPING, "none") != "none":
        raise InputError(
            f"{what}: has column mapping ({_MAPPING}), which is not read; copy it by CREATE TABLE "
            "... AS SELECT to a table without"
        )
    unread = sorted(features - _READ - {"columnMapping"})
    if unread:
        raise InputError(f"{what}: has the feature {unread[0]}, which is not read")


def _with_deleted_rows(log: Any, paths: Sequence[str], table: TableSpec, what: str) -> set[str]:
    """Return the paths, by their ends, of files with rows that deletion vectors leave out."""
    if "deletionVectors" not in (log.protocol().reader_features or ()):
        return set()
    vectors = pa.table(log.deletion_vectors())
    urls = [unquote(url) for url in vectors["filepath"].to_pylist()]
    tails = {path: _ABSOLUTE.sub("", unquote(path), count=1).lstrip("/") for path in paths}
    found = {path for path, tail in tails.items() if any(url.endswith(tail) for url in urls)}
    if len(found) != len(urls):
        raise _deleted("rows", table, what)
    return found


def _deleted(rows: str, table: TableSpec, what: str) -> InputError:
    return InputError(
        f"{what}: {rows} are deleted by a deletion vector, which is not read; run REORG TABLE "
        f"delta.`{table.name}` APPLY (PURGE) first"
    )
