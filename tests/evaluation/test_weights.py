"""Pools whose rows count by weight, against pools in which each row stands so often."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import Evaluation
from tests.golden.cases import CASES
from tests.golden.pools import pool_of
from tests.slow import fast

KINDS = ("measures of two classes by ais", "measures of four classes by ais", "numbers by passive",
         "numbers compared", "label sets by stratified", "many labels by poisson",
         "the least of slices by ais", "difference and ratio")  # fmt: skip


def values(case: str, copies: np.ndarray, **pool: Any) -> np.ndarray:
    """All numbers of a case, by the labels of all of its rows, which are taken by number."""
    keys, rows = CASES[case].keys, pool_of(CASES[case].pool)
    table = rows.table.take(pa.array(copies))
    label = [rows.truth[id] for id in table["id"].to_pylist()]
    place = table.schema.get_field_index("id")
    table = table.set_column(place, "id", pa.array(np.arange(len(table))))
    table = table.append_column("count", pa.array(np.arange(len(table)) % 4))
    spec = {**keys, "sampler": "passive", "pool": {**keys["pool"], **pool}}
    evaluation = Evaluation.from_frame(table, **spec)
    ids = evaluation.sample(len(table))
    evaluation.label(ids, [label[id] for id in ids.tolist()])
    return np.array([one.value for one in evaluation.estimate()], float)


@pytest.mark.parametrize("case", fast(3, KINDS))
def test_all_labels_give_the_numbers_of_rows_by_copies(case: str) -> None:
    """Rows count 0 to 3 times."""
    rows = np.arange(len(pool_of(CASES[case].pool).table))
    found, expected = values(case, rows, weight="count"), values(case, np.repeat(rows, rows % 4))
    assert np.isfinite(expected).mean() > 0.9
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)
