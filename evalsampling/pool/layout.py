"""How the rows of a file become rows of the table that the file belongs to."""

import dataclasses
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError
from evalsampling.pool.conditions import outline
from evalsampling.pool.evolution import (
    FIELD_ID,
    SHORTER,
    Change,
    FileField,
    change_of,
    fields_of,
    may_be_widened,
    plain,
)
from evalsampling.pool.files import StoredFile
from evalsampling.spec.where import Condition


@dataclasses.dataclass(frozen=True)
class TableColumn:
    """A column of a table, as it is sought in a file.

    Attributes:
        name: in the table.
        type: in the table.
        field_id: number that the file has beside the column; None to seek it by its name.
    """

    name: str
    type: pa.DataType
    field_id: int | None = None


@dataclasses.dataclass(frozen=True)
class Import:
    """What is imported of a file that is not Parquet, and where to.

    Attributes:
        directory: or URL, of the Parquet file.
        schema: columns and their types; those that the path of the file has are not imported.
        warning: of the file, None if there is none.
    """

    directory: str
    schema: pa.Schema
    warning: str | None = None


@dataclasses.dataclass(frozen=True)
class PlannedFile:
    """A file to read, and what is known of it before it is opened.

    Attributes:
        stored: path, size and version.
        constants: one row: columns that have one value in the whole file, and need not be read from
            it; None if there are none.
        columns: of the table, which the file may lack, call otherwise or have with a narrower type;
            None if the file has the columns as they are.
        where: the rows that are wanted; None for all.
        called: what messages call it; None for its path.
        to_import: what is imported of it; None if it is Parquet.
    """

    stored: StoredFile
    constants: pa.RecordBatch | None = None
    columns: tuple[TableColumn, ...] | None = None
    where: Condition | None = None
    called: str | None = None
    to_import: Import | None = None


@dataclasses.dataclass(frozen=True)
class Layout:
    """What is read of a file, and what becomes of it.

    Attributes:
        constants: one row: columns that are not read, as they have one value; nulls where a file
            lacks a column of its table.
        expected: one row: columns that are read, and must have this value in every row.
        names: what the file calls the columns that are read, by the table's names; None if they are
            the file's own, all of them.
        changes: what becomes of columns that the table has with another type than the file.
        fields: of struct columns of the table, by their names with dots.
        unread: why columns of the file cannot be read, by the table's names.
    """

    constants: pa.RecordBatch | None = None
    expected: pa.RecordBatch | None = None
    names: Mapping[str, str] | None = None
    changes: Mapping[str, Change] = dataclasses.field(default_factory=dict)
    fields: Mapping[str, FileField] = dataclasses.field(default_factory=dict)
    unread: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, file: PlannedFile, schema: pa.Schema) -> "Layout | None":
        """Return the layout of a file with a schema; None if its columns are those of the pool."""
        if file.columns is not None:
            return cls._of_table(file, file.columns, schema)
        if file.constants is None:
            return None
        constants = _columns(file.constants)
        read = {name: constants.pop(name) for name in [*constants] if name in schema.names}
        return cls(row_of(constants), row_of(read))

    @classmethod
    def _of_table(
        cls, file: PlannedFile, columns: Sequence[TableColumn], schema: pa.Schema
    ) -> "Layout":
        ids = {(field.metadata or {}).get(FIELD_ID): field.name for field in schema}
        if len(schema) and columns[0].field_id is not None and ids.keys() <= {None}:
            raise InputError(
                f"{file.stored.path}: has no numbers of columns ({FIELD_ID.decode()}), by which a "
                "table finds them; let the table rewrite the file"
            )
        constants = {} if file.constants is None else _columns(file.constants)
        names, changes, unread = {}, {}, {}
        fields: dict[str, FileField] = {}
        for column in columns:
            if column.name in constants:
                continue
            own, wanted, change = column.name, plain(column.type), None
            if column.field_id is not None:
                own = ids.get(str(column.field_id).encode(), "")
            if own not in schema.names or pa.types.is_null(schema.field(own).type):
                constants[column.name] = pa.nulls(1, wanted)
                fields |= fields_of(None, wanted, column.name, "")
                continue
            stored, is_nested = schema.field(own).type, pa.types.is_nested(wanted)
            try:
                # Others, as text, stay as the file has them.
                if is_nested or may_be_widened(wanted):
                    what = f"{file.stored.path}: column {column.name!r}"
                    change = change_of(stored, wanted, what)
            except InputError as error:
                if not is_nested:
                    raise
                unread[column.name] = str(error)
                continue
            names[column.name] = own
            fields |= fields_of(stored, wanted, column.name, own)
            if change is not None:
                changes[column.name] = change
        return cls(row_of(constants), None, names, changes, fields, unread)

    @property
    def fixed(self) -> Mapping[str, pa.Array]:
        """The columns that are not read, by name, with their one value."""
        return {} if self.constants is None else _columns(self.constants)

    def schema(self, stored: pa.Schema) -> pa.Schema:
        """Return the columns of the pool that a file with a schema has."""
        fields = [(name, column.type) for name, column in self.fixed.items()]
        if self.names is None:
            return pa.schema([*((field.name, field.type) for field in stored), *fields])
        read = [(name, stored.field(own).type) for name, own in self.names.items()]
        typed = [
            (name, self.changes[name].wanted if name in self.changes else SHORTER.get(kind, kind))
            for name, kind in read
        ]
        return pa.schema([*typed, *fields])

    def stored(self, columns: Sequence[str] | None) -> list[str] | None:
        """Return what is read of a file for some columns of the pool, or for all: None for all."""
        if columns is None:
            return None if self.names is None else list(self.names.values())
        names = {name: field.own for name, field in self.fields.items()} | dict(self.names or {})
        sought = [names.get(name, name) for name in columns if name not in self.fixed]
        return [own for own in sought if own is not None]

    def applied(self, rows: pa.RecordBatch, columns: Sequence[str] | None) -> pa.RecordBatch:
        """Return rows of the pool, of some columns or all, from what was read of a file."""
        own = {field.own: name for name, field in self.fields.items()}
        own |= {stored: name for name, stored in (self.names or {}).items()}
        made = {}
        for field, column in zip(rows.schema, rows.columns, strict=True):
            name = own.get(field.name, field.name)
            change = self.changes.get(name)
            if name in self.fields and name not in (self.names or {}):
                change = self.fields[name].change
            made[name] = column if change is None else change.of(column)
        for name in columns or ():
            if name not in made and name in self.fields:  # The file lacks it.
                made[name] = pa.nulls(len(rows), self.fields[name].type)
        for name, value in self.fixed.items():
            if columns is None or name in columns:
                made[name] = pa.repeat(value[0], len(rows))
        return pa.RecordBatch.from_pydict(made) if made else rows

    def expressions(self, stored: pa.Schema) -> dict[str, tuple[pc.Expression, pa.DataType]]:
        """Return columns of the pool as Arrow finds them in a file, with their types, by name.

        Those whose type changes are left out.
        """
        names = {name: name for name in stored.names} if self.names is None else self.names
        read = {
            name: (pc.field(own), stored.field(own).type)
            for name, own in names.items()
            if own in stored.names and name not in self.changes
        }
        return read | constant_expressions(self.constants)


def constant_expressions(
    constants: pa.RecordBatch | None,
) -> dict[str, tuple[pc.Expression, pa.DataType]]:
    """Return columns that have one value each, as expressions with their types, by name."""
    columns = {} if constants is None else _columns(constants)
    return {name: (pc.scalar(column[0]), column.type) for name, column in columns.items()}


def may_hold(where: Condition, constants: pa.RecordBatch | None) -> bool:
    """Tell whether rows may satisfy a condition, by the columns that have one value in all."""
    if constants is None:
        return True
    wanted = outline(where, constant_expressions(constants))
    return bool(len(pa.table({"row": [0]}).filter(wanted)))


def _columns(row: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(row.schema.names, row.columns, strict=True))


def row_of(columns: Mapping[str, pa.Array]) -> pa.RecordBatch | None:
    """Return one row of columns that have one value each; None if there are none."""
    return pa.RecordBatch.from_pydict(dict(columns)) if columns else None
