"""Rows of a pool as they were read: columns of an Arrow batch, checked as they are asked for."""

import contextlib
import dataclasses
import functools
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError
from evalsampling.pool.arrow import (
    column_of,
    first_unreadable,
    is_bytes,
    is_number,
    is_text,
    nested_fields,
    path_field,
    plain,
    there_are,
    value_in,
    without_views,
)
from evalsampling.pool.files import error_of_reading
from evalsampling.pool.numbers import NO_THRESHOLDS, finite, placed
from evalsampling.pool.rendering import rendered
from evalsampling.pool.row_ids import joined
from evalsampling.pool.splits import WorkItem
from evalsampling.spec.id_columns import IdColumns
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.score_kinds import BEYOND
from evalsampling.storage.filesystems import one_line


@dataclasses.dataclass(frozen=True)
class PoolBatch:
    """A batch of rows of a pool, with the file and row they came from."""

    rows: pa.RecordBatch  # the columns
    path: str = ""  # of the file, for messages; empty for rows in memory
    first_row: int = 0  # of the batch within the file, from 0
    item: WorkItem | None = None  # what the rows were read from, None for rows in memory
    # numbers of the rows in the file, ascending, shape (n,), where some between them were left out;
    # None if they follow ``first_row`` without a gap
    kept: IntArray | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """Size in memory, bytes."""
        return self.rows.nbytes

    def error(self, column: str, row: int, problem: str) -> InputError:
        """Return the error of one value, ``row`` being its place in this batch."""
        return self._error(f"column {column!r}, row {self.row_number(row)}: {problem}")

    def row_number(self, row: int) -> int:
        """Return the number in the file of a row of this batch."""
        return self.first_row + row if self.kept is None else int(self.kept[row])

    def row_numbers(self, rows: IntArray) -> IntArray:
        """Return the numbers in the file of rows of this batch."""
        return self.first_row + rows if self.kept is None else self.kept[rows]

    def rows_numbered(self, numbers: IntArray) -> IntArray:
        """Return the places in this batch of rows that are given by their numbers in the file."""
        return numbers - self.first_row if self.kept is None else self.kept.searchsorted(numbers)

    def take(self, places: IntArray) -> "PoolBatch":
        """Return some rows of this batch, ascending, with their numbers in the file."""
        rows = self.rows.take(pa.array(places))
        return dataclasses.replace(self, rows=rows, kept=self.row_numbers(places))

    def with_column(self, name: str, values: pa.Array) -> "PoolBatch":
        """Return these rows with other values of a column, or in place of a field of one."""
        rows, place = self.rows, self.rows.schema.get_field_index(name)
        if place >= 0:
            rows = rows.remove_column(place)
        return dataclasses.replace(self, rows=rows.append_column(name, values))

    def refuse(self, column: str, wrong: BoolArray, problem: Callable[[int], str]) -> None:
        """Raise the error of the first wrong value of a column, if one is."""
        if wrong.any():
            row = int(np.argmax(wrong))
            raise self.error(column, row, problem(row))

    def _error(self, problem: str) -> InputError:
        """Return the error of a problem, or that the file has changed meanwhile if it has."""
        error = InputError(f"{self.path}: {problem}" if self.path else problem)
        return error_of_reading(self.item.stored if self.item else None, error)

    def has(self, name: str) -> bool:
        """Tell whether there is a column of a name, or a field of one."""
        return column_of(self.rows, name) is not None

    def any_column(self, name: str) -> pa.Array:
        """Return a column as plain values, nulls included; bytes that are all text are text."""
        column = plain(self._stored(name))
        if is_bytes(column.type):
            with contextlib.suppress(pa.ArrowInvalid):  # Others are no text.
                column = column.cast(pa.large_string())
        return self._made(name, column, _checked, lambda *_: "text that is not UTF-8")

    def _made(
        self,
        name: str,
        column: pa.Array,
        make: Callable[[pa.Array], pa.Array],
        problem: Callable[[pa.Scalar, Exception], str],
        rows: IntArray | None = None,
    ) -> pa.Array:
        """Return a column as Arrow converts it; an error names the first row that it cannot."""
        try:
            return make(column)
        except pa.ArrowInvalid as error:
            first = first_unreadable(lambda end: make(column.slice(0, end)), len(column))
            row = first if rows is None else int(rows[first])
            raise self.error(name, row, problem(column[first], error)) from error

    def _stored(self, name: str) -> pa.Array:
        column = column_of(self.rows, name)
        if column is None:
            schema = self.rows.schema
            if name in schema.names:
                raise self._error(f"column {name!r} is there twice")
            names = there_are(name, schema.names, nested_fields(schema).names)
            raise self._error(f"column {name!r} is missing; {names}")
        return without_views(column)

    def payload(self, name: str, rows: IntArray) -> pa.Array:
        """Return some values as annotators are shown them, nulls too: see `rendering.rendered`."""
        values = plain(self._stored(name).take(pa.array(rows)))
        common = self._type_in_pool(name, values.type)
        if is_number(values.type) and is_number(common):
            values = values.cast(common)
        self._made(name, values, _checked, lambda *_: "text that is not UTF-8", rows)
        return self._made(
            name, values, rendered, lambda _, error: f"cannot be shown: {one_line(error)}", rows
        )

    def _type_in_pool(self, name: str, own: pa.DataType) -> pa.DataType:
        """Return the type of a column in all files of the pool, its own outside of one."""
        schema = pa.schema([]) if self.item is None else self.item.schema
        return schema.field(name).type if name in schema.names else own

    def column(self, name: str) -> pa.Array:
        """Return a column as plain values, checked to have no null."""
        column = self.any_column(name)
        if column.null_count:
            row = pc.index(column.is_null(), True).as_py()
            raise self.error(name, row, f"null{self._left_out(f'{name} IS NOT NULL')}")
        return column

    def _left_out(self, condition: str) -> str:
        """Return how to leave out rows like a wrong one, as the end of a message."""
        if self.item is None:
            return "; leave such rows out"
        return f"; such rows are left out by pool.where: {condition}"

    def numbers(self, name: str) -> npt.NDArray[np.floating]:
        """Return a numeric column, shape (n,): float32 as it is, all else as float64."""
        values = self._numbers(name, NO_THRESHOLDS)
        wrong = ~np.isfinite(values)
        self.refuse(name, wrong, lambda row: f"must be a finite number, got {values[row]}")
        return values

    def scores(self, name: str, thresholds: FloatArray = NO_THRESHOLDS) -> npt.NDArray[np.floating]:
        """Return scores, shape (n,), as `numbers.placed` has them; infinite ones are `BEYOND`."""
        values = self._numbers(name, thresholds)
        problem = f"must be a number, got nan{self._left_out(f'{name} > -{BEYOND:g}')}"
        self.refuse(name, np.isnan(values), lambda _: problem)
        return finite(values)

    def _numbers(self, name: str, thresholds: FloatArray) -> npt.NDArray[np.floating]:
        """Return a numeric column, which may have NaNs and infinite numbers."""
        column = self.column(name)
        if is_text(column.type):
            column = self.parsed(name, column, pa.float64(), "a number")
        if pa.types.is_integer(column.type):
            column = self.as_floats(name, column)
        if not (pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
            way_out = "; truth values are predictions" * pa.types.is_boolean(column.type)
            raise self.error(name, 0, f"must be a number, got type {column.type}{way_out}")
        return placed(column, thresholds)

    def as_floats(self, name: str, whole: pa.Array) -> pa.Array:
        """Return whole numbers, or floats, as float64, each exactly."""
        exact = 1 << np.finfo(np.float64).nmant + 1
        problem = f"a whole number beyond {exact:,} has no float64 of its own, got "
        as_float = functools.partial(pc.cast, target_type=pa.float64())
        return self._made(name, whole, as_float, lambda value, _: f"{problem}{value.as_py()}")

    def parsed(self, name: str, text: pa.Array, kind: pa.DataType, what: str) -> pa.Array:
        """Return the numbers, dates or truth values that texts spell."""
        parse = functools.partial(pc.cast, target_type=kind)

        def problem(value: pa.Scalar, _: Exception) -> str:
            shown = f"must be {what}, got {reprlib.repr(value.as_py())}"
            is_written = re.fullmatch(r"\s*[-+]?\d[\d\s.,']*%?\s*", value.as_py())
            return shown + "; write 0.93 for 0,93 or 93 %, 1234 for 1,234" * bool(is_written)

        return self._made(name, text, parse, problem)

    def ids(self, name: IdColumns) -> pa.Array:
        """Return the ids, checked to be integers or strings without nulls."""
        if not isinstance(name, str):
            return joined([self.ids(column) for column in name])
        column = self.column(name)
        kind = column.type
        if is_text(kind):
            return column
        problem = "ids must be integers or strings, got {}; write them as text".format
        if not is_number(kind):
            raise self.error(name, 0, problem(f"type {kind}"))
        unsigned = self._type_in_pool(name, kind) == pa.uint64()
        whole = functools.partial(pc.cast, target_type=pa.uint64() if unsigned else pa.int64())
        return self._made(name, column, whole, lambda value, _: problem(value.as_py()))

    def id_texts(self, names: Sequence[str]) -> pa.Array:
        """Return ids of several columns as if all were text, as a file without types has."""
        return joined([self.ids(name).cast(pa.large_string()) for name in names])


def whole_number_texts(column: pa.Array) -> pa.Array:
    """Return texts as columns with types count: ``1`` for ``1.0``, ``True`` and ``true``."""
    texts = pc.replace_substring_regex(column, pattern=r"^(-?[0-9]+)\.0+$", replacement=r"\1")
    lower = pc.utf8_lower(texts)
    held = pc.if_else(pc.equal(lower, "true"), "1", texts)
    return pc.if_else(pc.equal(lower, "false"), "0", held)


def _checked(column: pa.Array) -> pa.Array:
    """Return a column, if it is text checked to be UTF-8: Parquet does not make sure."""
    if is_text(column.type):
        column.validate(full=True)
    return column


BATCHES = (PoolBatch, pa.RecordBatch, pa.Table)
"""Types of rows that are batches already."""


def mapping_of(row: Any) -> Mapping[str, Any]:
    """Return a row as a mapping from names of columns to values."""
    if isinstance(row, Mapping):
        return row
    if dataclasses.is_dataclass(row) and not isinstance(row, type):
        return dataclasses.asdict(row)
    named = getattr(row, "as_dict", None) or getattr(row, "_asdict", None)
    if named is None:
        raise InputError(f"a row is a mapping or a named tuple, got {type(row).__name__}")
    return dict(named())


def batches_of(rows: Sequence[Any], columns: Sequence[str], source: str) -> Iterator[PoolBatch]:
    """Yield batches of the given rows, in order."""
    single: list[Mapping[str, Any]] = []
    for row in rows:
        if isinstance(row, BATCHES):
            yield from _whole(row, source)
        else:
            single.append(mapping_of(row))
    if single:
        yield PoolBatch(_record_batch(single, columns, source), source)


def halves(rows: Sequence[Any]) -> list[Sequence[Any]]:
    """Return rows, given one by one or in batches, in two parts; none if there is only one row."""
    if len(rows) > 1:
        return [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    row, middle = rows[0], len(rows[0]) // 2 if isinstance(rows[0], BATCHES) else 0
    if not middle:
        return []
    if isinstance(row, PoolBatch):
        row = row.rows
    return [[row.slice(0, middle)], [row.slice(middle)]]


def _whole(batch: Any, source: str) -> Iterator[PoolBatch]:
    whole = isinstance(batch, PoolBatch | pa.RecordBatch)
    for part in [batch] if whole else batch.combine_chunks().to_batches():
        yield part if isinstance(part, PoolBatch) else PoolBatch(part, source)


def _record_batch(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], source: str
) -> pa.RecordBatch:
    arrays, of = {}, f"{source}: " if source else ""
    for name in columns:
        field, head = path_field(name.split("."), pa.null()), name.partition(".")[0]
        for place, row in enumerate(rows):
            if name not in row and head not in row:
                names = there_are(name, [*map(str, row)] or ["none"], ())
                raise InputError(f"{of}column {name!r} is missing in row {place}; {names}")
        arrays[name] = _column([value_in(row, field) for row in rows], f"{of}column {name!r}")
    return pa.record_batch(arrays)


def _column(values: Sequence[Any], name: str) -> pa.Array:
    errors = pa.ArrowException, OverflowError
    try:
        return pa.array(values)
    except errors as error:
        row = first_unreadable(lambda end: pa.array(values[:end]), len(values), errors)
        raise InputError(f"{name}, row {row}: {one_line(error)}") from error
