"""Splits of a pool's files, the parts that workers read; and formats, which become them."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from evalsampling.pool.files import StoredFile

PLACE = "evalsampling.row"
"""Column of scored rows, where some were left out: numbers of the rows in the pool's file."""


@dataclasses.dataclass(frozen=True)
class Split:
    """Row groups of a file that one worker reads."""

    groups: range  # their numbers
    rows: int  # their rows
    wanted: bool = True  # whether it may have a row that satisfies the condition of the pool


@dataclasses.dataclass(frozen=True)
class Contents:
    """Columns of a file and the splits it is read in."""

    schema: pa.Schema  # all its columns; dictionaries count as their values
    # in their order; none before the file is imported, if it is not Parquet
    splits: tuple[Split, ...] = ()
    warning: str | None = None  # what is wrong with the way it was written, if anything is
    # fields of columns that are structs, or objects, see `arrow`
    fields: pa.Schema = dataclasses.field(default_factory=lambda: pa.schema([]))

    def with_field(self, name: str) -> pa.Schema:
        """Return the columns, and the field of a column that the name means, if it means one."""
        if name in self.schema.names or name not in self.fields.names:
            return self.schema
        return self.schema.append(self.fields.field(name))


class Format(Protocol):
    """A format of files that are imported once into Parquet."""

    untyped: bool = False  # whether there is text alone
    inferred: bool = False  # whether the types of columns are known from the first rows only

    def inspect(self, file: StoredFile) -> Contents:
        """Return the columns of a file, or raise an `InputError`."""

    def read(self, file: StoredFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield all rows of a file, as a schema has them, in batches of bounded size."""


class RowSelection(Protocol):
    """Which rows of a pool there are: a `pool.conditions.Filter`."""

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        """Types of the columns that decide, by name."""

    def kept(self, batch: Any) -> Any:
        """Return the rows of a `pool.batch.PoolBatch` that there are."""


class ColumnLayout(Protocol):
    """How columns of a file become columns of the pool: a `pool.layout.Layout`."""

    @property
    def expected(self) -> Mapping[str, pa.Scalar]:
        """Columns that must have this value in every row."""

    def stored(self, columns: Sequence[str] | None) -> list[str] | None:
        """Return the columns to read of a file for some columns of the pool; None for all."""

    def applied(self, rows: pa.RecordBatch, columns: Sequence[str] | None) -> pa.RecordBatch:
        """Return rows of the pool, of the wanted columns or all, from rows read of a file."""


@dataclasses.dataclass(frozen=True)
class WorkItem:
    """One split of a pool's file, with all that a worker needs to read it."""

    path: str  # of the Parquet file to read
    groups: range | None  # numbers of the row groups; None for all that the file has
    rows: int  # its rows
    schema: pa.Schema  # columns and their types, of the whole pool
    untyped: bool  # whether the pool's file has text alone, so that numbers are read from text
    file: int  # number of the file in the pool
    # path of the pool's file the rows come from; `path` unless they were imported or scored
    origin: str
    first_row: int  # of the split within the pool's file, from 0
    layout: ColumnLayout  # what becomes of the columns of the file
    # the pool's file as it was when it was found, None if nobody looked
    stored: StoredFile | None = None
    where: RowSelection | None = None  # which of its rows there are; None for all
    # whether `PLACE` in the file has the numbers of its rows in the pool's file
    has_places: bool = False
