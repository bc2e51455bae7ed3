"""Cells of rows, against a loop over the rows."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import assign_cells
from evalsampling.preparation.plan import stratify_rows
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from tests.jobs import make_pool, make_rich_pool

EDGES = [-3.0, -1.5, 0.0, 2.0, 900.0]


def test_cells_of_rows_by_hand(job: Any) -> None:
    """A cell is a leaf with a prediction; its sums are those of its rows."""
    one = job(make_pool(), strata={"edges": EDGES}, pool={"probability": "score_probability"})
    score = one.pool.table["score"].to_numpy()
    p = 1 / (1 + np.exp(-score))
    table = one.pool.table.append_column("score_probability", [p])
    spec = EvaluationSpec.load(one.spec)
    stratification = Stratification.from_summary(None, spec.reading)
    cells = assign_cells(PoolBatch(table.combine_chunks().to_batches()[0]), stratification)
    by_hand = [(sum(edge <= s for edge in EDGES), s > 1) for s in score.tolist()]
    assert len(set(by_hand)) == len(set(zip(by_hand, cells.cell.tolist(), strict=True)))
    count = cells.sums().count
    assert sorted(count[count > 0].tolist()) == sorted(Counter(by_hand).values())
    np.testing.assert_allclose(cells.prior, np.stack([1 - p, p], axis=1))
    for code in np.unique(cells.cell):
        here = cells.cell == code
        assert count[code] == here.sum()
        assert np.unique(cells.outputs.prediction[here]).size == 1
    assert cells.ids.to_pylist() == table["id"].to_pylist()
    assert count.sum() == pytest.approx(len(table))


def test_a_batch_without_rows_adds_nothing(job: Any) -> None:
    """Also where the systems have probabilities of their own."""
    systems = {
        name: {
            "score": f"{name}.score",
            "prediction": f"{name}.prediction",
            "probability": f"{name}.chance",
        }
        for name in ("s0", "s1")
    }
    one = job(make_rich_pool(), pool={"systems": systems}, measure={"difference": "brier"})
    spec = EvaluationSpec.load(one.spec)
    rows = PoolBatch(one.pool.table.combine_chunks().to_batches()[0])
    stratification = stratify_rows([rows], spec.reading)
    assert stratification.has_system_probabilities
    nothing = PoolBatch(rows.rows.slice(0, 0))
    assert assign_cells(nothing, stratification).sums().count.sum() == 0


def test_rows_are_given_on_with_the_confidences_they_came_with(job: Any) -> None:
    """They may come again, as rows to join with labels do, and have the same cells."""
    pool = make_pool()
    score, says = (pool.table[name].to_numpy() for name in ("score", "prediction"))
    chance = 1 / (1 + np.exp(-score))
    confidence = np.where(says == 1, chance, 1 - chance)
    pool = pool.with_columns(score=confidence, old=chance**2)
    systems = {
        "new": {"score": "score", "prediction": "prediction", "score_is": "confidence"},
        "old": {"score": "old", "prediction": {"threshold": 0.5}},
    }
    one = job(pool, pool={"systems": systems}, measure={"difference": "brier"})
    rows = PoolBatch(pool.table.combine_chunks().to_batches()[0])
    plan = EvaluationSpec.load(one.spec).reading
    cells = assign_cells(rows, stratify_rows([rows], plan))
    np.testing.assert_allclose(cells.outputs.score[:, 0], chance)
    np.testing.assert_allclose(cells.prior[:, 1], chance)
    np.testing.assert_array_equal(cells.batch.rows["score"].to_numpy(), confidence)
    again = assign_cells(cells.batch, cells.stratification)
    np.testing.assert_array_equal(again.cell, cells.cell)
