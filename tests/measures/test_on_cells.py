"""What cells tell of the losses of their rows: against the rows themselves."""

import dataclasses

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.measures import (
    Accuracy,
    Brier,
    FBeta,
    Joint,
    MacroF,
    Measure,
    PRCurve,
    Precision,
    Recall,
)
from evalsampling.measures.on_cells import (
    adds_to,
    cell_norms,
    cells_adding_to,
    loss_norms,
    model_risk,
    numbers_of_rows,
    rows_of_cells,
)
from evalsampling.stats.outputs import Outputs
from tests.samplers.pools import (
    THREE_CLASSES,
    make_pool,
    pooled_pool,
    sizes_of_rows,
    with_second_system,
)


@pytest.mark.parametrize("measure", THREE_CLASSES)
def test_cells_equal_their_rows(measure: Measure) -> None:
    """The risk of a posterior of each leaf, what may add, and the norms."""
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
    norms = cell_norms(measure, pool.table, risk, 1e-9)
    sizes = np.array(sizes_of_rows(pool, measure, 1e-9, of_rows.tolist()))
    np.testing.assert_allclose(norms[pool.cell], sizes, rtol=1e-9)


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
    norms = cell_norms(measure, pool.table, np.array([0.3, 0.5]), 1e-4)
    pooled = int(np.flatnonzero(np.bincount(pool.table.kinds.cell) > 1)[0])
    assert np.all(norms[pooled] >= 1e-4)


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
    kinds = table.kinds.prediction[:, 0]
    of_kind = (by_class.sum(axis=1) * chosen)[table.kinds.cell] * table.kinds.share
    np.testing.assert_allclose(says, np.bincount(kinds, of_kind), rtol=1e-12)


LABELS = (np.array([0, 0]), np.array([1, 1]))


def predicted(*prediction: int) -> Outputs:
    count = len(prediction)
    return Outputs(np.array(prediction)[:, None], np.zeros((count, 1)), np.zeros((count, 1, 2)))


BOTH = Joint((FBeta(), Accuracy()))
ERROR = np.sqrt(1 + 0.16)


@pytest.mark.parametrize(
    ("measure", "risk", "floor", "expected"),
    [
        (FBeta(), [0.2, 0.5], 1e-9, [[0, 0.4], [0.4, 1.2]]),
        (BOTH, [0.2, 0.5, 0.6], 1e-9, [[0, ERROR], [ERROR, 1.2]]),
        (FBeta(), [0.5, 0.5], 1e-3, [[0, 1], [1, 1e-3]]),
    ],
)
def test_norms_by_hand(
    measure: Measure, risk: list[float], floor: float, expected: list[list[float]]
) -> None:
    """At R = (.2, .5): F = .4, Dg = (2, -.8), so a hit weighs 1.2 and an error .4.

    Accuracy adds 1 for an error: roots of the sums of squares. At F = 1 a hit does not move F1: it
    weighs the floor, a true negative still nothing.
    """
    norms = [loss_norms(measure, predicted(0, 1), y, np.array(risk), floor) for y in LABELS]
    np.testing.assert_allclose(norms, expected, rtol=1e-14)


def test_norms_leave_out_what_is_undefined() -> None:
    """No row is predicted positive: precision is 0/0, recall is not."""
    both = Joint((Precision(), Recall()))
    norms = loss_norms(both, predicted(0), np.array([1]), np.array([0, 0, 0, 0.5]), 1e-9)
    assert norms.tolist() == [1e-9]
    norms = loss_norms(both, predicted(0), np.array([1]), np.array([0, 0, 0.2, 0.5]), 1e-9)
    assert norms == pytest.approx(0.2 / 0.25)


def test_measure_without_a_gradient_is_an_input_error() -> None:
    pool = make_pool(20, 2, seed=0)
    with pytest.raises(InputError, match=r"f1 is undefined on this pool \(0/0\)"):
        cell_norms(FBeta(), pool.table, np.zeros(2), 1e-9)
    both = Joint((FBeta(), Accuracy()))
    assert np.any(cell_norms(both, pool.table, np.array([0, 0, 0.1]), 1e-9) > 0)


def test_pooled_cells_have_the_mean_of_their_rows() -> None:
    """One leaf, so that the pooled signatures have the shares of the cell's own rows."""
    pool = make_pool(300, 1, seed=3, classes=3, positive=0.4)
    pool = with_second_system(pool, seed=3, slots=3)
    both = Joint((FBeta(system=1), Precision()))
    assert len(pool.table) == 3
    assert len(pool.table.kinds.cell) > 5
    pi = np.array([[0.5, 0.3, 0.2]])
    of_rows = np.repeat(pi, 300, axis=0)
    risk = sum(of_rows[:, y] @ both.loss(pool.outputs, np.full(300, y)) for y in range(3)) / 300
    found = model_risk(both, pool.table, pool.table.count[:, None] * pi) / 300
    np.testing.assert_allclose(found, risk, rtol=1e-12)
    norms = cell_norms(both, pool.table, risk, 1e-9)
    sizes = np.array(sizes_of_rows(pool, both, 1e-9, of_rows.tolist()))
    for c in range(3):
        mean = sizes[pool.cell == c].mean(axis=0)
        np.testing.assert_allclose(norms[c], np.maximum(mean, 1e-9) if c == 2 else mean, rtol=1e-9)


def test_probabilities_are_those_of_the_cell() -> None:
    """Brier score: loss at the mean probability, 2 (p - y)^2."""
    pool = make_pool(100, 4, seed=5)
    p = pool.table.kinds.probability[:, 0, 1]
    norms = cell_norms(Brier(), pool.table, np.array([0.2]), 1e-9)
    np.testing.assert_allclose(norms, np.stack([2 * p**2, 2 * (1 - p) ** 2], axis=1), rtol=1e-9)
