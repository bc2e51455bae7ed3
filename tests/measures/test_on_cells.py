"""What cells tell of the losses of their rows: against the rows themselves."""

import dataclasses

import numpy as np
import pytest

from evalsampling.measures import Brier, FBeta, Joint, MacroF, Measure, PRCurve, Precision
from evalsampling.measures.on_cells import (
    adds_to,
    cells_adding_to,
    model_risk,
    numbers_of_rows,
    rows_of_cells,
)
from tests.samplers.pools import THREE_CLASSES, make_pool, pooled_pool, with_second_system


@pytest.mark.parametrize("measure", THREE_CLASSES)
def test_cells_equal_their_rows(measure: Measure) -> None:
    """The risk of a posterior of each leaf, and what may add."""
    pool = make_pool(200, 5, seed=1, classes=3, positive=0.4)
    pi = np.random.default_rng(2).dirichlet(np.ones(3), 5)
    of_rows = pi[pool.leaf]
    losses = [measure.loss(pool.outputs, np.full(200, y)) for y in range(3)]
    mass = pool.table.count[:, None] * pi[pool.table.leaf]
    risk = model_risk(measure, pool.table, mass) / 200
    expected = sum(of_rows[:, y] @ losses[y] for y in range(3))
    np.testing.assert_allclose(risk, expected / 200, rtol=1e-12)
    adds = np.stack([np.any(loss != 0, axis=1) for loss in losses], axis=1)
    np.testing.assert_array_equal(adds_to(measure, pool.table)[pool.cell], adds)
    np.testing.assert_array_equal(cells_adding_to(measure, pool.table)[pool.cell], adds.any(1))


def test_pooled_cells_have_the_risk_of_their_rows() -> None:
    """One leaf, so that the pooled signatures have the shares of the cell's own rows."""
    pool = with_second_system(make_pool(300, 1, seed=3, classes=3, positive=0.4), seed=3, slots=3)
    both = Joint((FBeta(system=1), Precision()))
    pi = np.array([[0.5, 0.3, 0.2]])
    risk = model_risk(both, pool.table, pool.table.count[:, None] * pi) / 300
    expected = sum(pi[0, y] * both.loss(pool.outputs, np.full(300, y)).sum(0) for y in range(3))
    np.testing.assert_allclose(risk, expected / 300, rtol=1e-12)


def test_pooled_cells_may_always_add() -> None:
    """What its rows say is known of the commonest alone, so none is written off."""
    pool, measure = pooled_pool(), Precision()
    assert len(pool.table) == 2
    assert adds_to(measure, pool.table).tolist() == [[True, True], [True, True]]
    assert adds_to(measure, dataclasses.replace(pool, slots=4).table).tolist() == [
        [False, False],
        [False, False],
        [True, True],
    ]


def test_scores_that_cells_do_not_know_may_always_add() -> None:
    """A curve of the second system, whose scores are infinite in the table."""
    pool = with_second_system(make_pool(50, 4, seed=4), seed=4)
    curve = PRCurve(thresholds=(1.0, 2.0), system=1)
    assert np.all(adds_to(curve, pool.table))
    first = adds_to(PRCurve(thresholds=(1.0, 2.0)), pool.table)
    expected = np.stack([pool.table.leaf >= 1, np.ones(len(pool.table), bool)], axis=1)
    np.testing.assert_array_equal(first, expected)


@pytest.mark.parametrize(("measure", "held"), [(MacroF(3), 1), (Brier(), None)])
def test_rows_that_stand_for_cells_have_the_probabilities_that_are_looked_at(
    measure: Measure, held: int | None
) -> None:
    """Of 256 sets of labels they took gigabytes."""
    table = make_pool(300, 8, seed=1, classes=3).table
    rows, label = rows_of_cells(measure, table, np.arange(len(table)) < 5)
    assert len(rows) == len(label) >= 5 * 3
    assert np.bincount(label).tolist() == [len(rows) / 3] * 3
    assert rows.probability.shape == (len(rows), 1, 3), "measures may count the classes by it"
    memory = rows.probability.base if held else rows.probability
    assert memory is not None
    assert memory.size == (held or len(rows) * 3)
    assert rows.probability.any() == (held is None)


@pytest.mark.parametrize("measure", [MacroF(3), PRCurve(thresholds=(1.0, 2.0), system=1)])
def test_rows_that_stand_for_cells_are_as_many_as_these(measure: Measure) -> None:
    """With several views of a cell, each stands for an equal part."""
    classes = 3 if isinstance(measure, MacroF) else 2
    pool = make_pool(300, 8, seed=1, classes=classes)
    table = with_second_system(pool, seed=4).table
    chosen = np.arange(len(table)) % 2 == 0
    by_class = np.random.default_rng(3).random((len(table), classes))
    rows, label = rows_of_cells(measure, table, chosen)
    number = numbers_of_rows(measure, table, chosen, by_class)
    assert number.shape == label.shape
    total = np.bincount(label, number)
    np.testing.assert_allclose(total, by_class[chosen].sum(axis=0), rtol=1e-12)
    says = np.bincount(rows.prediction[:, 0], number)
    kinds = table.outputs.prediction[:, 0]
    of_kind = (by_class.sum(axis=1) * chosen)[table.kind_cell] * table.kind_share
    np.testing.assert_allclose(says, np.bincount(kinds, of_kind), rtol=1e-12)
