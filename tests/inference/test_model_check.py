"""The check of fit: how often it speaks of labels that fit, and that it speaks of others.

Tolerances: of 300 sets of labels made by the model 3 are expected at LEAST_CHANCE = .01, 10 are
further off than .999 of such numbers.
"""

import numpy as np

from evalsampling.inference.model_check import misfit
from evalsampling.inference.predictive import LabelModel
from evalsampling.stats.history import History
from tests.samplers.pools import make_pool
from tests.stats.histories import labelled_at_random

POOL = make_pool(6000, 12, seed=3, positive=0.1, strength=3)
TABLE = POOL.table
RATE = np.linspace(0.02, 0.9, len(TABLE))[np.argsort(np.argsort(TABLE.prior[:, 1]))]


def draws_about(rate: np.ndarray, seed: int) -> np.ndarray:
    """200 draws of rates near some: shape (draws, cells, classes)."""
    noise = np.random.default_rng(seed).normal(0, 0.02, (200, len(rate)))
    positive = np.clip(rate + noise, 0.001, 0.999)
    return np.stack([1 - positive, positive], axis=2)


def labels_at(rate: np.ndarray, seed: int) -> np.ndarray:
    """Twenty labels of each cell: shape (cells, classes)."""
    positive = np.random.default_rng(seed).binomial(20, rate)
    return np.stack([20 - positive, positive], axis=1)


def test_labels_that_fit_are_hardly_ever_doubted() -> None:
    doubted = [
        misfit(TABLE, labels_at(RATE, seed), draws_about(RATE, seed), np.random.default_rng(seed))
        for seed in range(300)
    ]
    assert sum(words is not None for words in doubted) < 10


def test_band_without_positives_where_the_model_expects_them_is_named() -> None:
    """Spam: the cells with the highest prior probabilities have no positive at all."""
    prior = TABLE.prior[:, 1]
    top = prior >= np.sort(prior)[-3]
    seen = labels_at(np.where(top, 0.0, RATE), 1)
    words = misfit(TABLE, seen, draws_about(RATE, 1), np.random.default_rng(1))
    assert words is not None
    assert words.startswith("of 40 labelled rows ranked")
    assert "0 are of class 1, where the curve makes 34." in words


def test_predictions_that_the_model_is_wrong_about_are_named() -> None:
    """Half of the rows predicted positive are, in every band, where the model expects few."""
    predicted = TABLE.mean_by_cell((TABLE.outputs.prediction[:, 0] == 1).astype(np.float64)) > 0.5
    low = np.full(len(TABLE), 0.1)
    seen = labels_at(np.where(predicted, 0.3, 0.08), 2)
    words = misfit(TABLE, seen, draws_about(low, 2), np.random.default_rng(2))
    assert words is not None
    assert "predicted to be of it" in words


def test_no_labels_contradict_nothing() -> None:
    seen = np.zeros((len(TABLE), 2), dtype=np.int64)
    assert misfit(TABLE, seen, draws_about(RATE, 1), np.random.default_rng(1)) is None


def test_model_of_ordinary_labels_is_not_contradicted() -> None:
    history: History = labelled_at_random(POOL, 300, seed=4)
    assert LabelModel.fit(TABLE, history, (1,)).contradiction is None
