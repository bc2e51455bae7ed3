"""Which rows satisfy a condition: as in SQL, for every type, and with their numbers in the file."""

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import InputError
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.conditions import Filter
from evalsampling.pool.splits import WorkItem
from evalsampling.spec.where import read_where
from tests.sql_conditions import VALUES, outcome, some_condition

TYPES = {
    "whole": pa.int16(), "small": pa.uint8(), "huge": pa.uint64(), "number": pa.float64(),
    "narrow": pa.float32(), "text": pa.string(), "flag": pa.bool_(), "day": pa.date32(),
    "time": pa.timestamp("ns"),
}  # fmt: skip


def rows(rng: np.random.Generator, size: int) -> pa.RecordBatch:
    columns = {
        name: pa.array([values[i] for i in rng.integers(0, len(values), size)], TYPES[name])
        for name, values in VALUES.items()
    }
    return pa.RecordBatch.from_pydict(columns)


def kept(where: str, batch: PoolBatch, untyped: bool = False) -> PoolBatch:
    return Filter.of(read_where(where), batch.rows.schema, untyped).kept(batch)


def test_rows_are_kept_as_in_sql() -> None:
    rng = np.random.default_rng(0)
    for _ in range(120):
        batch, condition = PoolBatch(rows(rng, 40), first_row=7), some_condition(rng)
        chosen = Filter.of(condition, batch.rows.schema).kept(batch)
        times = batch.rows["time"].cast(pa.timestamp("us")).to_pylist()  # As Python has them.
        plain = [
            row | {"time": time} for row, time in zip(batch.rows.to_pylist(), times, strict=True)
        ]
        expected = [place for place, row in enumerate(plain) if outcome(condition, row)]
        numbers = chosen.row_numbers(np.arange(len(chosen))).tolist()
        assert numbers == [7 + place for place in expected], condition
        assert chosen.rows["text"].to_pylist() == [plain[place]["text"] for place in expected]


def test_errors_name_rows_of_the_file() -> None:
    batch = PoolBatch(pa.record_batch({"a": [1, 2, 3, 4], "b": [0.5, None, 0.5, None]}), "f", 100)
    chosen = kept("a >= 3", batch)
    assert chosen.row_number(1) == 103
    with pytest.raises(InputError, match=r"^f: column 'b', row 103: null; leave such rows out$"):
        chosen.numbers("b")


COLUMNS: dict[str, Any] = {
    "money": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2.00")]),
    "wide": pa.array([1, 0, None], pa.decimal128(38, 0)),
    "code": pa.array(["a", "b", "a"]).dictionary_encode(),
    "moment": pa.array(
        [datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)] * 3, pa.timestamp("ms", "UTC")
    ),
    "nothing": pa.nulls(3),
    "left": pa.array([1, 2, 3], pa.int64()),
    "right": pa.array([1, 2**63 + 9, 2], pa.uint64()),
    "list": pa.array([[1], None, [2]]),
}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("money > 1.5", [2]),
        ("money = 1.5", [0]),
        ("money < 1e300", [0, 2]),
        ("wide > 0.5", [0]),
        ("code = 'a'", [0, 2]),
        ("moment = TIMESTAMP '2024-05-01 14:00:00+02:00'", [0, 1, 2]),
        ("moment > DATE '2024-05-01'", [0, 1, 2]),
        ("moment > '2024-05-02'", []),
        ("nothing = 3", []),
        ("NOT nothing = 3", []),
        ("nothing IS NULL", [0, 1, 2]),
        ('"left" < "right"', [1]),
        ("list IS NULL", [1]),
        ("list IS NOT NULL AND money NOT IN (2)", [0]),
    ],
)
def test_types(where: str, expected: list[int]) -> None:
    batch = pa.RecordBatch.from_pydict(COLUMNS)
    fields = [
        (f.name, getattr(f.type, "value_type", f.type)) for f in batch.schema if f.name != "list"
    ]
    schema = pa.schema([*fields, ("list", batch.schema.field("list").type)])
    chosen = Filter.of(read_where(where), schema).kept(PoolBatch(batch))
    assert chosen.row_numbers(np.arange(len(chosen))).tolist() == expected


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("left > 'a'", "left > 'a': the column has type int64"),
        ("code = 3", "code = 3: the column has type string"),
        ("code = DATE '2024-05-01'", "code = DATE '2024-05-01': the column has type string"),
        (
            "code = TIMESTAMP '2024-05-01 12:00'",
            "code = TIMESTAMP '2024-05-01 12:00:00': the column has type string",
        ),
        ("code = TRUE", "code = TRUE: the column has type string"),
        ("list = 3", "list = 3: the column has type list<item: int64>"),
        ("moment = 3", r"moment = 3: the column has type timestamp\[ms, tz=UTC\]"),
        ("moment = 'noon'", "no date or time in ISO 8601: 'noon'"),
        ("left = code", "column 'left' has type int64 and 'code' string; they cannot be compared"),
        ("money2 = 3", "column 'money2' is missing; did you mean money[?]"),
    ],
)
def test_only_like_is_compared_with_like(where: str, problem: str) -> None:
    batch = pa.RecordBatch.from_pydict(COLUMNS | {"code": COLUMNS["code"].dictionary_decode()})
    where = where.replace("left", '"left"')
    with pytest.raises(InputError, match=f"^pool.where: {problem}$"):
        Filter.of(read_where(where), batch.schema)


def text_batch(**columns: list[str | None]) -> PoolBatch:
    batch = pa.record_batch({name: pa.array(texts) for name, texts in columns.items()})
    item = WorkItem("f.csv", 0, 1, len(batch), batch.schema, True, 0, "f.csv", 5)
    return PoolBatch(batch, "f.csv", 5, item)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("n >= 2", [6]),
        ("n >= 0.5", [5, 6]),
        ("NOT n = 1", [6]),
        ("t = '1'", [5]),
        ("b", [5, 7]),
        ("d > DATE '2024-01-01'", [6]),
        ("n IS NULL", [7]),
    ],
)
def test_texts_of_files_without_types(where: str, expected: list[int]) -> None:
    batch = text_batch(
        n=["1.0", "2", None], t=["1", "01", "x"], b=["true", "0", "1"],
        d=["2024-01-01", "2024-01-02", None],
    )  # fmt: skip
    chosen = kept(where, batch, untyped=True)
    assert chosen.row_numbers(np.arange(len(chosen))).tolist() == expected


def test_a_text_that_is_no_number(tmp_path: Path) -> None:
    batch = text_batch(n=["1", "2", "many"])
    with pytest.raises(
        InputError, match=r"f\.csv: column 'n', row 7: must be a number, got 'many'"
    ):
        kept("n > 1", batch, untyped=True)


def test_columns_of_files_without_types_have_no_order() -> None:
    """As text 10 is less than 9, so a comparison would be silently wrong."""
    batch = text_batch(n=["9", "100"], m=["10", "100"])
    with pytest.raises(InputError, match=r"^pool\.where: n < m: both are text in these files"):
        kept("n < m", batch, untyped=True)
    chosen = kept("n = m", batch, untyped=True)
    assert chosen.row_numbers(np.arange(len(chosen))).tolist() == [6]


def test_times_of_files_without_types_have_the_zone_that_they_are_compared_with() -> None:
    zoned = text_batch(t=["2024-01-01T01:00:00+02:00", "2024-01-01T00:00:00Z", None])
    chosen = kept("t >= TIMESTAMP '2024-01-01 00:00:00+00:00'", zoned, untyped=True)
    assert chosen.row_numbers(np.arange(len(chosen))).tolist() == [6]
    with pytest.raises(InputError, match=r"'t', row 5: must be a time without a zone, got"):
        kept("t >= TIMESTAMP '2024-01-01 00:00:00'", zoned, untyped=True)
    plain = text_batch(t=["2024-01-01T00:00:00"])
    with pytest.raises(InputError, match=r"'t', row 5: must be a time with its zone, got"):
        kept("t >= TIMESTAMP '2024-01-01 00:00:00+02:00'", plain, untyped=True)
