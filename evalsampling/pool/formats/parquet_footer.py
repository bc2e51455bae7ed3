"""What the footer of a Parquet file says of row groups and of their columns.

Arrow's view of a column may end the process where a footer is damaged, so another one looks.
"""

import dataclasses
import datetime
import functools
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from evalsampling.pool.formats.parquet_process import read_facts
from evalsampling.pool.ranges import Range, around, nulls_among

_EPOCH, _DAY = datetime.date(1970, 1, 1), datetime.timedelta(days=1)

_MAGIC = b"PAR1"
_END_BYTES = 8
"""Of what follows a footer: its length, and the magic word."""

_TAIL_BYTES = 1 << 16
"""Read at once, in the hope that the footer is among them."""


@dataclasses.dataclass(frozen=True)
class Chunk:
    """What a row group has of a column.

    Attributes:
        path: name of the column; of a nested one, with those of the fields behind dots.
        is_text: whether values are bytes of any length.
        has_dictionary: whether some values are stored once only.
        values: how many there are.
        stored: bytes in the file.
        plain: bytes before compression.
    """

    path: str
    is_text: bool
    has_dictionary: bool
    values: int
    stored: int
    plain: int


@dataclasses.dataclass(frozen=True)
class RowGroup:
    """Rows that are stored together.

    Attributes:
        rows: how many there are.
        plain: bytes before compression.
        chunks: of the columns.
        statistics: of the columns that were asked for, by name: least and greatest value and the
            number of nulls, each None where it is not known, as `parquet_decoder` writes them.
    """

    rows: int
    plain: int
    chunks: tuple[Chunk, ...]
    statistics: Mapping[str, tuple[Any, Any, int | None]] = dataclasses.field(default_factory=dict)


def read_footer(source: pa.NativeFile) -> bytes:
    """Return the footer of a file, and its length and the magic word behind it.

    Raises:
        ValueError: if there is none.
        OSError: if the file cannot be read.
    """
    size = source.size()
    tail: bytes = source.read_at(min(size, _TAIL_BYTES), max(0, size - _TAIL_BYTES))
    length = int.from_bytes(tail[-_END_BYTES : -len(_MAGIC)], "little") + _END_BYTES
    if tail[-len(_MAGIC) :] != _MAGIC or not _END_BYTES < length <= size - len(_MAGIC):
        raise ValueError("no Parquet file, or one that is cut short")
    if length > len(tail):
        tail = source.read_at(length, size - length)
    return tail[-length:]


@functools.lru_cache(maxsize=8)
def row_groups(footer: bytes, looked_at: tuple[str, ...] = ()) -> tuple[RowGroup, ...]:
    """Return the row groups of a file by its footer.

    Args:
        footer: of the file.
        looked_at: columns whose statistics are wanted.

    Raises:
        ValueError: if it is damaged.
    """
    return tuple(
        RowGroup(rows, plain, tuple(Chunk(*chunk) for chunk in chunks), statistics)
        for rows, plain, chunks, statistics in read_facts(_MAGIC + footer, looked_at)["groups"]
    )


def ranges_of(group: RowGroup, schema: pa.Schema) -> dict[str, Range]:
    """Return the ranges of the columns of a row group that were asked for and have statistics.

    Statistics that cannot be right are not used: of text they may be cut off, but bound it still.
    """
    return {
        name: _range(schema.field(name).type, *statistics, group.rows)
        for name, statistics in group.statistics.items()
    }


def _range(kind: pa.DataType, low: Any, high: Any, nulls: int | None, rows: int) -> Range:
    if pa.types.is_unsigned_integer(kind) and low is not None and low < 0:
        low = high = None  # Compared as if they had a sign.
    if low is not None and high is not None and low > high:
        low = high = None
    if pa.types.is_date(kind):
        low, high = (None if days is None else _EPOCH + days * _DAY for days in (low, high))
    low, high = around(kind, low, high)
    return Range(low, high, nulls_among(nulls, rows), bool(pa.types.is_floating(kind)))


def arrow_metadata(footer: bytes) -> pa.BufferReader:
    """Return a file with nothing but a footer, for Arrow to read."""
    return pa.BufferReader(_MAGIC + footer)
