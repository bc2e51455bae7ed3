"""Sampling from one's own weights."""

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.measures import Accuracy, FBeta, Precision, Prevalence, Recall
from evalsampling.samplers import Given
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from tests.samplers.pools import make_pool, one_two_three

POOL = make_pool(90, 5, seed=1, positive=0.3)


def predicted_only(table: CellTable, history: History) -> np.ndarray:
    return np.asarray(table.outputs.prediction[:, 0] == 1)


def more_where_labelled(table: CellTable, history: History) -> np.ndarray:
    """Weights that adapt."""
    return 1 + np.bincount(history.cell, minlength=len(table))


@pytest.mark.parametrize("weights", [one_two_three, predicted_only, more_where_labelled])
def test_rows_are_drawn_in_proportion_to_the_weights(weights: object) -> None:
    sampler = Given(FBeta(), weights=weights)  # type: ignore[arg-type]
    history, order = POOL.run(sampler, 2, 10, seed=1)
    of_cell = np.asarray(weights(POOL.table, history), dtype=float)  # type: ignore[operator]
    of_row = of_cell[POOL.cell]
    q = POOL.row_probability(sampler.proposal(POOL.table, history), history, order)
    np.testing.assert_allclose(q, of_row / of_row.sum(), rtol=1e-12)


def test_pool_may_be_mixed_in() -> None:
    sampler = Given(FBeta(), weights=predicted_only, delta=0.1)
    q = sampler.proposal(POOL.table, POOL.start()).cell_probability[POOL.cell]
    inside = POOL.prediction == 1
    np.testing.assert_allclose(q, 0.9 * inside / inside.sum() + 0.1 / 90, rtol=1e-12)
    assert sampler.covers_pool(POOL.table)
    assert np.all(sampler.support(POOL.table))


def test_support_is_what_the_weights_reach() -> None:
    some = Given(FBeta(), weights=predicted_only)
    np.testing.assert_array_equal(
        some.support(POOL.table), POOL.table.outputs.prediction[:, 0] == 1
    )
    assert some.can_estimate(POOL.table, Precision())
    for measure in (FBeta(), Recall(), Accuracy(), Prevalence()):
        assert not some.can_estimate(POOL.table, measure)
        assert Given(FBeta(), weights=one_two_three).can_estimate(POOL.table, measure)
    assert not some.covers_pool(POOL.table)
    assert Given(FBeta(), weights=one_two_three).covers_pool(POOL.table)
    history, _ = POOL.run(some, 1, 20, seed=1)
    precision, recall = some.estimate(POOL.table, history, [Precision(), Recall()], 0.95)
    assert precision.value is not None
    assert "no chance of being drawn" in str(recall.reason)


def test_ends_when_all_that_is_reached_is_drawn() -> None:
    sampler = Given(Precision(), weights=predicted_only)
    inside = int(np.sum(POOL.prediction == 1))
    history, _ = POOL.run(sampler, 20, 200, seed=1)
    assert len(history) == inside
    assert sampler.exhausted(POOL.table, history)
    (found,) = sampler.estimate(POOL.table, history, [Precision()], 0.95)
    assert found.value == pytest.approx(POOL.value(Precision()), abs=1e-12)
    assert found.intervals[0].method == "census"


@pytest.mark.parametrize("weights", [None, 3.0, "uniform", np.ones(4)])
def test_weights_are_a_function(weights: object) -> None:
    with pytest.raises(ValueError, match="weights must be a function"):
        Given(FBeta(), weights=weights)  # type: ignore[arg-type]


BAD = {
    "negative": lambda t, h: -np.ones(len(t)),
    "one negative": lambda t, h: np.where(np.arange(len(t)) == 1, -1e-9, 1),
    "all zero": lambda t, h: np.zeros(len(t)),
    "not a number": lambda t, h: np.full(len(t), np.nan),
    "infinite": lambda t, h: np.full(len(t), np.inf),
}


@pytest.mark.parametrize("weights", BAD)
def test_weights_that_are_none_are_refused(weights: str) -> None:
    sampler = Given(FBeta(), weights=BAD[weights])
    with pytest.raises(InputError, match="weights must be finite, at least 0, and one of them"):
        sampler.proposal(POOL.table, POOL.start())


@pytest.mark.parametrize("shape", [(1,), (), (90,), (2, 2)])
def test_there_is_one_weight_for_each_cell(shape: tuple[int, ...]) -> None:
    sampler = Given(FBeta(), weights=lambda t, h: np.ones(shape))
    with pytest.raises(InputError, match=r"weights must have shape \(\d+,\), got"):
        sampler.design(POOL.table, POOL.start(), 5, np.random.default_rng(0))
