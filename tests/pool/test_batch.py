"""Rows from anywhere, one by one or in batches, come to the same columns; others are refused."""

import collections
import dataclasses
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
import pytest

from evalsampling.errors import InputError
from evalsampling.pool.batch import PoolBatch, batches_of, mapping_of


class Row(NamedTuple):
    """A row with a type."""

    id: str
    score: float
    other: Any


ROWS = [{"id": "a", "score": 0.5, "other": 1}, {"id": "b", "score": 2.0, "other": None}]
COLUMNS = ["score", "id"]
WANTED = {"score": [0.5, 2.0], "id": ["a", "b"]}


def columns(rows: list[Any]) -> list[dict[str, list[Any]]]:
    """The columns of each batch."""
    return [batch.rows.to_pydict() for batch in batches_of(rows, COLUMNS, "rows")]


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        [Row(**row) for row in ROWS],
        [beam.Row(**row) for row in ROWS],
        [collections.ChainMap(row) for row in ROWS],
        [dataclasses.make_dataclass("Pair", row)(**row) for row in ROWS],
        [ROWS[0], Row(**ROWS[1])],
    ],
    ids=["dicts", "named tuples", "rows of Beam", "mappings", "dataclasses", "a mixture"],
)
def test_single_rows_are_one_batch_of_the_columns_that_are_needed(rows: list[Any]) -> None:
    assert columns(rows) == [WANTED]
    assert mapping_of(rows[0]) == ROWS[0]


@pytest.mark.parametrize(
    "batch",
    [
        pa.table(WANTED),
        pa.concat_tables([pa.table(WANTED).slice(0, 1), pa.table(WANTED).slice(1)]),
        pa.RecordBatch.from_pydict(WANTED),
        PoolBatch(pa.RecordBatch.from_pydict(WANTED), "a file", 7),
    ],
    ids=["table", "table of chunks", "record batch", "batch"],
)
def test_batches_stay_batches(batch: Any) -> None:
    (made,) = batches_of([batch], COLUMNS, "rows of a step")
    assert made.rows.to_pydict() == WANTED
    assert made.path == ("a file" if isinstance(batch, PoolBatch) else "rows of a step")


def test_batches_and_single_rows_may_come_together() -> None:
    assert columns([pa.table(WANTED), ROWS[0], pa.table(WANTED), ROWS[1]]) == [WANTED] * 3
    assert columns([]) == []
    assert columns([pa.table(WANTED).slice(0, 0)]) == []


def test_values_that_are_missing_or_null_stay_null() -> None:
    rows = [{"id": "a", "score": None}, {"id": "b", "score": 1}]
    assert columns(rows) == [{"score": [None, 1], "id": ["a", "b"]}]


@pytest.mark.parametrize("text", ["0,93", "93 %", "1,234.5", "1 234", "-1'234", "high", "x9"])
def test_numbers_that_people_write_come_with_what_to_write(text: str) -> None:
    batch = PoolBatch(pa.record_batch({"score": ["0.5", text]}), "a.csv")
    with pytest.raises(InputError, match="row 1: must be a number, got") as caught:
        batch.numbers("score")
    is_written = text[-1] != "9" and text != "high"
    assert ("write 0.93 for 0,93 or 93 %" in str(caught.value)) == is_written


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [ROWS[0], {"id": "b", "other": 3}],
            "rows: column 'score' is missing in row 1; there are: id, other",
        ),
        ([{}], "rows: column 'score' is missing in row 0; there are: none"),
        ([ROWS[0], {**ROWS[1], "id": 4}], "rows: column 'id', row 1: .*'int' object"),
        ([{**ROWS[0], "id": 1 << 70}], "rows: column 'id', row 0: "),
        ([{**ROWS[0], "score": object()}], "rows: column 'score', row 0: "),
        ([7], "a row is a mapping or a named tuple, got int"),
        (["text"], "a row is a mapping or a named tuple, got str"),
        ([("a", 0.5)], "a row is a mapping or a named tuple, got tuple"),
        ([None], "a row is a mapping or a named tuple, got NoneType"),
    ],
)
def test_rows_that_fit_no_columns_are_refused(rows: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        columns(rows)
    assert "\n" not in str(caught.value)
