"""Items of queries as tasks, and grades as they come back."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.labels.items import graded_outputs, item_ids, subject_rows
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.history import NO_LABEL
from tests.queries import make_queries

ROWS = pa.table(
    {
        "id": ["a", "b", "c"],
        "prediction.0": [0, 0, 0],
        "prediction.1": [1, 0, 0],
        "list.items": pa.array([["x", "z"], ["x"], []], pa.list_(pa.string())),
        "list.places": pa.array([[0, 2], [1], []], pa.list_(pa.int32())),
        "list.ranks.0": pa.array([[2, 1], [1], []], pa.list_(pa.int32())),
        "list.ranks.1": pa.array([[1, 0], [1], []], pa.list_(pa.int32())),
        "payload.text": ["first", "second", None],
        "payload.title": ['["one", "two", "three"]', '[null, {"n": 1}]', "[]"],
    }
)
SPEC = EvaluationSpec.from_mapping(make_queries(2).spec(), Path())


def test_each_item_has_a_name_and_what_belongs_to_it() -> None:
    assert item_ids(ROWS) == ["a/x", "a/z", "b/x"]
    shown = subject_rows(ROWS, SPEC)
    assert shown["id"].to_pylist() == ["a/x", "a/z", "b/x"]
    assert shown["payload.text"].to_pylist() == ["first", "first", "second"]
    assert shown["payload.title"].to_pylist() == ["one", "three", '{"n": 1}']


def test_a_payload_that_is_too_short_is_an_error() -> None:
    short = ROWS.set_column(8, "payload.title", pa.array(['["one", "two"]', "[1, 2]", "[]"]))
    with pytest.raises(ValueError, match="column 'title' has 2 values for more items"):
        subject_rows(short, SPEC)


@pytest.mark.parametrize("stored", [[1, 2, 3], ["p", "q", "r"], ['{"a": 1}'] * 3])
def test_a_payload_without_lists_is_an_error(stored: list[object]) -> None:
    wrong = ROWS.set_column(8, "payload.title", pa.array(stored))
    with pytest.raises(ValueError, match="column 'title' has no lists: "):
        subject_rows(wrong, SPEC)


def test_a_query_is_graded_once_all_its_items_are() -> None:
    label = np.array([2, NO_LABEL, 1])
    outputs, done = graded_outputs(ROWS, label, systems=2, moments=5, depth=3)
    assert done.tolist() == [NO_LABEL, 0, 0]
    assert outputs.prediction.tolist() == [[0, 1], [0, 0], [0, 0]]
    assert outputs.grades is not None
    assert outputs.grades[0].tolist() == [[-1, 2, -1], [2, -1, -1]]
    assert outputs.grades[1].tolist() == [[1, -1, -1], [1, -1, -1]]
    assert outputs.grades[2].tolist() == [[-1] * 3] * 2
