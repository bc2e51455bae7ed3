"""What statistics say of the values of a column in a part of a pool."""

import dataclasses
import datetime
from typing import Any

import numpy as np
import pyarrow as pa

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclasses.dataclass(frozen=True)
class Range:
    """What is known of the values of a column in some rows.

    Attributes:
        low: no value is less; None if nothing is known. Dates are dates, points of time whole
            nanoseconds since 1970 in UTC.
        high: no value is greater; None likewise.
        null: whether all values are null (True), none is (False), or neither is known.
        nan: whether some may be NaN, which no statistic counts.
    """

    low: Any = None
    high: Any = None
    null: bool | None = None
    nan: bool = False

    @classmethod
    def of_value(cls, value: Any) -> "Range":
        """Return the range of a column that has one value, which may be None."""
        if value is None:
            return cls(null=True)
        if isinstance(value, float) and value != value:
            return cls(null=False, nan=True)
        value = comparable(value)
        return cls(value, value, null=False)


def around(kind: pa.DataType, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the bounds of values of a type, those of narrow floats one rounding further out.

    Literals are rounded to the type of their column, so one may be as far beyond the values.
    """
    if not pa.types.is_floating(kind) or pa.types.is_float64(kind):
        return low, high
    narrow = kind.to_pandas_dtype()
    return (
        None if low is None else float(np.nextafter(narrow(low), narrow(-np.inf))),
        None if high is None else float(np.nextafter(narrow(high), narrow(np.inf))),
    )


def nulls_among(nulls: int | None, rows: int | None) -> bool | None:
    """Return `Range.null` of some rows, where numbers that are not known are None."""
    if nulls is None:
        return None
    return True if nulls == rows else False if nulls == 0 else None


def comparable(value: Any) -> Any:
    """Return a point of time in nanoseconds since 1970, and any other value as it is."""
    if not isinstance(value, datetime.datetime):
        return value
    aware = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
    return (aware - _EPOCH) // datetime.timedelta(microseconds=1) * 1000
