"""Calibration of scores by labels, against scikit-learn's isotonic regression and the truth."""

import dataclasses

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from evalsampling.inference.anticipation import calibrated_prior
from evalsampling.inference.score_calibration import (
    PSEUDO_LABELS,
    isotonic_prior,
    recalibrated,
    recalibrated_table,
)
from evalsampling.measures import FBeta
from evalsampling.samplers import Passive
from tests.samplers.pools import Pool, make_pool


def overconfident(pool: Pool, factor: float) -> Pool:
    """The same rows with log-odds so many times as large."""
    p = pool.probability**factor
    return dataclasses.replace(pool, probability=p / p.sum(axis=1, keepdims=True))


def test_isotonic_is_that_of_scikit_learn() -> None:
    """Labels of weight 1 and pseudo-labels of the logistic fit, by rows in place of by cells."""
    pool = make_pool(500, 20, seed=2, positive=0.3)
    table = pool.table
    rng = np.random.default_rng(1)
    rows = rng.integers(0, len(pool), 60)
    found = isotonic_prior(table, pool.seen(rows))[:, 1]
    prior = table.prior[:, 1]
    smooth = calibrated_prior(table, pool.seen(rows))[:, 1]
    pseudo = PSEUDO_LABELS * table.count / table.rows
    x = np.concatenate([prior[pool.cell[rows]], prior])
    y = np.concatenate([pool.label[rows], smooth])
    weight = np.concatenate([np.ones(len(rows)), pseudo])
    reference = IsotonicRegression().fit(x, y, weight).predict(prior)
    np.testing.assert_allclose(found, reference, atol=1e-12)
    assert np.all(np.diff(found[np.argsort(prior)]) >= -1e-12)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("calibration", ["logistic", "isotonic"])
def test_labels_bring_wrong_scores_nearer_to_the_truth(calibration: str, classes: int) -> None:
    """Log-odds three times too large: the mean absolute error of the rates falls by a third."""
    pool = overconfident(make_pool(3000, 30, seed=3, classes=classes, positive=0.3), 3.0)
    history, _ = pool.run(Passive(FBeta()), 1, 400, seed=1)
    found = recalibrated(pool.table, history, calibration)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    truth = pool.truth / pool.table.count[:, None]
    share = pool.table.count / pool.table.rows

    def error(rate: np.ndarray) -> float:
        return float(share @ np.abs(rate - truth).sum(axis=1))

    assert error(found) < error(pool.table.prior) * 2 / 3
    again = recalibrated_table(pool.table, history, calibration)
    np.testing.assert_array_equal(again.prior, found)


def test_without_labels_or_calibration_scores_stay_as_they_are() -> None:
    pool = make_pool(100, 5, seed=1)
    assert recalibrated(pool.table, pool.start(), "isotonic") is pool.table.prior
    history, _ = pool.run(Passive(FBeta()), 1, 10, seed=1)
    assert recalibrated_table(pool.table, history, None) is pool.table
