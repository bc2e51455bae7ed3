"""A run of `estimate`: its name, and its tidy table."""

import dataclasses
import datetime

import pytest

from evalsampling.receivers.run import SCHEMA, TITLE, title_of
from evalsampling.report.numbers import label_of
from tests.receivers.runs import evaluation, run


def test_the_same_estimates_have_the_same_name_and_others_another() -> None:
    again = dataclasses.replace(run(), time=datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC))
    assert again.id == run().id
    assert len(run().id) == 32
    others = [
        dataclasses.replace(run(), workspace="/elsewhere"),
        dataclasses.replace(run(), pool=({"path": "/data/pool/a.parquet", "size": 8},)),
        dataclasses.replace(run(), labels=151),
        dataclasses.replace(run(), numbers=run().numbers[1:]),
        dataclasses.replace(run(), gates=None),
    ]
    assert len({run().id, *(other.id for other in others)}) == 6


def test_the_table_has_a_row_for_each_number() -> None:
    table = run().table
    assert table.schema == SCHEMA
    rows = table.to_pylist()
    assert len(rows) == len(run().numbers)
    for row, number in zip(rows, run().numbers, strict=True):
        assert [row[name] for name in TITLE] == [getattr(number, name) for name in TITLE]
        assert (row["value"], row["low"], row["high"]) == (number.value, number.low, number.high)
        assert (row["level"], row["method"], row["claims"]) == (0.95, number.method, number.claims)
        assert (row["run_id"], row["evaluation"], row["labels"]) == (run().id, "pairs", 150)
    assert len({row["estimate_id"] for row in rows}) == len(rows)
    assert {row["slice"] for row in rows} == {None, "city=Bern", "city=Zürich"}
    assert {row["system"] for row in rows} == {"old", "new"}
    assert {row["threshold"] for row in rows} >= {None, 0.0, 1.0}


def test_warnings_are_a_line_each_whatever_a_slice_is_called() -> None:
    made = dataclasses.replace(run(), warnings=("recall where city=a\nb: few", "f1: few"))
    assert set(made.table["warnings"].to_pylist()) == {"recall where city=a b: few\nf1: few"}


def test_gates_stand_in_the_rows_of_their_numbers() -> None:
    gated = {title_of(n): r for n, r in zip(run().numbers, run().table.to_pylist(), strict=True)}
    recall = gated["recall of new"]
    assert (recall["at_least"], recall["at_most"]) == (0.2, 0.9999)
    difference = gated["f1 of old against new"]
    assert (difference["at_least"], difference["gate"]) == (0.9, "not reached")
    assert gated["f1 of old"]["gate"] is None
    assert sum(row["gate"] is not None for row in gated.values()) == 3


@pytest.mark.slow
def test_an_evaluation_in_memory_has_the_same_table() -> None:
    table = evaluation().results()
    assert table.schema == SCHEMA
    assert table["workspace"].null_count == table["pool_version"].null_count == len(table)
    same = ["measure", "system", "slice", "value", "low", "high", "method", "labels"]
    assert table.select(same) == run().table.select(same)


@pytest.mark.parametrize(
    ("measure", "label"), [("class_f1[toxic]", "toxic"), ("f1", None), ("fbeta(beta=2)", None)]
)
def test_labels_of_measures(measure: str, label: str | None) -> None:
    assert label_of(measure) == label


def test_a_password_in_a_url_is_not_passed_on() -> None:
    secret = dataclasses.replace(run().source, path="s3://user:secret@bucket/pool.parquet")
    assert "secret" not in dataclasses.replace(run(), source=secret).origin["pool"]
