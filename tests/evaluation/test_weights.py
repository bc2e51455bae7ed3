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


STATSMODELS = {
    "accuracy by w": (0.5949396978432011, 0.08219381018910199),
    "precision by w": (0.7120999281666532, 0.11821831100981205),
    "recall by w": (0.6192968451740533, 0.09568660454267633),
}
"""Of the draws below by statsmodels 0.15.0: hits on a constant, `WLS(...).fit(cov_type="HC1")`."""


def test_even_draws_have_the_error_of_a_ratio_estimate() -> None:
    """Cochran, eq. 6.13, by hand and by another package; draws are with replacement."""
    rng = np.random.default_rng(7)
    score = rng.random(500)
    label = (rng.random(500) < score).astype(int)
    weight = np.round(np.exp(rng.normal(size=500)), 3)
    predicted = (score > 0.6).astype(int)
    evaluation = Evaluation.from_frame(
        {"score": score, "prediction": predicted, "w": weight},
        weight="w",
        measure=["accuracy", "precision", "recall"],
        sampler="passive",
        seed=1,
    )
    ids = evaluation.sample(100)
    evaluation.label(ids, label[ids])
    rows = np.asarray(ids)[evaluation.history.question]
    y, f, w = label[rows], predicted[rows], weight[rows]
    counted = {
        "accuracy": (y == f, np.ones(len(rows))),
        "precision": (y * f, f),
        "recall": (y * f, y),
    }
    for one, (hit, of) in zip(evaluation.estimate(), counted.values(), strict=True):
        value = (w @ hit) / (w @ of)
        square = np.sum((w * (hit - value * of)) ** 2) / (len(rows) * (len(rows) - 1))
        found = one.value, one.standard_error
        assert found == pytest.approx((value, np.sqrt(square) / np.mean(w * of)), rel=1e-12)
        assert found == pytest.approx(STATSMODELS[one.measure], rel=1e-12)
