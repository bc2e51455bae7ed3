"""Stratified sampling by enumeration, and the survey formulas."""

from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.interval_methods import BY_NAME
from evalsampling.measures import Accuracy, FBeta, Prevalence
from evalsampling.samplers import Stratified
from evalsampling.stats.history import NO_LABEL, History
from tests.samplers.pools import Pool, make_pool
from tests.slow import slowly
from tests.stats.coins import every_outcome

SMALL = Pool(
    leaf=np.array([0, 0, 0, 1, 1, 3]),
    prediction=np.array([0, 0, 1, 1, 0, 1]),
    probability=np.full((6, 2), 0.5),
    label=np.array([0, 1, 1, 1, 0, 0]),
)
"""Leaves of three, two, no and one row; cells of two, one, one, one and one."""


def samples_of(sizes: tuple[int, ...]) -> Iterator[tuple[float, History, list]]:
    """Every history of rounds of given sizes with its chance: two orders of SMALL's rows."""
    for step in (1, -1):
        order = [rows[::step] for rows in SMALL.order(0)]
        found = [(0.5, SMALL.start())]
        for size in sizes:
            found = [
                (before * chance, SMALL.answer(drawn, order))
                for before, history in found
                for chance, drawn in every_outcome(
                    lambda coins, history=history, size=size: Stratified(FBeta()).design(
                        SMALL.table, history, size, coins
                    )
                )
            ]
        yield from ((chance, history, order) for chance, history in found)


@pytest.mark.parametrize("sizes", [(1,), (2,), (3,), (5,), (2, 1), (3, 2)])
def test_every_row_has_the_same_chance_and_estimates_are_unbiased(sizes: tuple[int, ...]) -> None:
    """By enumeration: six rows, four leaves, one of them empty, most without a label."""
    drawn, mean = np.zeros(6), 0.0
    sampler = Stratified(Accuracy())
    for chance, history, order in samples_of(sizes):
        np.add.at(drawn, SMALL.rows(history, order), chance)
        (found,) = sampler.estimate(SMALL.table, history, [Accuracy()], 0.95)
        mean += chance * found.value
    np.testing.assert_allclose(drawn, sum(sizes) / 6, rtol=1e-12)
    assert mean == pytest.approx(SMALL.value(Accuracy()), rel=1e-12)


def test_a_round_tells_the_chance_of_a_row_to_be_in_it() -> None:
    for _, history, _ in samples_of((3, 2)):
        first, second = (r.cell_probability for r in history.rounds)
        assert first.tolist() == [1 / 2] * 5
        assert second.tolist() == [2 / 3] * 5


def test_leaves_get_their_share_rounded_up_or_down() -> None:
    pool = make_pool(5000, 40, seed=2)
    for seed in range(20):
        history, _ = pool.run(Stratified(FBeta()), 1, 300, seed)
        taken = np.bincount(pool.table.leaf[history.cell], minlength=len(pool.table.leaves))
        assert np.all(np.abs(taken - 300 * pool.table.leaf_count / 5000) < 1 + 1e-9)


@pytest.mark.parametrize("labels", [100, *slowly(300)])
def test_more_leaves_than_labels_do_not_bias(labels: int) -> None:
    """256 leaves: leaving out those without a label made prevalence too small by half or more."""
    pool = make_pool(6000, 256, seed=5, positive=0.03, strength=2)
    sampler, values = Stratified(Prevalence()), []
    truth = float(pool.value(Prevalence()))
    for seed in range(80):
        history, _ = pool.run(sampler, 2, labels // 2, seed)
        sample = sampler.weigh(pool.table, history)
        values.append(sample.weight @ (history.label[sample.question] == 1))
    error = np.std(values) / np.sqrt(80)
    assert error < 0.1 * truth
    assert np.mean(values) == pytest.approx(truth, abs=3 * error)


@pytest.mark.parametrize("seed", range(2))
def test_rows_are_distinct_and_ranks_dense(seed: int) -> None:
    pool = make_pool(150, 5, seed=2, positive=0.4)
    history, order = pool.run(Stratified(FBeta()), 6, 20, seed)
    assert len(history) == 120
    assert len(set(pool.rows(history, order).tolist())) == 120
    assert history.question.tolist() == [*range(120)]
    assert all(r.new.all() for r in history.rounds)
    for c in range(len(pool.table)):
        ranks = history.rank[history.cell == c].tolist()
        assert ranks == [*range(len(ranks))]
        assert len(ranks) <= pool.table.count[c]


def test_leaves_are_drawn_in_proportion_to_their_rows() -> None:
    """Chi-square over the leaves of many rounds of a pool that is not used up."""
    pool = make_pool(5000, 6, seed=2)
    pool = Pool(pool.leaf**2 // 5, pool.prediction, pool.probability, pool.label)
    found = np.zeros(len(pool.table.leaves))
    for seed in range(40):
        history, _ = pool.run(Stratified(FBeta()), 2, 25, seed)
        found += np.bincount(pool.table.leaf[history.cell], minlength=len(pool.table.leaves))
    expected = 2000 * pool.table.leaf_count / 5000
    some = expected > 0
    assert not found[~some].any()
    found, expected = found[some], expected[some]
    assert stats.chisquare(found, expected).pvalue > 1e-4


def test_estimate_is_the_weighted_mean_of_the_leaves() -> None:
    """sum_k (M_k / M) mean_k, leaf by leaf from the rows; the error by Cochran's formula."""
    pool = make_pool(300, 4, seed=3, positive=0.4)
    sampler = Stratified(FBeta())
    history, order = pool.run(sampler, 3, 30, seed=1)
    rows = pool.rows(history, order)
    right = pool.prediction == pool.label
    value = variance = 0.0
    for k in range(4):
        inside = right[rows[pool.leaf[rows] == k]].astype(float)
        total = int(np.sum(pool.leaf == k))
        assert len(inside) > 1
        value += total / 300 * inside.mean()
        variance += (
            (total / 300) ** 2 * (1 - len(inside) / total) * inside.var(ddof=1) / len(inside)
        )
    scope = ReportedDomains(methods=tuple(BY_NAME))
    accuracy, f1 = sampler.estimate(pool.table, history, [Accuracy(), FBeta()], 0.95, scope)
    assert accuracy.value == pytest.approx(value, rel=1e-12)
    assert accuracy.standard_error == pytest.approx(np.sqrt(variance), rel=1e-9)

    means = np.zeros(3)
    for k in range(4):
        inside = rows[pool.leaf[rows] == k]
        f, y = pool.prediction[inside], pool.label[inside]
        means += np.mean([f * y, f, y], axis=1) * np.sum(pool.leaf == k) / 300
    assert f1.value == pytest.approx(2 * means[0] / (means[1] + means[2]), rel=1e-12)
    assert "wald-latest-proposal" not in [i.method for i in f1.intervals]


def test_leaves_without_a_label_are_joined_with_others() -> None:
    """Of 60 drawn, the 36 of leaves 0 and 2 have labels: leaf 1 gets those of the leaf below."""
    pool = Pool(
        np.repeat([0, 1, 2], [30, 40, 30]),
        np.ones(100, int),
        np.full((100, 2), 0.5),
        np.arange(100) % 3 % 2,
    )
    sampler = Stratified(Prevalence())
    history, order = pool.run(sampler, 1, 60, seed=1)
    rows = pool.rows(history, order)
    leaf = pool.leaf[rows]
    history = history.with_labels(np.where(leaf == 1, NO_LABEL, history.label))
    sample = sampler.weigh(pool.table, history)
    assert sample.weight.sum() == pytest.approx(1)
    first, last = (pool.label[rows[leaf == k]].mean() for k in (0, 2))
    (found,) = sampler.estimate(pool.table, history, [Prevalence()], 0.95)
    assert found.value == pytest.approx(0.3 * first + 0.7 * last)


def test_leaves_that_are_used_up_drop_out() -> None:
    """No row is ever drawn twice, and a census ends it; nothing is left to draw then."""
    pool = Pool(
        np.repeat([0, 2, 3], [3, 1, 60]),
        np.arange(64) % 2,
        np.full((64, 2), 0.5),
        np.arange(64) % 3 % 2,
    )
    sampler = Stratified(Accuracy())
    history, order = pool.start(), pool.order(0)
    while not sampler.exhausted(pool.table, history):
        rng = np.random.default_rng(len(history))
        history = pool.answer(sampler.design(pool.table, history, 10, rng), order)
        (found,) = sampler.estimate(pool.table, history, [Accuracy()], 0.95)
    assert sorted(pool.rows(history, order)) == [*range(64)]
    assert (found.value, found.intervals[0].method) == (pool.value(Accuracy()), "census")
    more = sampler.design(pool.table, history, 10, np.random.default_rng(0))
    assert (len(more), len(more.rounds[-1].question)) == (64, 0)


def test_there_is_no_proposal() -> None:
    sampler = Stratified(FBeta())
    assert sampler.proposal(SMALL.table, SMALL.start()) is None


def test_class_of_costs_with_few_labels_stands_for_itself() -> None:
    """Half of the rows cost a hundred times as much; half of these are positive, .1 of the others.

    Of 90 labels the dear class has about 8. 60 evaluations; the mean within four of its standard
    errors.
    """
    rng = np.random.default_rng(0)
    dear = rng.random(4000) < 0.5
    pool = Pool(
        leaf=rng.integers(0, 8, 4000),
        prediction=rng.integers(0, 2, 4000),
        probability=np.full((4000, 2), 0.5),
        label=(rng.random(4000) < np.where(dear, 0.5, 0.1)).astype(int),
        cost=np.where(dear, 100.0, 1.0),
        cost_classes=2,
    )
    sampler, values = Stratified(Prevalence()), []
    for seed in range(60):
        history, _ = pool.run(sampler, 1, 90, seed)
        values.append(sampler.value(pool.table, history, Prevalence(), 0.95)[0])
    spread = np.std(values) / np.sqrt(len(values))
    assert np.mean(values) == pytest.approx(pool.label.mean(), abs=4 * spread)


@pytest.mark.slow
def test_estimates_are_unbiased_if_every_leaf_has_a_label() -> None:
    """400 repeats of 60 of 200 rows: within 4 standard errors; so is the variance, roughly."""
    pool = make_pool(200, 3, seed=3, positive=0.4)
    sampler, values, errors = Stratified(Accuracy()), [], []
    for seed in range(400):
        history, _ = pool.run(sampler, 1, 60, seed)
        (found,) = sampler.estimate(pool.table, history, [Accuracy()], 0.95)
        values.append(found.value)
        errors.append(found.standard_error)
    deviation = np.std(values, ddof=1)
    assert np.mean(values) == pytest.approx(pool.value(Accuracy()), abs=4 * deviation / 20)
    # The deviation of 400 values is known to 3.5 %, the mean of the estimated errors better.
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(deviation, rel=0.14)
