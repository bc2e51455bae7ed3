"""The column of labels that rows have already: its values, and what is none."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import InputError
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import read_given
from tests.spec.specs import parse


def given(values: Any, drawn: Any = "random", **keys: Any) -> list[Any]:
    """Return the codes of a column."""
    columns = {"human": pa.array(values), **keys.pop("columns", {})}
    spec = parse(labels={"column": "human", "drawn": drawn, **keys})
    batch = PoolBatch(pa.record_batch(columns), "pool.parquet", 100)
    return [column.to_pylist() for column in read_given(batch, spec.labels).values()]


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([1, None, 0], [1, None, 0]),
        ([1.0, float("nan"), 0.0], [1, None, 0]),
        ([True, None, False], [1, None, 0]),
        (["1", " ", "", "0"], [1, None, None, 0]),
        ([None, None], [None, None]),
    ],
)
def test_values(values: Any, codes: list[int | None]) -> None:
    assert given(values) == [codes]


def test_texts_in_another_spelling() -> None:
    classes = {"classes": ["bad", "good"]}
    assert given(["Good", None, "bad", "yes"], **classes) == [[1, None, 0, 1]]


def test_what_is_no_label_is_named_with_its_row() -> None:
    with pytest.raises(InputError, match="column 'human', row 102: label") as caught:
        given(["1", "", "NA"])
    told = "label 'NA' is none of: 0, 1; the cell is empty where nobody was asked, not where nobody"
    assert told in str(caught.value)


def test_numbers_are_of_labelled_rows_alone() -> None:
    columns = {"p": pa.array([0.5, None, 1.0])}
    assert given([1, None, 0], {"chance": "p"}, columns=columns) == [[1, None, 0], [0.5, None, 1.0]]


@pytest.mark.parametrize(
    ("drawn", "number", "problem"),
    [
        ("chance", 0.0, "a chance is above 0 and at most 1, got 0"),
        ("chance", 1.5, "a chance is above 0 and at most 1, got 1.5"),
        ("weight", -1.0, "a weight is above 0, got -1"),
        ("weight", float("inf"), "must be a finite number"),
        ("weight", None, "null"),
    ],
)
def test_numbers_that_are_none(drawn: str, number: float | None, problem: str) -> None:
    columns = {"p": pa.array([None, 1.0, number])}
    with pytest.raises(InputError, match=f"column 'p', row 102: {problem}"):
        given([None, 1, 0], {drawn: "p"}, columns=columns)


def test_a_spec_without_labels_reads_none() -> None:
    batch = PoolBatch(pa.record_batch({"human": pa.array(np.zeros(3))}))
    assert read_given(batch, parse().labels) == {}
