"""Probabilities by a model of the user's own, and what is wrong with one."""

from collections.abc import Callable

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.inference.own_model import probabilities
from evalsampling.measures import FBeta
from evalsampling.samplers import Passive
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from tests.samplers.pools import make_pool

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
