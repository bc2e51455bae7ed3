"""The section ``pool.table`` of a spec."""

from pathlib import Path
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.spec import EvaluationSpec


def spec(**pool: Any) -> EvaluationSpec:
    return EvaluationSpec.from_mapping({"pool": pool}, Path("/data"))


TABLES = [
    {"delta": "events"},
    {"delta": "s3://lake/events", "version": 5},
    {"iceberg": "db.events", "catalog": "lake"},
    {"iceberg": "db.events", "catalog": {"type": "sql", "uri": "sqlite://"}, "snapshot": 12},
]


@pytest.mark.parametrize("table", TABLES)
def test_a_table_goes_through_its_mapping(table: dict[str, Any]) -> None:
    read = spec(table=table)
    mapping = read.to_mapping()
    assert "path" not in mapping["pool"]
    again = EvaluationSpec.from_mapping(mapping, Path("/elsewhere"), is_stored=True)
    assert again.pool.table == read.pool.table
    assert again.to_mapping() == mapping
    assert read.with_pool(read.pool.at_version(7)).to_mapping() == mapping
    kind, name = next(iter(mapping["pool"]["table"].items()))
    assert read.pool.at_version(7).selection == {"table": {kind: name}, "version": 7}


def test_a_path_of_a_table_is_relative_to_the_spec() -> None:
    assert spec(table={"delta": "events"}).pool.path == "/data/events"


def test_a_table_of_a_package_that_is_not_here() -> None:
    content = {"pool": {"table": {"hudi": "events", "instant": 3}}}
    stored = EvaluationSpec.from_mapping(content, Path("/data"), is_stored=True)
    assert stored.to_mapping()["pool"]["table"] == {"hudi": "events", "instant": 3}


@pytest.mark.parametrize(
    ("pool", "problem"),
    [
        ({"table": {"delta": "a"}, "path": "b"}, "pool.path: a pool has a path or a table"),
        ({"table": {"version": 5}}, "pool.table: must have one of the keys delta, iceberg, spark"),
        ({"table": "events"}, "pool.table: must be a mapping"),
        ({"table": {"delta": "a", "snapshot": 5}}, "unknown key pool.table.snapshot"),
        ({"table": {"delta": "a", "version": "x"}}, "pool.table.version: must be a whole number"),
        ({"table": {"delta": "a", "version": -1}}, "pool.table.version: must be a whole number"),
        ({"table": {"delta": "abfss://a/b"}}, "pool.table.delta: must be a path of this machine"),
        ({"table": {"iceberg": "db.a"}}, "pool.table.catalog: must be the name of a catalog"),
        (
            {"table": {"iceberg": "a", "catalog": {"token": "t0p"}}},
            "pool.table.catalog: token is a secret",
        ),
        (
            {"table": {"iceberg": "a", "catalog": {"uri": "postgresql://me:t0p@host/db"}}},
            "pool.table.catalog: uri has a password",
        ),
        ({"table": {"iceberg": "a", "catalog": 3}}, "pool.table.catalog: must be the name"),
        ({}, "pool.path: missing"),
    ],
)
def test_what_is_wrong_with_it(pool: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        spec(**({"id": "id"} | pool))
