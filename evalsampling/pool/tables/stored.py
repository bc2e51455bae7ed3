"""Tables that have no files to read: `prepare` stores their rows below the workspace once.

Their rows cannot be read again by place, or not for long.
"""

import abc
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import required_columns
from evalsampling.pool.files import find_files
from evalsampling.pool.layout import PlannedFile
from evalsampling.pool.stored_rows import as_row_groups, store_batches, stored_pattern
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.pool import PoolSpec
from evalsampling.spec.sections import Section
from evalsampling.spec.tables import TableSpec
from evalsampling.spec.where import Condition, columns_of
from evalsampling.storage import open_store

_DIGITS = 5
"""Of the number of a part in the name of its file."""

FILES = "files"
"""Key of a pinned version: directory or URL of the files that hold its rows."""


@dataclasses.dataclass(frozen=True)
class TablePart:
    """A part of a table, which one worker reads.

    Attributes:
        number: of the part, from 0.
        content: by what its kind reads it.
    """

    number: int
    content: Any


class StoredTable:
    """A kind of tables whose rows are stored: a `pool.tables.base.TableKind`.

    Attributes:
        part: what messages call a part of such a table.
    """

    keys: Sequence[str] = ()
    is_path = False
    part: str

    def check(self, section: Section) -> None:
        """Check the values of the further keys; there are none."""

    def pin(self, _: TableSpec) -> dict[str, Any]:
        """Return the version to read."""
        return {}

    def plan(self, table: TableSpec, _: Condition | None) -> list[PlannedFile]:
        """Return the files that the rows were stored in.

        Raises:
            InputError: if nobody has stored them.
        """
        if FILES not in table.pinned:
            raise InputError(
                f"pool.table.{table.kind}: only `prepare` reads such a table; for other commands "
                "export its rows to Parquet files and name these by pool.path"
            )
        directory = table.pinned[FILES]
        if not open_store(directory).names():
            return []
        files = find_files(stored_pattern(directory))
        numbers = [int(file.path.rpartition("/")[2][:_DIGITS]) for file in files]
        return [
            PlannedFile(file, called=f"{self.part} {number} of {table.name}")
            for file, number in zip(files, numbers, strict=True)
        ]


class PartedTable(StoredTable, abc.ABC):
    """A kind of stored tables that workers of any engine read, each a part at a time."""

    @abc.abstractmethod
    def parts(
        self, table: TableSpec, columns: Sequence[str] | None, where: str | None
    ) -> list[TablePart]:
        """Return the parts of a table that workers are to read and store.

        Args:
            table: with the version that `pin` returned.
            columns: that are wanted, None for all.
            where: condition in SQL on the rows that are wanted, None for all.

        Raises:
            InputError: if there is no such table, version or column.
        """

    @abc.abstractmethod
    def read(self, table: TableSpec, part: TablePart) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part: the same ones each time, also in another process.

        Raises:
            InputError: if it cannot be read.
        """


def stored_name(number: int, attempt: str = "") -> str:
    """Return the name of the file with the rows of a part.

    Args:
        number: of the part.
        attempt: in the name, where rows of another attempt may differ.
    """
    return f"{number:0{_DIGITS}d}{attempt and '-'}{attempt}.parquet"


def store_part(part: TablePart, table: TableSpec) -> Iterator[PoolBatch]:
    """Yield the rows of a part, and store them in a file of their own: see `store_batches`."""
    batches = as_row_groups(table.find_kind().read(table, part))
    return store_batches(batches, table.pinned[FILES], stored_name(part.number))


def is_stored(pool: PoolSpec) -> bool:
    """Tell whether a pool is a table whose rows are stored."""
    return pool.table is not None and isinstance(pool.table.find_kind(), StoredTable)


def stored_in(spec: EvaluationSpec, directory: str) -> EvaluationSpec:
    """Return a spec whose pool, if it is such a table, is in files of a directory, or below a URL.

    Args:
        spec: whose table, if it has one, is pinned.
        directory: for the files.
    """
    table = spec.pool.table
    if table is None or not is_stored(spec.pool):
        return spec
    return spec.at_version({**table.pinned, FILES: directory})


def parts_of(spec: EvaluationSpec) -> list[TablePart]:
    """Return the parts of a pinned table that workers are to store; none of other pools.

    Raises:
        InputError: if there is no such table, version or column.
    """
    table = spec.pool.table
    kind = None if table is None else table.find_kind()
    if table is None or not isinstance(kind, PartedTable):
        return []
    return kind.parts(table, columns_to_store(spec), spec.pool.where)


def columns_to_store(spec: EvaluationSpec) -> list[str] | None:
    """Return the columns of a table that a spec names; None for all, which a scorer may want."""
    if spec.pool.scorer is not None:
        return None
    return list(dict.fromkeys([*required_columns(spec), *columns_of(spec.pool.condition)]))
