"""Ranges of the values of a row group, by the statistics in the footer of a Parquet file."""

import datetime
import json
import math
from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.pool.ranges import Range, around, nulls_among

_EPOCH, _DAY = datetime.date(1970, 1, 1), datetime.timedelta(days=1)

_NANOSECONDS = {"milliseconds": 10**6, "microseconds": 1000, "nanoseconds": 1}
"""Of units of points of time."""


def ranges_of(
    group: pq.RowGroupMetaData, schema: pa.Schema, names: Collection[str]
) -> dict[str, Range]:
    """Return the ranges of columns of a row group that have statistics.

    Statistics that cannot be right are not used: of text they may be cut off, but bound it still.
    """
    chunks = (group.column(place) for place in range(group.num_columns if names else 0))
    return {
        chunk.path_in_schema: _range(
            schema.field(chunk.path_in_schema).type, chunk.statistics, group.num_rows
        )
        for chunk in chunks
        if chunk.path_in_schema in names and chunk.is_stats_set
    }


def _range(kind: pa.DataType, statistics: pq.Statistics, rows: int) -> Range:
    low, high = _bounds(statistics) if statistics.has_min_max else (None, None)
    if pa.types.is_unsigned_integer(kind) and low is not None and low < 0:
        low = high = None  # Compared as if they had a sign.
    if low is not None and high is not None and low > high:
        low = high = None
    if pa.types.is_date(kind):
        low, high = (None if days is None else _EPOCH + days * _DAY for days in (low, high))
    low, high = around(kind, low, high)
    nulls = statistics.null_count if statistics.has_null_count else None
    return Range(low, high, nulls_among(nulls, rows), bool(pa.types.is_floating(kind)))


def _bounds(statistics: pq.Statistics) -> tuple[Any, Any]:
    """Return the least and the greatest value, None where it is not known.

    Points of time are nanoseconds since 1970, dates days.
    """
    kind, factor = statistics.logical_type, 1
    if kind.type == "TIMESTAMP":
        factor = _NANOSECONDS[json.loads(kind.to_json())["timeUnit"]]
    elif kind.type not in ("NONE", "INT", "DATE", "STRING"):
        return None, None
    return _bound(statistics.min_raw, factor), _bound(statistics.max_raw, factor)


def _bound(value: Any, factor: int) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None  # Cut off within a character.
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool) else value * factor
