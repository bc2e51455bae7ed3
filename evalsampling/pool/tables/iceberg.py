"""Tables of Apache Iceberg, planned and read by pyiceberg; their rows are imported once."""

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError, from_extra
from evalsampling.pool.arrow import (
    beginnings,
    column_of,
    nested_fields,
    plain,
    plain_type,
    with_fields,
)
from evalsampling.pool.conditions import CONTRARY, Filter, translated
from evalsampling.pool.files import StoredFile, decodable
from evalsampling.pool.layout import PlannedFile
from evalsampling.pool.splits import Contents, Format
from evalsampling.pool.tables.base import location, stored_files
from evalsampling.spec.sections import Section
from evalsampling.spec.tables import TableSpec
from evalsampling.spec.where import ColumnName, Condition, IsNull, OneOf, Relation
from evalsampling.storage.filesystems import one_line

_CATALOG = "default"
"""Name of a catalog whose properties stand in the spec without one; it is pyiceberg's own."""

_SECRETS = ("password", "secret", "token", "credential", "access-key", "session")
"""Parts of the names of properties that are secrets."""

_PASSWORD = re.compile(r"://[^/@]*:[^/@]+@")
"""In a URL."""

_LARGE_BYTES = 1 << 32
"""Of a data file, which pyiceberg holds as a whole."""


class Iceberg:
    """A table of a catalog, pinned at a snapshot and the number of its schema."""

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
        """Return the snapshot to read, the spec's or the current snapshot, and its schema."""
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
        scan = loaded.scan(row_filter=row_filter(where, schema, loaded), snapshot_id=number)
        paths = [task.file.file_path for task in _tasks(scan, what)]
        files = stored_files([location(path, what) for path in paths], what)
        at = loaded.metadata_location, number, schema.schema_id
        return [
            PlannedFile(stored, where=where, kind=DataFile(*at, path))
            for stored, path in zip(files, paths, strict=True)
        ]


@dataclasses.dataclass(frozen=True)
class DataFile(Format):
    """A file of a table at a snapshot: a format of its own, which pyiceberg reads."""

    # where those of the table are; they change with every commit, so the name of the copy of its
    # rows does not go by it
    metadata: str = dataclasses.field(repr=False)
    snapshot: int  # its number
    schema: int  # number of the columns
    path: str  # of the file, as the table has it

    def inspect(self, file: StoredFile) -> Contents:
        """Return the columns of the table."""
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        columns = schema_to_pyarrow(_table_at(self.metadata).schemas()[self.schema])
        types = pa.schema([(field.name, plain_type(field.type)) for field in columns])
        warning = None
        if file.size > _LARGE_BYTES:
            warning = (
                f"{file.path}: {file.size / 1e6:,.0f} MB are read by one worker at once; let the "
                "table rewrite it into smaller files"
            )
        return Contents(types, warning=warning, fields=nested_fields(types))

    def read(self, file: StoredFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield columns of all rows that the snapshot has of the file."""
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        table = _table_at(self.metadata)
        columns = table.schemas()[self.schema]
        named = {head for name in schema.names for head in (name, *beginnings(name))}
        heads = [field.name for field in columns.fields if field.name in named]
        scan = ArrowScan(table.metadata, table.io, columns.select(*heads), AlwaysTrue())
        task = _tasks_by_path(self.metadata, self.snapshot)[self.path]
        with decodable(file.path):
            for batch in scan.to_record_batches([task]):
                made = [plain(column_of(batch, field.name)).cast(field.type) for field in schema]
                yield pa.record_batch(made, schema.names)


@functools.lru_cache(maxsize=4)
def _table_at(metadata: str) -> Any:
    """Return the table that a metadata file describes, without asking its catalog."""
    from pyiceberg.table import StaticTable

    with decodable(metadata):
        return StaticTable.from_metadata(metadata)


@functools.lru_cache(maxsize=4)
def _tasks_by_path(metadata: str, snapshot: int) -> Mapping[str, Any]:
    """Return the scan tasks of a snapshot by the paths of their files."""
    tasks = _tasks(_table_at(metadata).scan(snapshot_id=snapshot), metadata)
    return {task.file.file_path: task for task in tasks}


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


def _tasks(scan: Any, what: str) -> list[Any]:
    """Return the scan tasks of a snapshot, one a file."""
    try:
        return list(scan.plan_files())
    except Exception as error:  # It has many of its own.
        raise InputError(
            f"{what}: cannot be planned by pyiceberg: {one_line(error)}; where rows are deleted by "
            "their values, run CALL system.rewrite_data_files(table => ..., options => "
            "map('delete-file-threshold', '1', 'remove-dangling-deletes', 'true', "
            "'use-starting-sequence-number', 'false')) first"
        ) from error


def row_filter(where: Condition | None, columns: Any, table: Any) -> Any:
    """Return the filter of a scan by pyiceberg: true wherever a condition is, and maybe elsewhere.

    The columns are those of the snapshot's schema, as pyiceberg has it. What pyiceberg understands
    otherwise is always true.
    """
    from pyiceberg import expressions as sql
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    always = sql.AlwaysTrue()
    if where is None:
        return always
    types = schema_to_pyarrow(columns, include_field_ids=False)
    now = {field.field_id: field.name for field in table.schema().fields}
    names = {field.name: now.get(field.field_id) for field in columns.fields}
    parted = {field.source_id for spec in table.specs().values() for field in spec.fields}
    maybe_null = {now.get(number) for number in parted}
    made = {
        "=": sql.EqualTo, "!=": sql.NotEqualTo, "<": sql.LessThan, "<=": sql.LessThanOrEqual,
        ">": sql.GreaterThan, ">=": sql.GreaterThanOrEqual,
    }  # fmt: skip

    def orders_partitions(part: Any) -> bool:
        """Tell whether a file with null for a partition ends pyiceberg with a `TypeError`.

        A conjunction leaves such a file out before it compares.
        """
        if isinstance(part, sql.And | sql.Or):
            return orders_partitions(part.left) or orders_partitions(part.right)
        is_order = isinstance(part, tuple(made[each] for each in ("<", "<=", ">", ">=")))
        return is_order and part.term.name in maybe_null

    def either(left: Any, right: Any) -> Any:
        is_ordered = orders_partitions(left) or orders_partitions(right)
        return always if is_ordered else sql.Or(left, right)

    def leaf(part: Relation | OneOf | IsNull, negated: bool) -> Any:
        if isinstance(part, OneOf):
            return translated(part.spelt_out, leaf, sql.And, sql.Or, negated)
        name = names.get(part.column)  # None of a field of a struct column.
        if name is None or (isinstance(part, Relation) and isinstance(part.value, ColumnName)):
            return always
        if isinstance(part, IsNull):
            return (sql.NotNull if negated else sql.IsNull)(name)
        value = _literal(types.field(part.column).type, part.value, negated)
        operator = CONTRARY[part.operator] if negated else part.operator
        return always if value is None else made[operator](name, value)

    return translated(Filter.of(where, with_fields(types)).condition, leaf, sql.And, either)


def _literal(kind: pa.DataType, value: Any, negated: bool) -> Any:
    """Return a literal as pyiceberg takes it, None where it might leave out too much.

    Of floats, NaN is neither below nor above a number, which pyiceberg's contraries forget; narrow
    ones it rounds.
    """
    if pa.types.is_integer(kind):
        return int(value) if value == int(value) and abs(value) < 1 << 63 else None
    if pa.types.is_float64(kind):
        return None if negated else float(value)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return value if isinstance(value, str) else None
    if pa.types.is_boolean(kind):
        return value
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.unit == "us"):
        return value.isoformat()
    return None
