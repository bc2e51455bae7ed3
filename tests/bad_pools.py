"""Pools with one fault each, and what the error about it says."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from tests.jobs import Job, Pool, make_pool


def replaced(column: str, row: int, value: Any, type: pa.DataType | None = None) -> Pool:
    """A pool with one value replaced."""
    pool = make_pool()
    values = pool.table[column].to_pylist()
    values[row] = value
    index = pool.table.schema.get_field_index(column)
    return Pool(pool.table.set_column(index, column, pa.array(values, type)), pool.truth)


def without(column: str) -> Pool:
    pool = make_pool()
    return Pool(pool.table.drop_columns([column]), pool.truth)


def retyped(column: str, values: Any) -> Pool:
    pool = make_pool()
    index = pool.table.schema.get_field_index(column)
    return Pool(pool.table.set_column(index, column, pa.array(values)), pool.truth)


BAD: dict[str, tuple[Callable[[], Pool], list[str]]] = {
    "missing column": (lambda: without("prediction"), ["part-0.parquet", "'prediction'", "score"]),
    "missing payload": (lambda: without("name"), ["part-0.parquet", "'name'", "missing"]),
    "null id": (lambda: replaced("id", 1777, None), ["part-1.parquet", "'id'", "row 777", "null"]),
    "null score": (lambda: replaced("score", 3, None), ["part-0.parquet", "'score'", "row 3"]),
    "duplicate id": (
        lambda: replaced("id", 1900, make_pool().table["id"][4].as_py()),
        ["part-1.parquet", "'id'", "row 900", "duplicate", "row 4 of", "part-0.parquet"],
    ),
    "nan score": (
        lambda: replaced("score", 1234, float("nan")),
        ["part-1.parquet", "'score'", "row 234", "nan"],
    ),
    "score that floats cannot tell": (
        lambda: retyped("score", np.where(np.arange(2000) == 1700, 2**53 + 2, np.arange(2000))),
        ["part-1.parquet", "'score'", "row 700", "a whole number beyond", str(2**53 + 2)],
    ),
    "prediction outside the classes": (
        lambda: replaced("prediction", 1500, 2, pa.int8()),
        ["part-1.parquet", "'prediction'", "row 500", "2"],
    ),
    "prediction of another type": (
        lambda: retyped("prediction", ["maybe"] * 2000),
        ["'prediction'", "string", "part-"],
    ),
    "score of a wrong type": (
        lambda: retyped("score", ["high"] * 2000),
        ["'score'", "must be a number, got 'high'", "part-"],
    ),
    "id of a wrong type": (
        lambda: retyped("id", np.arange(2000) / 2),
        ["'id'", "got 0.5", "part-"],
    ),
    "empty pool": (lambda: Pool(make_pool().table.slice(0, 0), {}), ["*.parquet", "empty"]),
}


def assert_clean_failure(job: Job, words: list[str], *options: str) -> None:
    result = job.prepare(*options)
    assert result.status == 1
    assert result.out == ""
    lines = [line for line in result.err.splitlines() if line]
    assert len(lines) == 1, result.err
    for word in ("evalsampling prepare:", *words):
        assert word in lines[0]
    assert "while running" not in lines[0]
    assert not job.workspace.exists()
