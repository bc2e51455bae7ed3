"""Conditions in SQL: what they may have, and what is said of all else."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.where import (
    AllOf,
    AnyOf,
    ColumnName,
    Condition,
    IsNull,
    Not,
    OneOf,
    Relation,
    columns_of,
    read_where,
)

READ: list[tuple[str, Condition]] = [
    ("country = 'DE'", Relation("country", "=", "DE")),
    ("0.5 <= score", Relation("score", ">=", 0.5)),
    ("a <> -1", Relation("a", "!=", -1)),
    ("a == 1e3", Relation("a", "=", 1000.0)),
    (f"a = -0.{'12' * 20}", Relation("a", "=", Decimal(f"-0.{'12' * 20}"))),
    ("flag", Relation("flag", "=", True)),
    ("\"a b\" != 'it''s'", Relation("a b", "!=", "it's")),
    ("a < b", Relation("a", "<", ColumnName("b"))),
    ("a.b.c = 1", Relation("a.b.c", "=", 1)),
    ('"a.b" = 1', Relation("a.b", "=", 1)),
    ("a IN (1, 2)", OneOf("a", (1, 2))),
    ("a IS NULL", IsNull("a")),
    ("a IS NOT NULL", Not(IsNull("a"))),
    ("NOT (a = 1 OR b) AND c", AllOf((
        Not(AnyOf((Relation("a", "=", 1), Relation("b", "=", True)))),
        Relation("c", "=", True),
    ))),
    ("a NOT BETWEEN 1 AND 2",
     Not(AllOf((Relation("a", ">=", 1), Relation("a", "<=", 2))))),
    ("d > DATE '2024-02-29'", Relation("d", ">", datetime.date(2024, 2, 29))),
    ("d > TIMESTAMP '2024-02-29 12:00:00'",
     Relation("d", ">", datetime.datetime(2024, 2, 29, 12))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), READ)
def test_what_a_condition_may_have(text: str, expected: Condition) -> None:
    assert read_where(text) == expected
    assert read_where(f"(({text}))") == expected


def test_columns_of_a_condition() -> None:
    assert columns_of(read_where("a = 1 AND (b IS NULL OR NOT a < c) OR d IN (1)")) == (
        "a", "b", "c", "d",
    )  # fmt: skip


def test_a_long_condition() -> None:
    text = " OR ".join(f"a = {number}" for number in range(2000))
    assert len(read_where(text).parts) == 2000  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a LIKE 'x%'", "a LIKE 'x%' is not among what it may have"),
        ("a BETWEEN SYMMETRIC 9 AND 1", r"\(a BETWEEN 9 AND 1 OR a BETWEEN 1 AND 9\) is not"),
        ("a + 1 > 2", r"a \+ 1 is not among"),
        ("lower(a) = 'x'", r"LOWER\(a\) is not among"),
        ("a IN (SELECT 1)", r"a IN \(SELECT 1\) is not among"),
        ("a = NULL", "nothing is compared with NULL; write IS NULL or IS NOT NULL"),
        ("a IN (1, NULL)", "nothing is compared with NULL"),
        ("1 = 1", "1 is not among"),
        ("TRUE", "TRUE is not among"),
        ("a = 1; DROP TABLE a", "must be one condition in SQL, got a = 1; DROP TABLE a"),
        ("a >=", "no condition in SQL"),
        ("a = DATE '2024-13-01'", "no date or time in ISO 8601: '2024-13-01'"),
        ("a = DATE '10000-01-01'", "no date or time in ISO 8601: '10000-01-01'"),
        ("a = DATE '2024-05-01 12:00'", "no date or time in ISO 8601: '2024-05-01 12:00'"),
        (
            "a = TIMESTAMP '2024-05-01 12:00:00.1234567'",
            "a literal has at most microseconds, got '2024-05-01 12:00:00.1234567'",
        ),
        (f"a < {'9' * 5000}", "a number has at most 308 digits on each side of its point, got 9"),
        ("a < 1e999999999", "a number has at most 308 digits"),
        ("a IN (1, 1e-99999999999999999999)", "a number has at most 308 digits"),
        ("SELECT 1", "SELECT 1 is not among"),
        ("-- nothing", "must be one condition in SQL"),
    ],
)
def test_what_it_may_not_have(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"^pool.where: {problem}") as error:
        read_where(text)
    assert "\n" not in str(error.value)


def spec(**pool: Any) -> EvaluationSpec:
    return EvaluationSpec.from_mapping({"pool": pool}, Path("/data"))


def test_a_spec_goes_through_its_mapping() -> None:
    read = spec(path="pool.parquet", where="a = 1")
    mapping = read.to_mapping()
    assert mapping["pool"]["where"] == "a = 1"
    assert EvaluationSpec.from_mapping(mapping, Path("/data")) == read
    assert "where" not in spec(path="pool.parquet").to_mapping()["pool"]


def test_a_spec_with_a_wrong_condition() -> None:
    with pytest.raises(InputError, match=r"pool\.where: a LIKE"):
        spec(path="pool.parquet", where="a LIKE 'x'")
    with pytest.raises(InputError, match=r"pool\.where: must be text"):
        spec(path="pool.parquet", where=3)
