"""Conditions, and what Python says of rows, as SQL does: true, false or None; others in SQL."""

import datetime
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

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

COMPARE = {
    "=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip

VALUES: dict[str, list[Any]] = {
    "whole": [0, 1, -3, 7, 250, None],
    "small": [0, 5, 250, None],
    "huge": [0, 2**63 + 5, 17, None],
    "number": [0.0, -0.0, 0.5, float("nan"), float("inf"), -2.25, None],
    "narrow": [np.float32(0.1).item(), 0.5, float("nan"), None],
    "text": ["", "a", "ab", "é", "x" * 40, None],
    "flag": [True, False, None],
    "day": [datetime.date(2024, 1, 1), datetime.date(1960, 2, 3), None],
    "time": [datetime.datetime(2024, 1, 1, 0, 0, 0, 7), datetime.datetime(1969, 5, 5), None],
}
"""Values of columns by name, whose types `tests.pool.test_conditions` gives."""

LITERALS: dict[str, list[Any]] = {
    "whole": [0, 1, -3, Decimal("6.5"), Decimal("7.0"), 300, 2**70, -(2**70)],
    "small": [0, 5, -1, 256, Decimal("249.5")],
    "huge": [0, 2**63 + 5, -1, Decimal("17.0")],
    "number": [0, Decimal("0.5"), Decimal("-2.25"), Decimal("1e300"), 3],
    "narrow": [Decimal("0.1"), Decimal("0.5"), 1],
    "text": ["", "a", "b", "é", "x" * 39],
    "flag": [True, False],
    "day": ["2024-01-01", datetime.date(1970, 1, 1)],
    "time": ["2024-01-01 00:00:00.000007", datetime.datetime(1969, 5, 5), "9999-12-31"],
}
"""Literals that a column may be compared with."""


def some_condition(rng: np.random.Generator, depth: int = 3) -> Condition:
    """A condition on some of the columns."""
    if depth and rng.random() < 0.6:
        kind = rng.choice(["not", "all", "any"])
        if kind == "not":
            return Not(some_condition(rng, depth - 1))
        parts = tuple(some_condition(rng, depth - 1) for _ in range(rng.integers(1, 4)))
        return AllOf(parts) if kind == "all" else AnyOf(parts)
    name = str(rng.choice(list(VALUES)))
    literals = LITERALS[name]
    draw = rng.random()
    if draw < 0.15:
        return IsNull(name)
    if draw < 0.3:
        return OneOf(name, tuple(literals[i] for i in rng.integers(0, len(literals), 2)))
    if draw < 0.35:
        return Relation(name, "<", ColumnName(name))
    operators = ["=", "!="] if name == "flag" else list(COMPARE)
    return Relation(name, str(rng.choice(operators)), literals[rng.integers(0, len(literals))])


def outcome(condition: Condition, row: Mapping[str, Any]) -> bool | None:
    """What a condition says of a row."""
    match condition:
        case Not(part):
            inner = outcome(part, row)
            return None if inner is None else not inner
        case AllOf(parts):
            outcomes = [outcome(part, row) for part in parts]
            return False if False in outcomes else None if None in outcomes else True
        case AnyOf(parts):
            outcomes = [outcome(part, row) for part in parts]
            return True if True in outcomes else None if None in outcomes else False
        case IsNull(column):
            return row[column] is None
        case OneOf(column, values):
            return outcome(AnyOf(tuple(Relation(column, "=", v) for v in values)), row)
        case Relation(column, operator, ColumnName(other)):
            left, right = row[column], row[other]
        case Relation(column, operator, value):
            left, right = row[column], value
            if column in ("narrow", "number"):  # A literal is rounded to the type of its column.
                right = (np.float32 if column == "narrow" else float)(value)
    if left is None or right is None:
        return None
    if isinstance(right, str) and not isinstance(left, str):
        right = type(left).fromisoformat(right)
    if isinstance(left, datetime.datetime) and type(right) is datetime.date:
        right = datetime.datetime(right.year, right.month, right.day)
    return bool(COMPARE[operator](left, right))


BESIDE_DUCKDB: dict[str, tuple[pa.DataType, list[Any], list[str]]] = {
    "money": (
        pa.decimal128(20, 2),
        [Decimal("123456789012345678.91"), Decimal("123456789012345678.92"), Decimal("-0.50"), 7],
        ["123456789012345678.91", "123456789012345678.915", "-0.5", "7"],
    ),
    "rate": (
        pa.decimal128(31, 5),
        [Decimal("123456789012345678.91"), Decimal("123456789012345678.91001"), Decimal(7), 0],
        ["123456789012345678.91", "123456789012345678.910011", "0.000001"],
    ),
    "long": (
        pa.int64(),
        [2**63 - 1, -(2**63), 2**53 + 1, 2**53, 7, -8],
        [str(2**63 - 1), str(2**63), str(-(2**63)), "9007199254740992.5", "-7.5", "7.0"],
    ),
    "huge": (
        pa.uint64(),
        [2**64 - 1, 2**63, 2**53 + 1, 7, 0],
        [str(2**64 - 1), str(2**64), "-1", "9007199254740992.5", "7"],
    ),
    "day": (pa.date32(), [10**6 * 4, 0, -1, 19_000], ["DATE '9999-12-31'", "DATE '1970-01-01'"]),
    "far": (
        pa.timestamp("us"),
        [10**18, -(10**17), 0],
        ["TIMESTAMP '2023-11-14 22:13:20.123456'", "TIMESTAMP '9999-12-31 23:59:59.999999'"],
    ),
    "time": (
        pa.timestamp("us"),
        [1_700_000_000_123_456, 0, -1],
        ["TIMESTAMP '2023-11-14 22:13:20.123456'", "TIMESTAMP '1970-01-01 00:00:00'"],
    ),
    "fine": (
        pa.timestamp("ns"),
        [1, 0, -1, -999, 1_700_000_000_123_456_000, 1_700_000_000_123_456_001],
        ["TIMESTAMP '2023-11-14 22:13:20.123456'", "TIMESTAMP '1969-12-31 23:59:59.999999'"],
    ),
}  # fmt: skip
"""Types, values and literals of columns, some of them beyond Python's own dates."""

ALIKE = [["money", "rate", "long", "huge"], ["day"], ["far", "time"], ["time", "fine"]]
"""Columns that may be compared with each other, by DuckDB too."""


def in_sql(rng: np.random.Generator, depth: int = 2) -> str:
    """A condition on the columns of `BESIDE_DUCKDB`."""
    if depth and rng.random() < 0.6:
        parts = [in_sql(rng, depth - 1) for _ in range(rng.integers(2, 4))]
        return str(rng.choice(["", "NOT "])) + f"({rng.choice([' AND ', ' OR ']).join(parts)})"
    alike = ALIKE[rng.integers(0, len(ALIKE))]
    column, other = rng.choice(alike), rng.choice(alike)
    literals = [str(text) for text in rng.choice(BESIDE_DUCKDB[column][2], 2)]
    kind = rng.random()
    if kind < 0.1:
        return f"{column} IS {rng.choice(['', 'NOT '])}NULL"
    if kind < 0.3:
        return f"{column} {rng.choice(['', 'NOT '])}IN ({', '.join(literals)})"
    right = other if kind < 0.6 else literals[0]
    return f"{column} {rng.choice(list(COMPARE))} {right}"
