"""Stratified sampling with deviations by the model: unbiased, and better where the model is."""

import numpy as np
import pytest

from evalsampling.measures import Accuracy
from evalsampling.samplers import ModelStratified
from tests.samplers.pools import Pool, make_pool

POOL = make_pool(3000, 30, seed=7, positive=0.2, strength=3)


def test_deviations_are_those_of_the_priors_mean_error() -> None:
    sampler = ModelStratified(Accuracy(), strata=6, least=0.2)
    table, stratum = POOL.table, sampler.stratum(POOL.table)
    found = sampler.deviations(table, POOL.start(), stratum)
    error = 1 - POOL.probability[np.arange(len(POOL)), POOL.prediction]
    for one in range(6):
        mean = error[stratum[POOL.cell] == one].mean()
        assert found[one] == pytest.approx(max(np.sqrt(mean * (1 - mean)), 0.2), rel=1e-6)


def test_labels_do_not_change_the_allocation_and_the_estimate_is_unbiased() -> None:
    """300 evaluations of 60 labels in two rounds; the mean within four of its standard errors."""
    sampler = ModelStratified(Accuracy(), strata=4)
    values = []
    for seed in range(300):
        history, _ = POOL.run(sampler, 2, 30, seed=seed)
        values.append(sampler.value(POOL.table, history, Accuracy(), 0.95)[0])
    spread = np.std(values) / np.sqrt(len(values))
    assert np.mean(values) == pytest.approx(POOL.value(Accuracy()), abs=4 * spread)


def test_stratum_with_one_label_does_not_join_those_that_are_drawn_more() -> None:
    """Of ten strata one has nearly all errors and labels: joined to it others would err as often.

    150 evaluations; the mean within four of its standard errors.
    """
    leaf = np.repeat(np.arange(10), 500)
    error = np.where(leaf == 9, 0.4, 1e-4)
    prediction = (leaf >= 5).astype(int)
    label = np.where(np.random.default_rng(0).random(5000) < error, 1 - prediction, prediction)
    positive = np.where(prediction == 1, 1 - error, error)
    pool = Pool(leaf, prediction, np.stack([1 - positive, positive], axis=1), label)
    sampler, values = ModelStratified(Accuracy()), []
    for seed in range(150):
        history, _ = pool.run(sampler, 1, 12, seed)
        values.append(sampler.value(pool.table, history, Accuracy(), 0.95)[0])
    spread = np.std(values) / np.sqrt(len(values))
    assert np.mean(values) == pytest.approx(pool.value(Accuracy()), abs=4 * spread)


def test_bad_least_deviations_are_refused() -> None:
    for least, words in ((0, "above 0 and at most 0.5"), ("x", "must be a number")):
        with pytest.raises(ValueError, match=words):
            ModelStratified(Accuracy(), least=least)
