"""Outputs of rows as columns of a file."""

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.pool.stored_columns import (
    CELL,
    FILE,
    HASH,
    ID,
    ROW,
    output_columns,
    outputs_of_columns,
)
from evalsampling.preparation.reserve import Reserve
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.slices import SliceCodes

NAMED = {"city": ("Bern",)}


@pytest.mark.parametrize(("systems", "classes"), [(1, 2), (3, 2), (2, 4)])
def test_outputs_of_rows_come_back_as_they_went_in(systems: int, classes: int) -> None:
    """Through a reserve, in its order, with nothing rounded."""
    rng = np.random.default_rng(0)
    outputs = Outputs(
        rng.integers(0, classes, (50, systems)),
        rng.normal(size=(50, systems)),
        rng.random((50, systems, classes)),
        slices=SliceCodes(NAMED, rng.integers(0, 2, (50, 1))),
    )
    columns = {
        CELL: pa.array(rng.integers(0, 4, 50)),
        HASH: pa.array(rng.integers(0, 2**63, 50, dtype=np.uint64)),
        ID: pa.array(np.arange(50)),
        FILE: pa.array(["a"] * 50).dictionary_encode(),
        ROW: pa.array(np.arange(50)),
        **output_columns(outputs),
    }
    reserve = Reserve.from_bytes(Reserve.from_rows(5, [pa.table(columns)]).to_bytes())
    found = outputs_of_columns(reserve.rows, systems, classes, NAMED)
    expected = outputs.take(reserve.rows[ROW].to_numpy())
    assert len(found) > 15
    np.testing.assert_array_equal(found.prediction, expected.prediction)
    np.testing.assert_array_equal(found.score, expected.score)
    np.testing.assert_array_equal(found.slices.code, expected.slices.code)
    np.testing.assert_array_equal(found.probability, expected.probability)


@pytest.mark.parametrize("labels", [9, 16, 500])
def test_predictions_of_many_labels_are_bits(labels: int) -> None:
    rng = np.random.default_rng(1)
    tags = rng.random((30, 2, labels)) < 0.2
    outputs = Outputs(
        rng.integers(0, 2**62, (30, 2)), rng.normal(size=(30, 2)), np.zeros((30, 2, 0)), tags=tags
    )
    columns = output_columns(outputs)
    assert [*columns] == [
        f"{name}.{s}" for s in range(2) for name in ("prediction", "score", "tags")
    ]
    assert columns["tags.0"].type.byte_width == -(-labels // 8)
    found = outputs_of_columns(pa.table(columns).slice(3), 2, labels, {})
    np.testing.assert_array_equal(found.tags, tags[3:])
    np.testing.assert_array_equal(found.prediction, outputs.prediction[3:])
    assert found.probability.shape == (27, 2, 0)
