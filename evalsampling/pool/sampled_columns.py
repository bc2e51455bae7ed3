"""Columns of a pool with the first of their values, and the files that they are read from."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError
from evalsampling.label_spaces.spellings import plain
from evalsampling.pool.arrow import is_number, is_text
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import Catalog, PoolFile
from evalsampling.pool.columns import has_label, whole_numbers
from evalsampling.pool.files import find_files
from evalsampling.pool.formats.parquet import Parquet
from evalsampling.pool.formats.registry import format_of, read_batches
from evalsampling.pool.numbers import float64_of
from evalsampling.pool.source import partitioned

MOST_ROWS, MOST_FIELDS = 10_000, 100
"""Rows that are looked at, and fields of columns that are objects."""

_MOST_CLASSES, _ROWS_OF_EACH = 20, 20
"""Classes that there may be in any case; and rows of each, on average, where there are more."""

SCORES = (
    "score", "logit", "probability", "prob", "proba", "confidence", "similarity", "risk"
)  # fmt: skip
"""Words in names of scores."""

NUMBER_TEXT = "number as text"
"""Kind of columns of numbers that no program reads as such: ``0,93`` or ``93 %``."""

_KINDS = (
    (pa.types.is_boolean, "truth"), (pa.types.is_integer, "whole"),
    (pa.types.is_floating, "number"), (is_text, "text"),
)  # fmt: skip

_FRACTION = re.compile(r"-?\d+\.\d{3,}(e-?\d+)?")

_NUMBER_TEXT = r"^\s*[-+]?\d+([.,]\d+)?\s*%?\s*$"

_NESTED_TEXT = r"""^\s*(\[\s*(["'\[{\d-].*)?\]|\{\s*(["'].*)?\})\s*$"""
"""Of lists and objects, as JSON or as Python writes them."""


@dataclasses.dataclass(frozen=True)
class SampledColumn:
    """A column with the first of its values."""

    name: str  # of the column
    kind: str  # ``number``, ``whole``, ``text``, ``truth``, `NUMBER_TEXT` or ``other``
    distinct: int  # values that differ, of those looked at
    rows: int  # how many were looked at
    nulls: int  # of them
    examples: tuple[str, ...]  # a few values as text
    low: float | None = None  # least value of numbers, else None
    high: float | None = None  # greatest
    # rows of each value that differs, as text, if they are few
    rows_of: Mapping[str, int] = dataclasses.field(default_factory=dict)
    of_labels: bool = False  # whether it tells of the labels that rows have, and not of rows
    first: Any = None  # the values that were looked at, as Arrow; None of another type

    @classmethod
    def of(cls, batch: PoolBatch, name: str, label: str | None = None) -> "SampledColumn":
        """Return a column of a batch; text of files without types as the type that fits it.

        With a column of labels the others tell of these where only rows with a label have a value,
        as the name of an annotator, or where they say which rows have one.
        """
        column = batch.any_column(name)
        if is_text(column.type):
            column = typed(column)
        if is_number(column.type) and not {*SCORES} & {*name.lower().split("_")}:
            column = whole_numbers(column)  # Floats, of a column that had nulls once.
        if pa.types.is_decimal(column.type) or pa.types.is_float16(column.type):
            column = float64_of(column)
        kind = next((kind for belongs, kind in _KINDS if belongs(column.type)), "other")
        values = column.drop_null()
        if kind == "text" and len(values):
            number, other = (pc.match_substring_regex(values, p) for p in (_NUMBER_TEXT, "[,%]"))
            kind = NUMBER_TEXT if pc.all(number).as_py() and pc.any(other).as_py() else kind
            nested = pc.match_substring_regex(values, f"(?s){_NESTED_TEXT}")
            kind = "other" if pc.all(nested).as_py() else kind
        if kind == "other":
            return cls(name, kind, 0, len(column), column.null_count, ())
        counts = {one["values"]: one["counts"] for one in pc.value_counts(values).to_pylist()}
        most = max(_MOST_CLASSES, len(values) // _ROWS_OF_EACH)
        ends: tuple[float | None, float | None] = (None, None)
        if kind in ("number", "whole") and len(values):
            low, high = (end.as_py() for end in pc.min_max(values).values())
            ends = float(low), float(high)
        return cls(
            name, kind, len(counts), len(column), column.null_count,
            tuple(str(value)[:40] for value in [*counts][:3]), *ends,
            {str(v): counts[v] for v in counts} if len(counts) <= most else {},
            label is not None and _is_of_labels(column, batch.any_column(label)), column,
        )  # fmt: skip

    @property
    def values(self) -> tuple[str, ...]:
        """All values that differ, as text, if they are few."""
        return tuple(sorted(self.rows_of))

    @property
    def classes(self) -> dict[str, int]:
        """The rows of each class of a text: of one in several cases or with blanks, all of them."""
        names: dict[str, str] = {}
        rows: dict[str, int] = {}
        for value, count in sorted(self.rows_of.items(), key=lambda one: -one[1]):
            name = names.setdefault(plain(value), value.strip())
            rows[name] = rows.get(name, 0) + count
        return rows

    @property
    def is_unique(self) -> bool:
        """Whether no two rows have the same value."""
        return self.distinct == self.rows > 0

    @property
    def nearly_unique(self) -> bool:
        """Whether nine rows of ten have a value of their own."""
        return 0 < 0.9 * self.rows <= self.distinct

    @property
    def nearly_full(self) -> bool:
        """Whether nine rows of ten have a value."""
        return self.nulls <= 0.1 * self.rows

    @property
    def is_measured(self) -> bool:
        """Whether it has numbers that are no classes: fractions, or too many that differ."""
        return self.low is not None and (self.kind == "number" or not self.rows_of)

    @property
    def is_share(self) -> bool:
        """Whether all values lie between 0 and 1."""
        return self.low is not None and self.high is not None and 0 <= self.low <= self.high <= 1


def look_at(pattern: str, label: str | None = None) -> tuple[int, list[SampledColumn]]:
    """Return how many files a pool has, and columns of the first; ``label`` has labels, if any."""
    files = partitioned(find_files(pattern), None)
    head = PoolFile.head(files[0])
    batch, names = _first_batch(head), _schema_of(head).names
    if batch is None:
        raise InputError(f"{pattern}: there are no rows")
    number = next((name for name in names if _FRACTION.fullmatch(name)), None)
    if number is not None:
        problem = f"there is the number {number} where the name of a column belongs"
        raise InputError(f"{files[0].stored.path}: {problem}: put a line of names first")
    rows = dataclasses.replace(batch, rows=batch.rows.slice(0, MOST_ROWS))
    # Columns that the paths of files have, with a row for each file.
    named = dict.fromkeys(name for file in files for name in file.constants)
    values = {name: pa.array([file.constants.get(name) for file in files]) for name in named}
    in_paths = PoolBatch(pa.record_batch(values))
    label = label if label in {*names} - {*named} else None
    return len(files), [
        SampledColumn.of(in_paths, name) if name in named else SampledColumn.of(rows, name, label)
        for name in names
    ]


def rows_of(head: PoolFile) -> Iterator[PoolBatch]:
    """Yield the rows of a file; of objects that are text as JSON also their fields."""
    file, kind, schema = head.stored, format_of(head.stored.path), _schema_of(head)
    if isinstance(kind, Parquet):
        for item in Catalog((head,), schema).items:
            yield from read_batches(item, None)
        return
    first_row = 0
    for rows in kind.read(file, head.read(schema)):
        yield PoolBatch(head.layout.applied(rows, None), file.path, first_row)
        first_row += len(rows)


def _schema_of(head: PoolFile) -> pa.Schema:
    """Return the columns of a file, and the first of the fields of those that are objects."""
    columns = head.contents.schema
    inner = [each for each in head.contents.fields if each.name not in columns.names]
    return pa.schema([*columns, *inner[:MOST_FIELDS]])


def _first_batch(head: PoolFile) -> PoolBatch | None:
    """Return the first rows of a file, None if it has none."""
    read: list[pa.RecordBatch] = []
    for batch in rows_of(head):
        if isinstance(format_of(batch.path), Parquet):
            return batch
        read.append(batch.rows)
        if sum(map(len, read)) >= MOST_ROWS:
            break
    return PoolBatch(pa.concat_batches(read), head.stored.path) if read else None


def typed(text: pa.Array) -> pa.Array:
    """Return texts as whole numbers or numbers, if all can be read so, and most are finite."""
    filled = pc.if_else(pc.equal(text, ""), None, text)
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = filled.cast(kind)
        except pa.ArrowInvalid:
            continue
        if kind == pa.int64() or np.isfinite(numbers.drop_null().to_numpy()).mean() > 0.5:
            return numbers
    return filled


def _is_of_labels(column: pa.Array, labels: pa.Array) -> bool:
    """Return whether a column tells of the labels of rows: see `SampledColumn.of`."""
    labelled = has_label(labels)
    if labelled.all() or not has_label(column)[~labelled].any():
        return not labelled.all()
    with_one, without = (column.filter(pa.array(rows)).unique() for rows in (labelled, ~labelled))
    return len(with_one) == len(without) == 1 and with_one != without
