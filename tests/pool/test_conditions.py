"""Which rows satisfy a condition: as in SQL, for every type, and with their numbers in the file."""

import dataclasses
import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.conditions import Filter, outline, selected_rows
from evalsampling.pool.files import StoredFile
from evalsampling.pool.formats.parquet import Parquet
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.layout import Layout
from evalsampling.pool.splits import WorkItem
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.where import read_where
from tests.sql_conditions import COLUMNS, satisfying, some_condition, some_rows


def kept(where: str, batch: PoolBatch, untyped: bool = False) -> PoolBatch:
    return Filter.of(read_where(where), batch.rows.schema, untyped).kept(batch)


def test_rows_and_row_groups_are_kept_as_in_sql(tmp_path: Path) -> None:
    """Of files of groups of three rows, by Arrow's reading of their statistics."""
    rng, path, left_out = np.random.default_rng(3), tmp_path / "pool.parquet", 0
    for number in range(200):
        if number % 20 == 0:
            pool = some_rows(rng, 60)
            pq.write_table(pool, path, row_group_size=3)
            file = StoredFile(str(path), path.stat().st_size)
            (batch,) = pool.combine_chunks().to_batches()
        where = some_condition(rng)
        expected = satisfying(pool, where)
        chosen = kept(where, PoolBatch(batch, first_row=7))
        assert chosen.rows["row"].to_pylist() == expected, where
        assert chosen.row_numbers(np.arange(len(chosen))).tolist() == [7 + n for n in expected]
        known = {name: (pc.field(name), kind) for name, (kind, _, _) in COLUMNS.items()}
        known.pop(str(rng.choice(list(known))))
        wanted = outline(Filter.of(read_where(where), pool.schema).condition, known)
        splits = Parquet().inspect(file, lambda *_, wanted=wanted: wanted).splits
        groups = [group for split in splits if split.wanted for group in split.groups]
        read = {n for group in groups for n in range(3 * group, 3 * group + 3)}
        assert read.issuperset(expected), where
        left_out += 60 - len(read)
    assert left_out > 1500


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("n < 9007199254740993", [1, 2]),
        ("n = 9007199254740993.0", [0]),
        ("n > 9007199254740992", [0]),
        ("n <> 9007199254740992.0", [0, 2]),
    ],
)
def test_whole_numbers_as_text_are_exact_beside_fractions(where: str, expected: list[int]) -> None:
    batch = text_batch(n=["9007199254740993", "9007199254740992", "0.5", None])
    chosen = kept(where, batch, untyped=True)
    assert (chosen.row_numbers(np.arange(len(chosen))) - 5).tolist() == expected


def test_what_cannot_be_compared_exactly_is_refused() -> None:
    columns: dict[str, Any] = {"whole": [1, 2**53 + 1], "number": [0.5, 0.5]}
    for name, scale in (("money", 2), ("rate", 5)):
        columns[name] = pa.array([1, 2], pa.decimal128(20, scale))
    for unit in ("us", "ns"):
        columns[unit] = pa.array([1, 2], pa.timestamp(unit))
    columns["huge"] = pa.array([1, 2**63], pa.uint64())
    batch = PoolBatch(pa.record_batch(columns))
    with pytest.raises(InputError, match=r"column 'whole', row 1: a whole number beyond 9,007,"):
        kept("number < whole", batch)
    for where in ("money = number", "money < rate", "whole > money", "us = ns", "huge > whole"):
        with pytest.raises(InputError, match=r"^pool\.where: column .* cannot be compared$"):
            kept(where, batch)


def test_rows_from_anywhere() -> None:
    """A weight of 0 leaves a row out too; of pairs in both orders nobody knows."""
    batch = PoolBatch(pa.record_batch({"w": [0, 1, 2, 3], "a": [5, 5, 5, 7], "b": [1, 2, 3, 4]}))
    keys = {"path": "p", "id": ["a", "b"], "weight": "w", "where": "a < 6"}
    pool = EvaluationSpec.from_mapping({"pool": keys, "budget": 9}, Path()).pool
    assert selected_rows(batch, pool).rows["b"].to_pylist() == [2, 3]
    with pytest.raises(InputError, match=r"pool.pairs: which order counts"):
        selected_rows(batch, dataclasses.replace(pool, pairs="unordered"))


def test_errors_name_rows_of_the_file() -> None:
    batch = PoolBatch(pa.record_batch({"a": [1, 2, 3, 4], "b": [0.5, None, 0.5, None]}), "f", 100)
    chosen = kept("a >= 3", batch)
    assert chosen.row_number(1) == 103
    with pytest.raises(InputError, match=r"^f: column 'b', row 103: null; leave such rows out$"):
        chosen.numbers("b")


TYPES: dict[str, Any] = {
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
        ("money < 1e300", [0, 2]),
        ("code = 'a'", [0, 2]),
        ("moment = TIMESTAMP '2024-05-01 14:00:00+02:00'", [0, 1, 2]),
        ("moment > DATE '2024-05-01'", [0, 1, 2]),
        ("moment > '2024-05-02'", []),
        ("nothing = 3", []),
        ("NOT nothing = 3", []),
        ("nothing IS NULL", [0, 1, 2]),
        ("list IS NULL", [1]),
        ("list IS NOT NULL AND money NOT IN (2)", [0]),
    ],
)
def test_types(where: str, expected: list[int]) -> None:
    batch = pa.RecordBatch.from_pydict(TYPES)
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
    batch = pa.RecordBatch.from_pydict(TYPES | {"code": TYPES["code"].dictionary_decode()})
    where = where.replace("left", '"left"')
    with pytest.raises(InputError, match=f"^pool.where: {problem}$"):
        Filter.of(read_where(where), batch.schema)


def text_batch(**columns: list[str | None]) -> PoolBatch:
    batch = pa.record_batch({name: pa.array(texts) for name, texts in columns.items()})
    item = WorkItem("f.csv", None, len(batch), batch.schema, True, 0, "f.csv", 5, Layout())
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


def catalog_of(path: Path, where: str) -> Catalog:
    content = {"pool": {"path": str(path), "where": where}, "budget": 10}
    return Catalog.read(EvaluationSpec.from_mapping(content, path.parent).reading)


def columns(rows: int, **more: Any) -> pa.Table:
    return pa.table({"id": range(rows), "score": [0.5] * rows, "prediction": [1] * rows, **more})


def test_row_groups_are_not_read(tmp_path: Path) -> None:
    """A hundred of them, five with rows that are wanted."""
    path = tmp_path / "pool.parquet"
    table = columns(10_000, day=[datetime.date(2024, 1, 1 + row // 400) for row in range(10_000)])
    pq.write_table(table, path, row_group_size=100)
    catalog = catalog_of(path, "id BETWEEN 1950 AND 2349 AND day < '2024-01-09'")
    items = list(catalog.items)
    assert [(item.groups, item.first_row) for item in items] == [
        (range(19, 21), 1900), (range(21, 23), 2100), (range(23, 24), 2300),
    ]  # fmt: skip
    assert pq.ParquetFile(path).num_row_groups == 100
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


def test_a_long_list(tmp_path: Path) -> None:
    path = tmp_path / "pool.parquet"
    pq.write_table(columns(300), path, row_group_size=100)
    listed = ", ".join(map(str, range(250, 3000)))
    assert [item.first_row for item in catalog_of(path, f"id IN ({listed})").items] == [200]
    every = catalog_of(path, f"NOT id IN ({listed})").items
    assert [item.first_row for item in every] == [0, 100, 200]


MISLEADING = {
    "NaN beside one number": (pa.array([float("nan"), 1.0, 1.0]), "NOT x <= 5", [0]),
    "a dictionary": (pa.array(["a", "b", "b"]).dictionary_encode(), "x = 'b'", [1, 2]),
    "a time beyond": (pa.array([0, 1, 2], pa.timestamp("ns")), "x < '9999-12-31'", [0, 1, 2]),
    "NaN beside numbers": (pa.array([float("nan"), 1.0, 2.0]), "NOT x <= 5", [0]),
    "NaN in a list": (pa.array([float("nan"), 1.0, 7.0]), "NOT x IN (1, 2)", [0, 2]),
    "NaN under AND": (pa.array([float("nan")] * 3), "NOT (x < 5 OR x > 7)", [0, 1, 2]),
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
    items = catalog_of(path, where).items
    ids = [
        id for item in items for b in read_batches(item, ["id"]) for id in b.rows["id"].to_pylist()
    ]
    assert ids == expected
