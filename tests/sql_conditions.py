"""Conditions in SQL, drawn at random, by DuckDB on columns of all types, without NaN."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

COLUMNS: dict[str, tuple[pa.DataType, list[Any], list[str]]] = {
    "whole": (
        pa.int16(), [0, 1, -3, 7, 250], ["0", "1", "-3", "6.5", "7.0", "300", str(2**70)]
    ),
    "small": (pa.uint8(), [0, 5, 250], ["0", "5", "-1", "256", "249.5"]),
    "number": (
        pa.float64(), [0.0, -0.0, 0.5, float("inf"), -2.25], ["0", "0.5", "-2.25", "1e300", "3"]
    ),
    "narrow": (pa.float32(), [0.1, 0.5, float("inf")], ["0.1", "0.5", "1"]),
    "text": (pa.string(), ["", "a", "ab", "é", "x" * 40], ["''", "'a'", "'b'", "'é'", "'xxx'"]),
    "flag": (pa.bool_(), [True, False], ["TRUE", "FALSE"]),
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
    "day": (
        pa.date32(), [4_000_000, 0, -1, 19_000], ["DATE '9999-12-31'", "'1970-01-01'"]
    ),
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

ALIKE = (
    {"whole", "small", "long"}, {"whole", "small", "number", "narrow"}, {"huge"}, {"money"},
    {"rate"}, {"text"}, {"flag"}, {"day"}, {"far", "time"}, {"fine"},
)  # fmt: skip
"""Columns that may be compared with each other, by DuckDB too."""


def some_rows(rng: np.random.Generator, size: int, names: Sequence[str] = (*COLUMNS,)) -> pa.Table:
    """Rows of some columns, some of whose values are null, with their numbers as `row`."""
    columns = {}
    for name in names:
        kind, values, _ = COLUMNS[name]
        drawn = [[*values, None][i] for i in rng.integers(0, len(values) + 1, size)]
        whole = pa.int32() if pa.types.is_date(kind) else pa.int64()
        is_time = pa.types.is_temporal(kind)
        columns[name] = pa.array(drawn, whole).cast(kind) if is_time else pa.array(drawn, kind)
    return pa.table({"row": range(size), **columns})


def some_condition(
    rng: np.random.Generator, names: Sequence[str] = (*COLUMNS,), depth: int = 2
) -> str:
    """A condition on some columns."""
    if depth and rng.random() < 0.6:
        parts = [some_condition(rng, names, depth - 1) for _ in range(rng.integers(1, 4))]
        return str(rng.choice(["", "NOT "])) + f"({rng.choice([' AND ', ' OR ']).join(parts)})"
    column, kind = str(rng.choice(names)), rng.random()
    literals = [str(text) for text in rng.choice(COLUMNS[column][2], 2)]
    if kind < 0.1:
        return f"{column} IS {rng.choice(['', 'NOT '])}NULL"
    if kind < 0.3:
        return f"{column} {rng.choice(['', 'NOT '])}IN ({', '.join(literals)})"
    alike = sorted({name for group in ALIKE if column in group for name in group & {*names}})
    right = rng.choice(alike) if kind < 0.5 else literals[0]
    operators = ["=", "<>"] if column == "flag" else ["=", "<>", "<", "<=", ">", ">="]
    return f"{column} {rng.choice(operators)} {right}"


def satisfying(rows: pa.Table, where: str) -> list[int]:
    """The numbers of the rows that satisfy a condition."""
    found = duckdb.sql(f"SELECT row FROM rows WHERE {where} ORDER BY row").fetchall()
    return [row for (row,) in found]
