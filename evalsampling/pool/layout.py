"""How the rows of a file become rows of the table that the file belongs to."""

import dataclasses
from collections.abc import Mapping

import pyarrow as pa

from evalsampling.pool.files import StoredFile


@dataclasses.dataclass(frozen=True)
class Layout:
    """What a table says of the columns of one of its files.

    Attributes:
        constants: one row: columns that have one value in the whole file, and are not read from it;
            None if there are none. A column that the file lacks is one, of nulls.
        names: what the file calls columns that the table calls otherwise, by the table's names.
        types: of columns whose values the table has with another type than the file.
    """

    constants: pa.RecordBatch | None = None
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    types: Mapping[str, pa.DataType] = dataclasses.field(default_factory=dict)


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
class PlannedFile:
    """A file to read, and what is known of it before it is opened.

    Attributes:
        stored: path, size and version.
        constants: see `Layout.constants`, as far as they are known.
        columns: of the table, which the file may lack, call otherwise or have with a narrower type;
            None if the file has the columns as they are.
        looked_at: columns whose least and greatest values in parts of the file are wanted.
    """

    stored: StoredFile
    constants: pa.RecordBatch | None = None
    columns: tuple[TableColumn, ...] | None = None
    looked_at: tuple[str, ...] = ()
