"""Columns of tables in memory, as Arrow: of NumPy, pandas, polars, Arrow and what speaks like them.

No library of data frames is imported. A table is known by what it can do: Arrow's PyCapsules, the
dataframe interchange protocol, or named columns with an index, as those of pandas.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.interchange

from evalsampling.errors import InputError
from evalsampling.pool.arrow import beginnings, column_of, nested_fields, plain, there_are
from evalsampling.storage.filesystems import one_line


class Column(Protocol):
    """Values of one column: a NumPy array, a list, an Arrow array, a Series of any library."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def __getitem__(self, key: Any, /) -> Any:
        """Return the values at the given places."""


class Frame(Protocol):
    """A table: a DataFrame of any library, an Arrow table, or a mapping from names to columns."""

    def __getitem__(self, key: Any, /) -> Any:
        """Return one of the columns."""


Ids = npt.NDArray[Any]
"""Ids of rows in an array: whole numbers, or texts as objects."""


def has_index(values: Any) -> bool:
    """Tell whether rows have names, by which they may stand in another order: as in pandas."""
    return hasattr(values, "reindex") and hasattr(values, "index")


def is_table(values: Any) -> bool:
    """Tell whether values are columns under names, not those of a single column."""
    return isinstance(values, Mapping) or hasattr(values, "columns")


def is_column(values: Any) -> bool:
    """Tell whether something holds the values of a column, and is no name of one."""
    return hasattr(values, "__array__") and not isinstance(values, str)


def index_of(values: Any) -> list[Any] | None:
    """Return the names of rows, in order; None where only their place distinguishes rows."""
    return list(values.index.tolist()) if has_index(values) else None


def to_array(values: Any, name: str) -> pa.Array:
    """Return a column as one Arrow array of plain values; what pandas calls missing is null."""
    dimensions = _dimensions(values)
    if dimensions != 1:
        raise InputError(f"{name}: must have one dimension, got {dimensions}")
    try:
        column = _as_arrow(values)
        return plain(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        why, listed = one_line(error), values if isinstance(values, Iterable) else ()
        types = sorted({type(value).__name__ for value in listed if value is not None})
        if len(types) > 1:
            why += f"; it holds {' and '.join(types)}: make all of them text, or all numbers"
        raise InputError(f"{name}: cannot be read as a column: {why}") from error


def _dimensions(values: Any) -> int:
    if has_index(values):
        return int(values.ndim)
    if isinstance(values, pa.Array | pa.ChunkedArray) or hasattr(values, "__arrow_c_stream__"):
        return 2 if hasattr(values, "columns") else 1
    # Of a list the values may be lists, of labels of a row.
    return int(np.ndim(values)) if hasattr(values, "__array__") else 1


def _as_arrow(values: Any) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if hasattr(values, "__arrow_c_stream__") and not has_index(values):
        return pa.chunked_array(values)
    if has_index(values) or isinstance(values, np.ndarray):
        # NaN beside text is no value; that of NumPy's numbers is one.
        return pa.array(values, from_pandas=has_index(values) or values.dtype == object)
    is_known = isinstance(values, Sequence) or any(
        hasattr(values, name) for name in ("__arrow_c_array__", "__arrow_array__")
    )
    return pa.array(values if is_known else list(values))


@dataclasses.dataclass(frozen=True)
class Table:
    """A table in memory; a column is converted when it is asked for."""

    source: Any  # what holds the columns: anything with ``[name]``
    names: tuple[str, ...]  # of the columns, in order
    rows: int | None  # how many there are, None if no column is there to tell
    ordered: bool = True  # whether rows keep their places: those of a query may come in any order

    @classmethod
    def of(cls, frame: Any, name: str = "the table") -> "Table":
        """Return a table of any kind."""
        ordered = not hasattr(frame, "sql_query")
        if isinstance(frame, Mapping):
            names: Iterable[Any] = frame.keys()
            rows = next((len(values) for values in frame.values()), None)
        elif has_index(frame) and hasattr(frame, "columns"):
            names, rows = frame.columns, len(frame)
        else:
            frame = _as_table(frame, name)
            names, rows = frame.schema.names, len(frame)
        named = tuple(names)
        for column in named:
            if named.count(column) > 1:
                raise InputError(f"{name}: column {column!r} is there twice")
        return cls(frame, named, rows, ordered)

    def column(self, name: str) -> Any:
        """Return a column as the table holds it."""
        if name in self.names:
            return self.source[name]
        head, fields = self._column_with(name), list[str]()
        column = None if head is None else to_array(self.source[head], head)
        if column is not None and pa.types.is_struct(column.type):
            table = pa.table({head: column})
            inner = column_of(table, name)
            if inner is not None:
                return inner.combine_chunks()
            fields = nested_fields(table.schema).names
        raise InputError(f"column {name!r} is missing; {there_are(name, self.names, fields)}")

    def has(self, name: str) -> bool:
        """Tell whether a name is a column, or may be a field of a column."""
        return name in self.names or self._column_with(name) is not None

    def _column_with(self, name: str) -> str | None:
        """Return the column that a field of a name may be of; pandas names some by numbers."""
        return next((head for head in beginnings(str(name)) if head in self.names), None)

    @property
    def index(self) -> list[Any] | None:
        """Names of the rows, None if they have none."""
        return index_of(self.source)


def _as_table(frame: Any, name: str) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    try:
        if isinstance(frame, pa.RecordBatch) or hasattr(frame, "__arrow_c_stream__"):
            return pa.table(frame)  # A query runs now, once: it may not give its rows again.
        if hasattr(frame, "__dataframe__"):
            return pa.interchange.from_dataframe(frame)
    except Exception as error:  # Each library has errors of its own.
        raise InputError(f"{name}: cannot be read as a table: {one_line(error)}") from error
    wanted = "must be a DataFrame, an Arrow table or a mapping of columns"
    raise InputError(f"{name}: {wanted}, got {type(frame).__name__}")
