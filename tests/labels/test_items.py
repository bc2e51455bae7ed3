"""Items of queries, and their grades by rank."""

import numpy as np
import pyarrow as pa

from evalsampling.labels.items import graded_outputs, item_ids
from evalsampling.stats.history import NO_LABEL

ROWS = pa.table(
    {
        "id": ["a", "b", "c"],
        "prediction.0": [0, 0, 0],
        "prediction.1": [1, 0, 0],
        "list.items": pa.array([["x", "z"], ["x"], []], pa.list_(pa.string())),
        "list.ranks.0": pa.array([[2, 1], [1], []], pa.list_(pa.int32())),
        "list.ranks.1": pa.array([[1, 0], [1], []], pa.list_(pa.int32())),
    }
)


def test_each_item_has_a_name() -> None:
    assert item_ids(ROWS) == ["a/x", "a/z", "b/x"]


def test_grades_stand_by_rank() -> None:
    label = np.array([2, NO_LABEL, 1])
    outputs = graded_outputs(ROWS, label, systems=2, moments=5, depth=3)
    assert outputs.prediction.tolist() == [[0, 1], [0, 0], [0, 0]]
    assert outputs.grades is not None
    assert outputs.grades[0].tolist() == [[-1, 2, -1], [2, -1, -1]]
    assert outputs.grades[1].tolist() == [[1, -1, -1], [1, -1, -1]]
    assert outputs.grades[2].tolist() == [[-1] * 3] * 2
