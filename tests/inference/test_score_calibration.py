"""Calibration of scores by labels, against scikit-learn's isotonic regression and the truth."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from evalsampling.errors import InputError
from evalsampling.inference.anticipation import calibrated_prior
from evalsampling.inference.score_calibration import (
    PSEUDO_LABELS,
    isotonic_prior,
    probabilities,
    recalibrated,
    recalibrated_table,
)
from evalsampling.measures import FBeta
from evalsampling.samplers import Passive
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from tests.samplers.pools import Pool, make_pool


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


def test_without_labels_or_calibration_scores_stay_as_they_are() -> None:
    pool = make_pool(100, 5, seed=1)
    assert recalibrated(pool.table, pool.start(), "isotonic") is pool.table.prior
    history, _ = pool.run(Passive(FBeta()), 1, 10, seed=1)
    assert recalibrated_table(pool.table, history, None) is pool.table


POOL = make_pool(200, 5, seed=2, positive=0.3)
HISTORY, ORDER = POOL.run(Passive(FBeta()), 2, 30, seed=3)
CELLS = len(POOL.table)


def smoothed(cells: CellTable, labels: FloatArray) -> FloatArray:
    shares = cells.prior + labels
    return shares / shares.sum(axis=1, keepdims=True)


def test_it_gets_the_cells_and_the_labels_of_each() -> None:
    given = []

    def model(cells: CellTable, labels: FloatArray) -> FloatArray:
        given.append((cells, labels))
        return smoothed(cells, labels)

    found = probabilities("key", model, POOL.table, HISTORY)
    [(cells, labels)] = given
    np.testing.assert_array_equal(cells.count, POOL.table.count)
    np.testing.assert_array_equal(cells.prior, POOL.table.prior)
    np.testing.assert_array_equal(labels, POOL.seen(POOL.rows(HISTORY, ORDER)))
    assert labels.sum() == 60
    np.testing.assert_allclose(found, smoothed(cells, labels), rtol=1e-12)


def test_every_class_keeps_a_chance() -> None:
    def certain(cells: CellTable, labels: FloatArray) -> FloatArray:
        return np.tile([1.0, 0.0], (len(cells), 1))

    found = probabilities("key", certain, POOL.table, HISTORY)
    np.testing.assert_allclose(found, np.tile([1, 1e-9], (CELLS, 1)), rtol=1e-8)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-15)


def broken(cells: CellTable, labels: FloatArray) -> FloatArray:
    raise KeyError("no such\ncell")


def with_one(cell: int, values: list[float]) -> Callable[[CellTable, FloatArray], FloatArray]:
    def model(cells: CellTable, labels: FloatArray) -> FloatArray:
        found = smoothed(cells, labels)
        found[cell] = values
        return found

    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (broken, r"key: the model failed: KeyError: 'no such\\ncell'"),
        (lambda cells, labels: labels[:, 0], f"shape \\({CELLS}, 2\\), got \\({CELLS},\\)"),
        (lambda cells, labels: cells.leaf_prior, f"shape \\({CELLS}, 2\\), got \\(5, 2\\)"),
        (lambda cells, labels: None, "the model failed|must return an array of shape"),
        (lambda cells, labels: "much", "key: the model failed: ValueError: could not convert"),
        (with_one(3, [np.nan, 1]), "probabilities from 0 to 1, got nan in cell 3"),
        (with_one(2, [-0.1, 1.1]), "probabilities from 0 to 1, got -0.1 in cell 2"),
        (with_one(1, [np.inf, 0]), "probabilities from 0 to 1, got inf in cell 1"),
        (with_one(4, [0.5, 0.4]), "must sum up to 1, got 0.9 in cell 4"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    model: Callable[[CellTable, FloatArray], FloatArray], message: str
) -> None:
    with pytest.raises(InputError, match=message) as error:
        probabilities("key", model, POOL.table, HISTORY)
    assert len(str(error.value).splitlines()) == 1


def test_what_it_writes_into_the_cells_changes_nothing() -> None:
    prior, count = POOL.table.prior.copy(), POOL.table.count.copy()

    def model(cells: CellTable, labels: FloatArray) -> FloatArray:
        cells.prior[:] = 1 / cells.classes
        cells.count[:] = 1
        cells.memory["tree"] = None
        return cells.prior

    probabilities("key", model, POOL.table, HISTORY)
    np.testing.assert_array_equal(POOL.table.prior, prior)
    np.testing.assert_array_equal(POOL.table.count, count)
    assert "tree" not in POOL.table.memory


def overconfident(pool: Pool, factor: float) -> Pool:
    """The same rows with log-odds so many times as large."""
    p = pool.probability**factor
    return dataclasses.replace(pool, probability=p / p.sum(axis=1, keepdims=True))


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
