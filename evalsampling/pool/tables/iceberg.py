"""Tables of Apache Iceberg, planned by pyiceberg and read by our own reader of Parquet."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError, from_extra
from evalsampling.pool.layout import PlannedFile, TableColumn, row_of
from evalsampling.pool.tables.iceberg_filter import row_filter
from evalsampling.pool.tables.locations import location, stored_files
from evalsampling.spec.sections import Section
from evalsampling.spec.tables import TableSpec
from evalsampling.spec.where import Condition
from evalsampling.storage.filesystems import one_line

_CATALOG = "default"
"""Name of a catalog whose properties stand in the spec without one; it is pyiceberg's own."""

_SECRETS = ("password", "secret", "token", "credential", "access-key", "session")
"""Parts of the names of properties that are secrets."""

_PASSWORD = re.compile(r"://[^/@]*:[^/@]+@")
"""In a URL."""


_REWRITE = (
    "run CALL system.rewrite_data_files(table => ..., options => map('delete-file-threshold', '1', "
    "'remove-dangling-deletes', 'true', 'use-starting-sequence-number', 'false')) first"
)
"""What leaves a table without delete files, also without those that have nothing to delete."""


class Iceberg:
    """A table of a catalog, at a snapshot; what is pinned has the number of its schema too."""

    keys = ("catalog", "snapshot")
    is_path = False

    def check(self, section: Section) -> None:
        """Check that there is a catalog without secrets, and that the snapshot is an integer."""
        catalog = section.get("catalog")
        if not isinstance(catalog, str | Mapping) or not catalog:
            raise InputError(
                f"{section.name}.catalog: must be the name of a catalog that pyiceberg knows, or "
                "its properties: {name: ..., type: sql, uri: ..., warehouse: ...}"
            )
        if isinstance(catalog, Mapping):
            _check_no_secret(f"{section.name}.catalog", catalog)
        if section.get("snapshot") is not None:
            section.integer("snapshot", 0, least=0)

    def pin(self, table: TableSpec) -> dict[str, int]:
        """Return the snapshot to read, that of the spec or the current one, and its schema."""
        loaded, wanted = _loaded(table), table.keys.get("snapshot")
        if wanted is None:
            current = loaded.current_snapshot()
            if current is None:
                raise InputError(f"{table.name}: the pool is empty")
            return {"snapshot": current.snapshot_id, "schema": loaded.schema().schema_id}
        schema = _snapshot(loaded, table.name, wanted).schema_id
        return {
            "snapshot": wanted,
            "schema": loaded.schema().schema_id if schema is None else schema,
        }

    def plan(self, table: TableSpec, where: Condition | None) -> Sequence[PlannedFile]:
        """Return the files of the pinned snapshot."""
        loaded, number = _loaded(table), table.pinned["snapshot"]
        _snapshot(loaded, table.name, number)
        what = f"{table.name} at snapshot {number}"
        schema = loaded.schemas().get(table.pinned["schema"])
        if schema is None:
            raise InputError(f"{what}: schema {table.pinned['schema']} is gone")
        columns = _columns(schema)
        wanted = row_filter(where, columns, loaded)
        tasks = _tasks(loaded, number, wanted, what)
        specs = loaded.specs()
        files = stored_files([location(task.file.file_path, what) for task in tasks], what)
        constants = [_identities(task.file, specs[task.file.spec_id], columns) for task in tasks]
        return [
            PlannedFile(stored, values, columns, where)
            for stored, values in zip(files, constants, strict=True)
        ]


ICEBERG = Iceberg()
"""The kind ``iceberg``."""


def _check_no_secret(key: str, properties: Mapping[str, Any]) -> None:
    """Check that properties of a catalog have no secret, as the spec is kept in the workspace."""
    for name, value in properties.items():
        secret = any(word in str(name).lower() for word in _SECRETS)
        if secret or _PASSWORD.search(str(value)):
            raise InputError(
                f"{key}: {name} {'is a secret' if secret else 'has a password'}, and the spec is "
                "kept in the workspace; put it into pyiceberg's own configuration, and name the "
                "catalog here"
            )


def _loaded(table: TableSpec) -> Any:
    """Return a table, by its catalog."""
    with from_extra("iceberg", "pyiceberg", "pool.table.iceberg"):
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
    catalog = table.keys["catalog"]
    named = {"name": catalog} if isinstance(catalog, str) else {"name": _CATALOG, **catalog}
    properties = {key: str(value) for key, value in named.items()}
    name = properties.pop("name")
    try:
        return load_catalog(name, **properties).load_table(table.name)
    except (NoSuchNamespaceError, NoSuchTableError) as error:
        raise InputError(f"{table.name}: the catalog {name} has no such table") from error
    except Exception as error:  # Of whatever package reaches the catalog.
        raise InputError(
            f"{table.name}: the catalog {name} cannot be asked: {one_line(error)}"
        ) from error


def _snapshot(loaded: Any, name: str, number: int) -> Any:
    """Return a snapshot of a table."""
    snapshot = loaded.snapshot_by_id(number)
    if snapshot is None:
        current = loaded.current_snapshot()
        last = "there is none" if current is None else f"the current one is {current.snapshot_id}"
        raise InputError(f"{name}: snapshot {number} is not there or has expired; {last}")
    return snapshot


def _columns(schema: Any) -> tuple[TableColumn, ...]:
    """Return the columns of a schema."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    for field in schema.fields:
        if field.initial_default is not None:
            raise InputError(f"column {field.name!r} has an initial default, which is not read")
    return tuple(
        TableColumn(field.name, arrow.type, field.field_id)
        for field, arrow in zip(schema.fields, schema_to_pyarrow(schema), strict=True)
    )


def _tasks(loaded: Any, snapshot: int, wanted: Any, what: str) -> list[Any]:
    """Return what there is to read of a snapshot."""
    try:
        tasks = list(loaded.scan(row_filter=wanted, snapshot_id=snapshot).plan_files())
    except (ValueError, NotImplementedError, OSError) as error:
        if _has_deletes_by_value(loaded, snapshot):
            raise InputError(
                f"{what}: rows are deleted by their values, in other files, which are not read; "
                f"{_REWRITE}"
            ) from error
        raise InputError(f"{what}: cannot be planned: {one_line(error)}") from error
    for task in tasks:
        if task.delete_files:
            raise InputError(
                f"{what}: rows of {task.file.file_path} are deleted by other files, which are not "
                f"read; {_REWRITE}"
            )
        if task.file.file_format.name != "PARQUET":
            raise InputError(
                f"{what}: {task.file.file_path} is {task.file.file_format.name}; only Parquet is "
                "read"
            )
    return tasks


def _has_deletes_by_value(loaded: Any, snapshot: int) -> bool:
    """Tell whether a snapshot has files that delete by values; pyiceberg does not plan these."""
    summary = loaded.snapshot_by_id(snapshot).summary
    count = None if summary is None else summary.get("total-equality-deletes")
    return count not in (None, "0")


def _identities(file: Any, spec: Any, columns: Sequence[TableColumn]) -> pa.RecordBatch | None:
    """Return the columns that a file is partitioned by as they are; it may lack them."""
    by_id = {column.field_id: column for column in columns}
    constants = {}
    for place, field in enumerate(spec.fields):
        column = by_id.get(field.source_id)
        if column is not None and str(field.transform) == "identity":
            constants[column.name] = _value(file.partition[place], column)
    return row_of(constants)


def _value(value: Any, column: TableColumn) -> pa.Array:
    """Return a value of a partition; pyiceberg has dates and times as numbers."""
    kind = pa.string() if pa.types.is_large_string(column.type) else column.type
    if not pa.types.is_temporal(kind):
        return pa.array([value], kind)
    width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    return pa.array([value], width).cast(kind)
