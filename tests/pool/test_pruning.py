"""No part of a pool is left out that has a row which satisfies the condition."""

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.pool.catalog import Catalog
from evalsampling.pool.conditions import Filter
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.pruning import may_hold
from evalsampling.pool.ranges import Range, around, comparable
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.where import read_where
from tests.pool.formats.reading import work_items
from tests.sql_conditions import VALUES, outcome, some_condition


def range_of(values: list[Any], rng: np.random.Generator) -> Range:
    """What statistics may say of values: ends as they are, wider or absent."""
    there = [value for value in values if value is not None]
    numbers = [comparable(value) for value in there if value == value]
    null = True if not there else False if len(there) == len(values) else None
    floats = any(isinstance(value, float) for value in there)
    low, high = (min(numbers), max(numbers)) if numbers else (None, None)
    if isinstance(low, str) and rng.random() < 0.5:
        low, high = low[:1], high[:1] + "\U0010ffff"
    return Range(
        low if rng.random() < 0.8 else None, high if rng.random() < 0.8 else None,
        null if rng.random() < 0.8 else None, floats,
    )  # fmt: skip


def test_no_row_is_lost() -> None:
    rng, left_out = np.random.default_rng(1), 0
    schema = pa.schema(
        [
            ("whole", pa.int16()), ("small", pa.uint8()), ("huge", pa.uint64()),
            ("number", pa.float64()), ("narrow", pa.float32()), ("text", pa.string()),
            ("flag", pa.bool_()), ("day", pa.date32()), ("time", pa.timestamp("us")),
        ]
    )  # fmt: skip
    for _ in range(1500):
        rows = [
            {name: values[rng.integers(0, len(values))] for name, values in VALUES.items()}
            for _ in range(rng.integers(1, 4))
        ]
        ranges = {name: range_of([row[name] for row in rows], rng) for name in VALUES}
        narrow = ranges["narrow"]
        low, high = around(pa.float32(), narrow.low, narrow.high)
        ranges["narrow"] = dataclasses.replace(narrow, low=low, high=high)
        ranges.pop(str(rng.choice(list(ranges))))
        condition = Filter.of(some_condition(rng), schema).condition
        kept = any(outcome(condition, row) for row in rows)
        may = may_hold(condition, ranges)
        assert may or not kept, (condition, rows, ranges)
        left_out += not may
    assert left_out > 250


@pytest.mark.parametrize(
    ("where", "values", "expected"),
    [
        ("x > 5", Range(1, 5), False),
        ("x >= 5", Range(1, 5), True),
        ("x < 1", Range(1, 5), False),
        ("x = 3", Range(1, 5), True),
        ("x != 3", Range(3, 3), False),
        ("x != 3", Range(3, 3, nan=True), True),
        ("NOT x > 5", Range(6, 9), False),
        ("NOT x > 5", Range(6, 9, nan=True), True),
        ("x IN (7, 9)", Range(1, 5), False),
        ("x IS NULL", Range(1, 5, null=False), False),
        ("x IS NOT NULL", Range(null=True), False),
        ("x = 3", Range(null=True), False),
        ("x = 'a'", Range(1, 5), True),
        ("x = TRUE", Range(5, 9), True),
        ("x > 5", Range(high=4), False),
        ("x > 5 OR y = 1", Range(1, 5), True),
        ("x > 5 AND y = 1", Range(1, 5), False),
    ],
)
def test_what_a_range_rules_out(where: str, values: Range, expected: bool) -> None:
    assert may_hold(read_where(where), {"x": values}) is expected


def pool_of(path: Path, where: str) -> Catalog:
    content = {"pool": {"path": str(path), "where": where}, "budget": 10}
    return Catalog.read(EvaluationSpec.from_mapping(content, path.parent))


def columns(rows: int, **more: Any) -> pa.Table:
    return pa.table({"id": range(rows), "score": [0.5] * rows, "prediction": [1] * rows, **more})


def test_row_groups_are_not_read(tmp_path: Path) -> None:
    """A hundred of them, five with rows that are wanted."""
    path = tmp_path / "pool.parquet"
    table = columns(10_000, day=[datetime.date(2024, 1, 1 + row // 400) for row in range(10_000)])
    pq.write_table(table, path, row_group_size=100)
    catalog = pool_of(path, "id BETWEEN 1950 AND 2349 AND day < '2024-01-09'")
    items = list(catalog.items)
    assert [(item.begin, item.first_row) for item in items] == [
        (19, 1900), (20, 2000), (21, 2100), (22, 2200), (23, 2300),
    ]  # fmt: skip
    assert len(pq.ParquetFile(path).metadata.to_dict()["row_groups"]) == 100
    numbers = [
        number
        for item in items
        for batch in read_batches(item, ["id"])
        for number, id in zip(
            batch.row_numbers(np.arange(len(batch))).tolist(), batch.rows["id"].to_pylist(),
            strict=True,
        )
        if number == id
    ]  # fmt: skip
    assert numbers == list(range(1950, 2350))
    assert sum(1 for _ in work_items_of(path)) == 100


def work_items_of(path: Path) -> Any:
    from evalsampling.pool.formats.parquet import Parquet

    return work_items(Parquet(), path)


MISLEADING = {
    "NaN beside numbers": (pa.array([float("nan"), 1.0, 2.0]), "NOT x <= 5", [0]),
    "NaN alone": (pa.array([float("nan")] * 3), "x != 1", [0, 1, 2]),
    "above the signed": (pa.array([1, 2**63 + 1, 5], pa.uint64()), "x > 9223372036854775807", [1]),
    "above the signed, narrow": (pa.array([1, 2**32 - 1, 5], pa.uint32()), "x > 6", [1]),
    "long text": (pa.array(["a", "z" * 500, "é"]), "x > 'zz'", [1, 2]),
    "nanoseconds": (
        pa.array([0, 1, 2], pa.timestamp("ns")), "x > TIMESTAMP '1970-01-01 00:00:00'", [1, 2]
    ),
    "seconds": (
        pa.array([0, 1, 2], pa.timestamp("s")), "x >= TIMESTAMP '1970-01-01 00:00:02'", [2]
    ),
    "nulls": (pa.array([None, None, None], pa.int64()), "x IS NULL", [0, 1, 2]),
    "zeros": (pa.array([-0.0, 0.0, 1.0]), "x = 0", [0, 1]),
    "fixed": (pa.array([0.1, 0.25, 0.5], pa.float32()), "x > 0.1", [1, 2]),
    "fixed, reached": (pa.array([0.1, 0.25, 0.5], pa.float32()), "x >= 0.1", [0, 1, 2]),
    "narrow, alone": (pa.array([0.7] * 3, pa.float32()), "x >= 0.7", [0, 1, 2]),
    "half, alone": (pa.array([0.1] * 3, pa.float16()), "x = 0.1", [0, 1, 2]),
    "narrow, below": (pa.array([0.7] * 3, pa.float32()), "NOT x < 0.7", [0, 1, 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", MISLEADING)
@pytest.mark.parametrize("statistics", [True, False])
def test_statistics_that_mislead(tmp_path: Path, name: str, statistics: bool) -> None:
    values, where, expected = MISLEADING[name]
    path = tmp_path / "pool.parquet"
    pq.write_table(columns(3, x=values), path, row_group_size=3, write_statistics=statistics)
    items = pool_of(path, where).items
    ids = [
        id for item in items for b in read_batches(item, ["id"]) for id in b.rows["id"].to_pylist()
    ]
    assert ids == expected
