"""Whether a part of a pool may have a row that satisfies a condition, by what is known of it."""

from collections.abc import Mapping
from typing import Any

from evalsampling.pool.ranges import Range, comparable
from evalsampling.spec.where import (
    AllOf,
    AnyOf,
    ColumnName,
    Condition,
    IsNull,
    Not,
    OneOf,
    Relation,
)


def may_hold(condition: Condition, ranges: Mapping[str, Range]) -> bool:
    """Tell whether a condition may be true of a row, by the ranges of some columns."""
    return _outcomes(condition, ranges)[0]


def _outcomes(condition: Condition, ranges: Mapping[str, Range]) -> tuple[bool, bool]:
    """Return whether a condition may be true, and whether it may be false; null is neither."""
    match condition:
        case AllOf(parts):
            true, false = zip(*(_outcomes(part, ranges) for part in parts), strict=True)
            return all(true), any(false)
        case AnyOf(parts):
            true, false = zip(*(_outcomes(part, ranges) for part in parts), strict=True)
            return any(true), all(false)
        case Not(part):
            return _outcomes(part, ranges)[::-1]
        case IsNull(column):
            null = ranges.get(column, Range()).null
            return null is not False, null is not True
        case OneOf():
            return _outcomes(condition.spelt_out, ranges)
        case Relation(column, operator, value):
            return _compared(ranges.get(column), operator, value)


def _compared(values: Range | None, operator: str, value: Any) -> tuple[bool, bool]:
    """Return whether a comparison of a column's values may be true, and whether false."""
    if values is None:
        return True, True
    if values.null is True:
        return False, False
    low, high, value = values.low, values.high, comparable(value)
    if isinstance(value, ColumnName) or not _alike(low, value) or not _alike(high, value):
        return True, True
    below, above = low is None or low < value, high is None or high > value
    within = (low is None or low <= value) and (high is None or high >= value)
    single = low is not None and low == high == value
    nan = values.nan
    match operator:
        case "=":
            return within, not single or nan
        case "!=":
            return not single or nan, within
        case "<":
            return below, above or high == value or nan
        case "<=":
            return below or low == value, above or nan
        case ">":
            return above, below or low == value or nan
        case _:
            return above or high == value, below or nan


def _alike(bound: Any, value: Any) -> bool:
    """Tell whether a bound, if there is one, can be compared with a value."""
    if bound is None:
        return True
    if isinstance(bound, bool) or isinstance(value, bool):
        return isinstance(bound, bool) and isinstance(value, bool)
    numbers = (int, float)
    both = isinstance(bound, numbers) and isinstance(value, numbers)
    return both or type(bound) is type(value)
