"""How the rows of a file become rows of the table that the file belongs to."""

import dataclasses
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError
from evalsampling.pool.arrow import are_alike, beginnings, is_text, plain, plain_type
from evalsampling.pool.conditions import outline
from evalsampling.pool.files import StoredFile
from evalsampling.pool.splits import Format
from evalsampling.spec.where import Condition


@dataclasses.dataclass(frozen=True)
class Import:
    """The columns of a file that are imported into Parquet, and the folder of the copy."""

    directory: str  # or URL, of the Parquet file
    # columns and their types; those that the path of the file has are not imported
    schema: pa.Schema
    warning: str | None = None  # of the file, None if there is none


Constants = Mapping[str, pa.Scalar]
"""Columns that have one value in the whole file, by name."""


@dataclasses.dataclass(frozen=True)
class PlannedFile:
    """A file to read, and what is known of it before it is opened."""

    stored: StoredFile  # path, size and version
    # columns that need not be read from the file
    constants: Constants = dataclasses.field(default_factory=dict)
    # of the table, which the file may lack or have with a narrower type; None if the file has the
    # columns as they are
    columns: pa.Schema | None = None
    where: Condition | None = None  # the rows that are wanted; None for all
    called: str | None = None  # what messages call it; None for its path
    kind: Format | None = None  # what reads it; None if the end of its name says so
    to_import: Import | None = None  # what is imported of it; None if it is Parquet


@dataclasses.dataclass(frozen=True)
class Layout:
    """The columns to read of a file, and how they become columns of its table."""

    # columns that are not read; nulls where a file lacks a column of its table
    fixed: Constants = dataclasses.field(default_factory=dict)
    # columns that are read, and must have this value in every row
    expected: Constants = dataclasses.field(default_factory=dict)
    # of the table that are read, with its types; None if all are, as the file has them
    columns: pa.Schema | None = None

    @classmethod
    def of(cls, file: PlannedFile, schema: pa.Schema) -> "Layout":
        """Return the layout of a file with a schema."""
        constants = dict(file.constants)
        if file.columns is not None:
            columns = [field.with_type(plain_type(field.type)) for field in file.columns]
            columns = [field for field in columns if field.name not in constants]
            filled = [field.name for field in schema if not pa.types.is_null(field.type)]
            read = pa.schema([field for field in columns if field.name in filled])
            lacked = {f.name: pa.scalar(None, f.type) for f in columns if f.name not in read.names}
            for field in read:
                _check_made(file.stored.path, schema.field(field.name).type, field)
            return cls(constants | lacked, {}, read)
        both = {name: constants.pop(name) for name in [*constants] if name in schema.names}
        return cls(constants, both)

    def schema(self, stored: pa.Schema) -> pa.Schema:
        """Return the columns of the pool that a file with a schema has."""
        fixed = [(name, value.type) for name, value in self.fixed.items()]
        return pa.schema([*(stored if self.columns is None else self.columns), *fixed])

    def stored(self, columns: Sequence[str] | None) -> list[str] | None:
        """Return the columns to read of a file for some of the pool, whole ones; None for all."""
        if columns is None:
            return None if self.columns is None else list(self.columns.names)
        named = [self._column_with(name) for name in columns]
        return list(dict.fromkeys(name for name in named if name not in self.fixed))

    def _column_with(self, name: str) -> str:
        """Return the column of a table that a name is of, or of a field of which it is."""
        known = [*self.fixed, *(() if self.columns is None else self.columns.names)]
        return next((head for head in [name, *beginnings(name)] if head in known), name)

    def applied(self, rows: pa.RecordBatch, columns: Sequence[str] | None) -> pa.RecordBatch:
        """Return rows of the pool, of the wanted columns or all, from rows read of a file."""
        for place, field in enumerate(rows.schema):
            if self.columns is not None and field.name in self.columns.names:
                wanted = self.columns.field(field.name).type
                if not _is_kept(field.type, wanted):
                    made = plain(rows.column(place)).cast(wanted)
                    rows = rows.set_column(place, field.name, made)
        named = None if columns is None else {self._column_with(name) for name in columns}
        for name, value in self.fixed.items():
            if named is None or name in named:
                rows = rows.append_column(name, pa.repeat(value, len(rows)))
        return rows

    def expressions(self, stored: pa.Schema) -> dict[str, tuple[pc.Expression, pa.DataType]]:
        """Return columns of the pool whose type stays as Arrow finds them in a file, by name."""
        wanted = stored if self.columns is None else self.columns
        read = {
            field.name: (pc.field(field.name), field.type)
            for field in stored
            if field.name in wanted.names and _is_kept(field.type, wanted.field(field.name).type)
        }
        return read | _as_expressions(self.fixed)


def _is_kept(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Tell whether values need no cast from the type of the file to that of the table."""
    own = plain_type(stored)
    return bool(own == wanted) or (not pa.types.is_nested(own) and is_text(own) and is_text(wanted))


def _check_made(path: str, stored: pa.DataType, wanted: pa.Field) -> None:
    """Check that values of a file mean the same with the type of the table, as Arrow makes it."""
    own, both = plain_type(stored), (plain_type(stored), wanted.type)
    alike = are_alike(*both) or all(map(pa.types.is_temporal, both))
    try:
        pa.array([], own).cast(wanted.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        alike = False
    if not (alike or all(map(pa.types.is_nested, both))):
        raise InputError(
            f"{path}: column {wanted.name!r} has type {stored}, but {wanted.type} in the table"
        )


def _as_expressions(constants: Constants) -> dict[str, tuple[pc.Expression, pa.DataType]]:
    return {name: (pc.scalar(value), value.type) for name, value in constants.items()}


def may_hold(where: Condition | None, constants: Constants) -> bool:
    """Tell whether a file with some constant columns may have rows that satisfy a condition."""
    if where is None or not constants:
        return True
    wanted = outline(where, _as_expressions(constants))
    return bool(len(pa.table({"row": [0]}).filter(wanted)))
