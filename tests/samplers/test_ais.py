"""Adaptive importance sampling against its formulas row by row."""

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.measures import Accuracy, FBeta, Measure, Precision, Recall
from evalsampling.samplers import AdaptiveImportance
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.stats.oracle import MAX_ITERATIONS
from tests.samplers.pools import (
    Lopsided,
    Pool,
    labels_known,
    leaf_means,
    make_pool,
    optimal_proposal,
)
from tests.stats.row_model import RowModel

MEASURES = [FBeta(), Precision(), Recall(), Accuracy()]
IDS = [measure.name for measure in MEASURES]


def slow_proposal(
    pool: Pool, sampler: AdaptiveImportance, known: np.ndarray, start: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Posterior of the leaves and sampling probability of the rows (methods, section 3)."""
    prior = leaf_means(pool)
    model = RowModel(sampler.branching, prior, pool.leaf.tolist(), known.tolist(), start)
    model.settle(1e-4, MAX_ITERATIONS)
    floor = 1e-9 * max(np.sum(known < 0), 1) / len(pool)
    measure = sampler.measure
    q = optimal_proposal(pool, measure.name, measure.positive, floor, model.row)
    return model.posterior(), q


@pytest.mark.parametrize("measure", MEASURES, ids=IDS)
@pytest.mark.parametrize(
    ("classes", "branching", "leaves"), [(2, 2, 8), (2, 8, 8), (2, 2, 6), (3, 2, 5), (3, 3, 9)]
)
def test_proposals_follow_the_formulas(
    measure: Measure, classes: int, branching: int, leaves: int
) -> None:
    """Before any label, and after one and two rounds, the model starting from the last one."""
    pool = make_pool(120, leaves, seed=7, classes=classes, positive=0.3)
    sampler = AdaptiveImportance(measure, branching=branching)
    history, order, start = History(), pool.order(1), None
    for number in range(3):
        proposal = sampler.proposal(pool.table, history)
        known = labels_known(pool, history, order)
        posterior, expected = slow_proposal(pool, sampler, known, start)
        assert proposal.posterior is not None
        # Prior probabilities in the table are rounded to 2^-33.
        np.testing.assert_allclose(proposal.posterior, posterior, rtol=1e-6)
        q = pool.row_probability(proposal, history, order)
        np.testing.assert_allclose(q, expected, rtol=1e-6, atol=1e-15)
        assert q.sum() == pytest.approx(1, abs=1e-12)
        rng = np.random.default_rng(number)
        history = pool.answer(sampler.design(pool.table, history, 8, rng), order)
        start = history.rounds[-1].posterior
        np.testing.assert_array_equal(start, proposal.posterior)
    assert len(history.labelled) >= 15


def test_rows_without_label_stay_in_their_cell() -> None:
    pool = make_pool(120, 4, seed=8, positive=0.3)
    sampler = AdaptiveImportance(FBeta())
    history, order = pool.run(sampler, rounds=1, new_rows=40, seed=2)
    silent = history.with_labels(np.where(np.arange(40) % 3 == 0, NO_LABEL, history.label))
    proposal = sampler.proposal(pool.table, silent)
    assert proposal.atom.tolist() == [i for i in range(40) if i % 3]
    q = pool.row_probability(proposal, silent, order)
    rows = pool.rows(silent, order)[::3]
    np.testing.assert_array_equal(q[rows], proposal.cell_probability[pool.cell[rows]])
    known = labels_known(pool, silent, order)
    _, expected = slow_proposal(pool, sampler, known, history.rounds[-1].posterior)
    np.testing.assert_allclose(q, expected, rtol=1e-6, atol=1e-15)
    assert q.sum() == pytest.approx(1, abs=1e-12)


def test_labelled_row_that_adds_nothing_is_not_drawn_again() -> None:
    """A true negative has no part in F1; every other row keeps a chance."""
    pool = make_pool(120, 4, seed=8, positive=0.3)
    sampler = AdaptiveImportance(FBeta())
    history, order = pool.run(sampler, rounds=1, new_rows=80, seed=2)
    proposal = sampler.proposal(pool.table, history)
    atoms = pool.rows(history, order)[proposal.atom]
    nothing = (pool.prediction[atoms] == 0) & (pool.label[atoms] == 0)
    assert 0 < nothing.sum() < 80
    np.testing.assert_array_equal(proposal.atom_probability == 0, nothing)
    assert np.all(proposal.cell_probability > 0)


def test_loss_that_hardly_matters_weighs_the_floor() -> None:
    """The floor falls with the share of the pool that has no label yet."""
    pool = make_pool(120, 4, seed=8, positive=0.3)
    sampler = AdaptiveImportance(Lopsided())
    history, order = pool.run(AdaptiveImportance(Accuracy()), rounds=1, new_rows=80, seed=2)
    proposal = sampler.proposal(pool.table, history)
    atoms = pool.rows(history, order)[proposal.atom]
    f, y = pool.prediction[atoms], pool.label[atoms]
    assert set(zip(f.tolist(), y.tolist(), strict=True)) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    expected = np.where(f > y, 1, np.where(f < y, 1e-9 * 40 / 120, 0))
    found = proposal.atom_probability / proposal.atom_probability.max()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_exhausted_pool_is_drawn_by_its_atoms() -> None:
    pool = make_pool(30, 3, seed=9, positive=0.4)
    sampler = AdaptiveImportance(Accuracy())
    history, order = pool.run(sampler, rounds=1, new_rows=30, seed=2)
    assert len(history.labelled) == 30
    proposal = sampler.proposal(pool.table, history)
    q = pool.row_probability(proposal, history, order)
    wrong = pool.prediction != pool.label
    np.testing.assert_allclose(q, wrong / wrong.sum(), rtol=1e-12)


def test_next_step_depends_on_history_and_seed_alone() -> None:
    pool = make_pool(200, 8, seed=3)
    sampler = AdaptiveImportance(FBeta())
    history, _ = pool.run(sampler, rounds=2, new_rows=10, seed=1)
    restored = History(
        history.cell.copy(), history.rank.copy(), history.label.copy(), history.rounds
    )
    a, b = (
        sampler.design(pool.table, h, 15, np.random.default_rng(4)) for h in (history, restored)
    )
    assert a.row.tolist() == b.row.tolist()
    assert a.probability.tolist() == b.probability.tolist()


def test_undefined_measure_is_an_input_error() -> None:
    pool = make_pool(50, 4, seed=1)
    none = Pool(pool.leaf, np.zeros_like(pool.prediction), pool.probability, pool.label)
    with pytest.raises(InputError, match="precision is undefined on this pool"):
        AdaptiveImportance(Precision()).proposal(none.table, History())


@pytest.mark.parametrize("p1", [[0.0, 0.7, 1.0], [0.0, 0.0, 0.0]], ids=str)
def test_rows_of_a_certain_prior_keep_a_chance(p1: list[float]) -> None:
    """Supported means drawn: a hidden positive in a cell predicted negative must be findable."""
    leaf, prediction = np.repeat([0, 1, 2], 10), np.repeat([0, 1, 1], 10)
    positive = np.repeat(p1, 10)
    probability = np.stack([1 - positive, positive], axis=1)
    pool = Pool(leaf, prediction, probability, np.repeat([0, 1, 0, 1, 0], [9, 3, 7, 9, 2]))
    sampler = AdaptiveImportance(FBeta())
    assert sampler.supports(pool.table, FBeta())
    assert np.all(sampler.reach(pool.table))
    assert np.all(sampler.proposal(pool.table, History()).cell_probability > 0)
