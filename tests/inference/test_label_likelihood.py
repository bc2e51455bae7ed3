"""The label likelihood against the thesis's definition, and what is said where it is low."""

import dataclasses

import numpy as np
import pytest

from evalsampling.inference.label_likelihood import (
    WORTH_CHOOSING,
    doubts,
    expected_likelihood,
    label_likelihood,
)
from evalsampling.measures import Accuracy
from evalsampling.samplers import OptimalImportance, Passive
from evalsampling.stats.history import NO_LABEL
from tests.samplers.pools import make_pool

POOL = make_pool(3000, 12, seed=5, positive=0.3, strength=3)


def test_likelihood_to_expect_is_by_hand() -> None:
    """exp(mean of sum p log p), cell by cell."""
    table = POOL.table
    entropy = 0.0
    for rows, prior in zip(table.count, table.prior, strict=True):
        entropy -= rows * sum(p * np.log(p) for p in prior.tolist() if p > 0)
    assert expected_likelihood(table) == pytest.approx(np.exp(-entropy / table.rows), rel=1e-3)


@pytest.mark.parametrize("sampler", [Passive(Accuracy()), OptimalImportance(Accuracy())],
                         ids=lambda one: one.name)  # fmt: skip
def test_likelihood_of_labels_estimates_that_of_the_pool(sampler: Passive) -> None:
    """Eq. 2.9 over all labels of the pool; 2,000 draws, five standard errors of the logarithm."""
    log = np.log(np.maximum(POOL.table.prior[POOL.cell, POOL.label], 1e-4))
    history, _ = POOL.run(sampler, 1, 1000, seed=2)
    found = label_likelihood(POOL.table, history, sampler.weigh(POOL.table, history))
    assert found is not None
    assert np.log(found) == pytest.approx(log.mean(), abs=5 * log.std() / np.sqrt(1000))


def test_few_labels_say_nothing() -> None:
    sampler = Passive(Accuracy())
    history, _ = POOL.run(sampler, 1, 100, seed=2)
    inside = np.zeros(len(history), dtype=bool)
    inside[:20] = True
    sample = sampler.weigh(POOL.table, history)
    assert label_likelihood(POOL.table, history, sample, inside) is None
    assert label_likelihood(POOL.table, history, sample, ~inside) is not None
    none = dataclasses.replace(history, label=np.full(len(history), NO_LABEL))
    assert label_likelihood(POOL.table, none, sampler.weigh(POOL.table, none)) is None


def test_doubts_begin_below_the_threshold() -> None:
    assert doubts(WORTH_CHOOSING, "here") == []
    assert doubts(None, "here") == []
    (warning,) = doubts(0.3, "that the labels show")
    assert "the label likelihood that the labels show is 0.30, below 0.6" in warning
