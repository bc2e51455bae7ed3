"""Adaptive importance sampling against its formulas row by row."""

import dataclasses

import numpy as np
import pytest

from evalsampling.measures import Accuracy, FBeta, Joint, Measure, Precision, Prevalence, Recall
from evalsampling.samplers import AdaptiveImportance, Importance, Passive
from evalsampling.samplers.diagnosis import divergence
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable, Leaves
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.stats.oracle import (
    MAX_ITERATIONS,
    TreePrior,
    fit_dirichlet_tree,
    predict_stochastic,
)
from evalsampling.stats.tree import LeafTree
from tests.samplers.pools import (
    Lopsided,
    Pool,
    best_proposal,
    labels_known,
    leaf_means,
    make_pool,
    optimal_proposal,
    with_second_system,
)
from tests.slow import fast
from tests.stats.row_model import RowModel, predict_draws

MEASURES = [FBeta(), Precision(), Recall(), Accuracy(), Joint((FBeta(), Accuracy()))]
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
    q = optimal_proposal(pool, measure, floor, model.row)
    return model.posterior(), q


SYSTEMS = Joint((FBeta(), FBeta(system=1), Accuracy(system=1)))
SHAPES = [(2, 2, 8), (3, 2, 5), (2, 8, 8), (3, 3, 9), (2, 2, 6)]


@pytest.mark.parametrize(
    ("measure", "classes", "branching", "leaves"),
    [
        pytest.param(
            measure,
            *SHAPES[place - turn],
            id=f"{measure.name}-{turn}",
            marks=[pytest.mark.slow][: turn or place > 1],
        )
        for turn in range(2)
        for place, measure in enumerate(MEASURES)
    ]
    + [pytest.param(SYSTEMS, 3, 2, 5, id="two systems")],
)
def test_proposals_follow_the_formulas(
    measure: Measure, classes: int, branching: int, leaves: int
) -> None:
    """Before any label, and after one and two rounds, the model starting from the last one."""
    pool = make_pool(120, leaves, seed=7, classes=classes, positive=0.3)
    pool = with_second_system(pool, seed=3) if measure is SYSTEMS else pool
    sampler = AdaptiveImportance(measure, branching=branching, accelerate=False)
    history, order, start = pool.start(), pool.order(1), None
    for number in range(3):
        proposal = sampler.proposal(pool.table, history)
        known = labels_known(pool, history, order)
        posterior, expected = slow_proposal(pool, sampler, known, start)
        # Prior probabilities in the table are rounded to 2^-33.
        np.testing.assert_allclose(proposal.posterior, posterior, rtol=1e-6)
        q = pool.row_probability(proposal, history, order)
        np.testing.assert_allclose(q, expected, rtol=1e-6, atol=1e-15)
        assert q.sum() == pytest.approx(1, abs=1e-12)
        # Expectation-maximization stops before the mode, by what its tolerance leaves.
        fast = dataclasses.replace(sampler, accelerate=True).proposal(pool.table, history)
        np.testing.assert_allclose(fast.posterior, posterior, rtol=0.01)
        rng = np.random.default_rng(number)
        history = pool.answer(sampler.design(pool.table, history, 8, rng), order)
        start = history.rounds[-1].posterior
        np.testing.assert_array_equal(start, proposal.posterior)
    assert len(history.labelled) >= 15


def test_rows_without_label_stay_in_their_cell() -> None:
    pool = make_pool(120, 4, seed=8, positive=0.3)
    sampler = AdaptiveImportance(FBeta(), accelerate=False)
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


@pytest.mark.parametrize("p1", [[0.0, 0.7, 1.0], [0.0, 0.0, 0.0]], ids=str)
def test_rows_of_a_certain_prior_keep_a_chance(p1: list[float]) -> None:
    """Supported means drawn: a hidden positive in a cell predicted negative must be findable."""
    leaf, prediction = np.repeat([0, 1, 2], 10), np.repeat([0, 1, 1], 10)
    positive = np.repeat(p1, 10)
    probability = np.stack([1 - positive, positive], axis=1)
    pool = Pool(leaf, prediction, probability, np.repeat([0, 1, 0, 1, 0], [9, 3, 7, 9, 2]))
    sampler = AdaptiveImportance(FBeta())
    assert sampler.can_estimate(pool.table, FBeta())
    assert np.all(sampler.support(pool.table))
    assert np.all(sampler.proposal(pool.table, pool.start()).cell_probability > 0)


@pytest.mark.parametrize("measure", [FBeta(), Joint((Recall(), Accuracy()))], ids=["f1", "joint"])
@pytest.mark.parametrize(("classes", "branching", "leaves"), [(2, 2, 5), (2, 9, 4), (3, 3, 6)])
def test_proposals_for_a_stochastic_oracle_follow_the_formulas(
    measure: Measure, classes: int, branching: int, leaves: int
) -> None:
    """v = p sqrt(sum_y max(||Dg l||^2, eps_t 1[l != 0]) p_t(y|x)); no row is an atom."""
    pool = make_pool(60, leaves, seed=7, classes=classes, positive=0.3)
    sampler = AdaptiveImportance(measure, "stochastic", branching=branching)
    chance = 0.7 * pool.probability + 0.3 / classes
    for rounds in range(3):
        history, order = pool.run_stochastic(sampler, chance, rounds, 9, seed=rounds)
        assert len(history) == 9 * rounds
        proposal = sampler.proposal(pool.table, history)
        assert len(proposal.atom) == 0
        rows = pool.rows(history, order)
        weight = 1 / (60 * history.probability)
        draws = [*zip(pool.leaf[rows].tolist(), history.label.tolist(), weight, strict=True)]
        posterior = predict_draws(branching, leaf_means(pool), draws)
        np.testing.assert_allclose(proposal.posterior, posterior, rtol=1e-6)
        floor = (1e-9 / (rounds + 1)) ** 0.5
        expected = optimal_proposal(pool, measure, floor, posterior[pool.leaf].tolist(), True)
        q = pool.row_probability(proposal, history, order)
        np.testing.assert_allclose(q, expected, rtol=1e-6)
        assert q.sum() == pytest.approx(1, abs=1e-12)


def test_floor_of_a_stochastic_oracle_bounds_the_square() -> None:
    pool = make_pool(120, 4, seed=8, positive=0.3)
    sampler = AdaptiveImportance(Lopsided(), "stochastic")
    history, _ = pool.run_stochastic(sampler, pool.probability, 3, 20, seed=2)
    proposal = sampler.proposal(pool.table, history)
    response = proposal.posterior[pool.table.leaf]
    f = pool.table.kinds.prediction[:, 0]
    expected = np.sqrt(np.where(f == 1, response[:, 0], 1e-9 / 4 * response[:, 1]))
    found = proposal.cell_probability / proposal.cell_probability.max()
    np.testing.assert_allclose(found, expected / expected.max(), rtol=1e-9)


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
def test_scores_may_be_the_model(oracle: str) -> None:
    """Nothing is fitted: rows without a label have their leaf's prior, in every round."""
    pool = make_pool(120, 6, seed=9, positive=0.3)
    sampler = AdaptiveImportance(FBeta(), oracle, model="scores")
    if oracle == "stochastic":
        history, order = pool.run_stochastic(sampler, pool.probability, 2, 20, seed=1)
    else:
        history, order = pool.run(sampler, 2, 20, seed=1)
    proposal = sampler.proposal(pool.table, history)
    np.testing.assert_allclose(proposal.posterior, leaf_means(pool), rtol=1e-8)
    pi = leaf_means(pool)[pool.leaf]
    floor = (1e-9 / 3) ** 0.5
    if oracle == "deterministic":
        known = labels_known(pool, history, order)
        pi[known >= 0] = np.eye(2)[known[known >= 0]]
        floor = 1e-9 * 80 / 120
    expected = optimal_proposal(pool, FBeta(), floor, pi.tolist(), oracle == "stochastic")
    q = pool.row_probability(proposal, history, order)
    np.testing.assert_allclose(q, expected, rtol=1e-7, atol=1e-15)
    assert q.sum() == pytest.approx(1, abs=1e-12)


def test_pooled_signatures_make_a_distribution_too() -> None:
    """Rows of the shared slot have one chance until labelled, then that of their own outputs."""
    pool = make_pool(200, 3, seed=7, classes=3, positive=0.5)
    pool = with_second_system(pool, seed=3, slots=3)
    sampler = AdaptiveImportance(Joint((FBeta(), FBeta(system=1))))
    history, order = pool.run(sampler, 2, 40, seed=1)
    proposal = sampler.proposal(pool.table, history)
    q = pool.row_probability(proposal, history, order)
    assert q.sum() == pytest.approx(1, abs=1e-12)
    rows = pool.rows(history, order)
    positive = np.any(pool.outputs.prediction[rows] == 1, axis=1) | (pool.label[rows] == 1)
    np.testing.assert_array_equal(proposal.atom_probability > 0, positive)
    assert 0 < positive.sum() < len(positive)


@pytest.mark.parametrize("measure", MEASURES, ids=IDS)
def test_proposal_with_all_labels_known_is_the_best_one(measure: Measure) -> None:
    """q* of [MR] eq. 5: no divergence from it, nor any other way to draw the same rows."""
    pool = make_pool(80, 4, seed=9, positive=0.4)
    history, order = pool.run(Passive(measure), 2, 80, seed=2)
    assert len(history.labelled) == 80
    sampler = AdaptiveImportance(measure)
    proposal = sampler.proposal(pool.table, history)
    q = pool.row_probability(proposal, history, order)
    np.testing.assert_allclose(q, best_proposal(pool, measure), rtol=1e-9, atol=1e-15)
    assert divergence(measure, pool.table, pool.truth, history, proposal) == pytest.approx(
        0, abs=1e-12
    )


def half_and_half(cells: CellTable, labels: FloatArray) -> FloatArray:
    """A model of the user's own: the share of each label, the prior counting as four labels."""
    shares = 4 * cells.prior + labels
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("measure", MEASURES, ids=IDS)
def test_an_own_model_takes_the_place_of_the_tree_and_labelled_rows_stay_atoms(
    measure: Measure,
) -> None:
    """Row by row, from the model's probabilities: the formula of any model."""
    pool = make_pool(120, 6, seed=7, positive=0.3)
    sampler = AdaptiveImportance(measure, model=half_and_half)
    history, order = pool.run(sampler, 2, 25, seed=1)
    known = labels_known(pool, history, order)
    of_cell = half_and_half(pool.table, history.seen(len(pool.table), 2))
    response = np.where(known[:, None] >= 0, np.eye(2)[known], of_cell[pool.cell])
    floor = 1e-9 * np.sum(known < 0) / len(pool)
    q = optimal_proposal(pool, measure, floor, list(response))
    proposal = sampler.proposal(pool.table, history)
    np.testing.assert_allclose(pool.row_probability(proposal, history, order), q, rtol=1e-7)
    leaf = np.array([of_cell[pool.cell[pool.leaf == k]].mean(axis=0) for k in range(6)])
    np.testing.assert_allclose(proposal.posterior, leaf, rtol=1e-6)


def test_an_own_model_of_a_stochastic_oracle() -> None:
    pool = make_pool(90, 3, seed=9, positive=0.4)
    sampler = AdaptiveImportance(Accuracy(), "stochastic", model=half_and_half)
    history, _ = pool.run_stochastic(sampler, pool.probability, 2, 30, seed=1)
    of_cell = half_and_half(pool.table, _answers(history, pool))
    wrong = 1 - of_cell[np.arange(len(pool.table)), pool.table.kinds.prediction[:, 0]]
    q = sampler.proposal(pool.table, history).cell_probability
    # Accuracy's loss is 0 or 1, and its Jacobian -1.
    np.testing.assert_allclose(q, np.sqrt(wrong) / (pool.table.count @ np.sqrt(wrong)), rtol=1e-6)


def _answers(history: History, pool: Pool) -> np.ndarray:
    """Answers of each class in each cell."""
    answers = np.zeros((len(pool.table), 2))
    np.add.at(answers, (history.cell, history.label), 1)
    return answers


def test_epsilon_is_the_least_weight_of_a_loss() -> None:
    """With labels of all rows but one, eps_t is a 120th of it; no row weighs less."""
    pool = make_pool(120, 4, seed=3, positive=0.3)
    history, _ = pool.run(Passive(FBeta()), 1, 119, seed=2)
    small = AdaptiveImportance(FBeta(), epsilon=1e-12).proposal(pool.table, history)
    large = AdaptiveImportance(FBeta(), epsilon=1e6).proposal(pool.table, history)
    # So large a floor is all that counts: rows with any loss are drawn alike.
    drawn = large.atom_probability[large.atom_probability > 0]
    np.testing.assert_allclose(drawn, drawn[0], rtol=1e-12)
    assert np.ptp(small.atom_probability[small.atom_probability > 0]) > 1e-3
    static = Importance(FBeta(), epsilon=1e6).proposal(pool.table, pool.start()).cell_probability
    may_add = FBeta().adds(pool.table.kinds, np.ones(len(pool.table), dtype=np.int64))
    assert np.ptp(static[may_add & (pool.table.kinds.prediction[:, 0] == 1)]) < 1e-9


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
def test_constants_of_the_tree_are_those_of_the_fit(oracle: str) -> None:
    pool = make_pool(90, 6, seed=9, positive=0.4)
    keys = {"alpha": [2, 1.5], "beta": 0.2, "prior_weight": 4}
    sampler = AdaptiveImportance(Accuracy(), oracle, **keys)  # type: ignore[arg-type]
    history, _ = pool.run_stochastic(sampler, np.eye(2)[pool.label], 1, 40, seed=1)
    counts = np.zeros((6, 2))
    tree, hidden = LeafTree.even(6, 2), pool.table.leaf_count.astype(float)
    concentration = TreePrior((2, 1.5), 0.2, 4)
    if oracle == "stochastic":
        weight = 1 / (len(pool) * history.rounds[0].probability)
        np.add.at(counts, (pool.table.leaf[history.cell], history.label), weight)
        expected = predict_stochastic(tree, leaf_means(pool), counts, concentration)
    else:
        np.add.at(counts, (pool.table.leaf[history.cell], history.label), 1)
        start = history.rounds[0].posterior
        expected = fit_dirichlet_tree(
            tree, leaf_means(pool), counts, hidden - counts.sum(axis=1), start,
            concentration=concentration,
        ).posterior  # fmt: skip
    posterior = sampler.proposal(pool.table, history).posterior
    np.testing.assert_allclose(posterior, expected, rtol=1e-6)
    plain = AdaptiveImportance(Accuracy(), oracle).proposal(pool.table, history).posterior
    assert np.abs(posterior - plain).max() > 0.01


def test_leaves_with_a_hierarchy_of_their_own_make_the_tree() -> None:
    pool = make_pool(90, 3, seed=9, positive=0.4)
    table = dataclasses.replace(pool.table, leaves=Leaves(3, np.array([2, 1])))
    history, _ = pool.run(AdaptiveImportance(FBeta()), 2, 20, seed=1)
    counts = np.zeros((3, 2))
    np.add.at(counts, (pool.table.leaf[history.cell], history.label), 1)
    fit = fit_dirichlet_tree(
        LeafTree.parted(np.array([2, 1])), leaf_means(pool), counts,
        pool.table.leaf_count - counts.sum(axis=1), history.rounds[-1].posterior,
    )  # fmt: skip
    for branching in (2, 9):
        sampler = AdaptiveImportance(FBeta(), branching=branching)
        posterior = sampler.variance_minimising(table, history).posterior
        np.testing.assert_allclose(posterior, fit.posterior, rtol=1e-6)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"accelerate": 1}, "accelerate must be true or false, got 1"),
        ({"epsilon": 0}, "epsilon must be above 0, got 0"),
        ({"epsilon": float("nan")}, "epsilon must be a number, got nan"),
        ({"beta": -1}, "beta must be above 0, got -1"),
        ({"beta": "much"}, "beta must be a number, got 'much'"),
        ({"prior_weight": 0}, "prior_weight must be above 0, got 0"),
        ({"alpha": 0.5}, "alpha must be at least 1 for a deterministic oracle, got 0.5"),
        ({"alpha": [1, True]}, "alpha must be a number, got True"),
        ({"alpha": "x"}, "alpha must be a number, got 'x'"),
        ({"alpha": [1, 2, 3], "classes": 2}, "one for each of the 2 classes, got 3"),
        ({"alpha": [], "classes": 2}, "one for each of the 2 classes, got 0"),
        ({"alpha": 0, "oracle": "stochastic"}, "alpha must be above 0, got 0"),
        ({"alpha": float("inf")}, "alpha must be finite, got inf"),
        ({"alpha": 2, "model": "scores"}, "alpha is a constant of the model tree"),
        ({"beta": 2.0, "model": lambda cells, labels: labels}, "beta is a constant of the model"),
        ({"prior_weight": 3, "model": "scores"}, "prior_weight is a constant of the model tree"),
    ],
)
def test_constants_are_checked(keys: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AdaptiveImportance(FBeta(), **keys)


def total_variance(pool: Pool, measure: Measure, q: np.ndarray) -> float:
    """tr Sigma of [MR] theorem 2: sum p(x)^2 ||Dg l||^2 / q(x) - ||Dg R||^2, labels being sure."""
    jacobian, risk = measure.jacobian(pool.risk(measure)), pool.risk(measure)
    size = np.sum((measure.loss(pool.outputs, pool.label) @ jacobian.T) ** 2, axis=1)
    adds = size > 0
    return float(np.sum(size[adds] / q[adds]) / len(pool) ** 2 - np.sum((jacobian @ risk) ** 2))


@pytest.mark.parametrize(
    "measure", [Accuracy(), Prevalence(), Recall(), FBeta()], ids=lambda m: m.name
)
def test_the_best_proposal_has_the_variance_of_appendix_d(measure: Measure) -> None:
    """[MR] appendix D: none where the sign of l . grad g is constant; of recall 4 G^2 (1 - G)^2.

    F1 is between: (mean ||Dg l||)^2, by hand from hits, misses and false alarms.
    """
    pool = make_pool(80, 4, seed=9, positive=0.4)
    history, order = pool.run(Passive(measure), 2, 80, seed=2)
    proposal = AdaptiveImportance(measure).proposal(pool.table, history)
    found = total_variance(pool, measure, pool.row_probability(proposal, history, order))
    f, y, g = pool.prediction == 1, pool.label == 1, pool.value(measure)
    errors, halves = np.mean(f != y), (np.mean(f) + np.mean(y)) / 2
    expected = {
        "accuracy": 0.0,
        "prevalence": 0.0,
        "recall": 4 * g**2 * (1 - g) ** 2,
        "f1": ((np.mean(f & y) * (1 - g) + errors * g / 2) / halves) ** 2,
    }
    assert found == pytest.approx(expected[measure.name], rel=1e-6, abs=1e-9)
    even = total_variance(pool, measure, np.full(80, 1 / 80))
    assert found < 0.7 * even


@pytest.mark.parametrize("measure", [Accuracy(), Prevalence()], ids=lambda m: m.name)
def test_every_draw_of_a_proposal_without_variance_tells_the_value(measure: Measure) -> None:
    """All that two draws can bring, after all labels are known."""
    pool = make_pool(24, 3, seed=4, positive=0.4)
    sampler = AdaptiveImportance(measure)
    history, order = pool.run(Passive(measure), 1, 24, seed=2)
    proposal = sampler.proposal(pool.table, history)
    q = pool.row_probability(proposal, history, order)
    drawn = np.flatnonzero(q)
    loss = measure.loss(pool.outputs, pool.label)[:, 0]
    pairs = (loss[drawn, None] / q[drawn, None] + loss[drawn] / q[drawn]) / 2 / 24
    np.testing.assert_allclose(measure.value(pairs.ravel()[None]), pool.value(measure), rtol=1e-6)


@pytest.mark.parametrize(
    ("measure", "accelerate"),
    fast(3, [(FBeta(), False), *((measure, True) for measure in MEASURES)]),
)
def test_proposals_tend_to_the_best_one(measure: Measure, accelerate: bool) -> None:
    """[MR] proposition 3: with the Dirichlet tree, its modes and eps_t = eps_0 x unlabelled share.

    Rows that add have a chance in every round, as theorem 1 asks; the proposal is the best one in
    the end, of which theorem 2 and the optimality follow.
    """
    pool = make_pool(200, 8, seed=12, positive=0.3)
    sampler = AdaptiveImportance(measure, accelerate=accelerate)
    history, order, far = pool.start(), pool.order(5), []
    loss = measure.loss(pool.outputs, pool.label)
    for number in range(40):
        proposal = sampler.proposal(pool.table, history)
        q = pool.row_probability(proposal, history, order)
        assert q.sum() == pytest.approx(1)
        assert np.all(q[np.any(loss != 0, axis=1)] > 0)
        far.append(divergence(measure, pool.table, pool.truth, history, proposal))
        rng = np.random.default_rng(number)
        history = pool.answer(sampler.design(pool.table, history, 25, rng), order)
    assert far[0] > 0.05
    assert np.mean(far[3:6]) < 0.9 * far[0]
    assert far[-1] == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
def test_the_error_is_that_of_the_proposals_and_the_last_of_these_is_the_best() -> None:
    """[MR] theorem 2 and proposition 3, for recall, whose least variance is 4 G^2 (1 - G)^2.

    120 repeats of ten rounds of 400 draws. N x the mean squared error is the mean of tr Sigma over
    the rounds' proposals; its relative standard error is 13 %, of which three are allowed.
    """
    pool, measure = make_pool(40, 4, seed=9, positive=0.4), Recall()
    sampler = AdaptiveImportance(measure, draws=400)
    truth, squares, variances = pool.value(measure), [], []
    for seed in range(120):
        history, order = pool.start(), pool.order(seed)
        for number in range(10):
            q = pool.row_probability(sampler.proposal(pool.table, history), history, order)
            variances.append(total_variance(pool, measure, q))
            rng = np.random.default_rng([seed, number])
            history = pool.answer(sampler.design(pool.table, history, 400, rng), order)
        sample = sampler.weigh(pool.table, history)
        loss = measure.loss(history.outputs.take(sample.question), history.label[sample.question])
        hits, positives = sample.weight @ loss
        squares.append((hits / positives - truth) ** 2)
        assert variances[-1] == pytest.approx(4 * truth**2 * (1 - truth) ** 2, rel=0.01)
    assert 4000 * np.mean(squares) == pytest.approx(np.mean(variances), rel=0.4)


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


def test_exhausted_pool_is_drawn_by_its_atoms() -> None:
    pool = make_pool(30, 3, seed=9, positive=0.4)
    sampler = AdaptiveImportance(Accuracy())
    history, order = pool.run(sampler, rounds=1, new_rows=30, seed=2)
    assert len(history.labelled) == 30
    proposal = sampler.proposal(pool.table, history)
    q = pool.row_probability(proposal, history, order)
    wrong = pool.prediction != pool.label
    np.testing.assert_allclose(q, wrong / wrong.sum(), rtol=1e-12)
