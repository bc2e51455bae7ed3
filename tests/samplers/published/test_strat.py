"""Online stratified sampling: strata, allocation by the labels so far, estimate."""

import dataclasses

import numpy as np
import pytest

from evalsampling.measures import Accuracy, FBeta
from evalsampling.samplers import ModelStratified, OnlineStratified
from tests.samplers.pools import Pool, make_pool

POOL = make_pool(4000, 40, seed=6, positive=0.3, strength=3)
COSTLY = dataclasses.replace(POOL, cost=np.exp(np.random.default_rng(1).normal(0, 1, len(POOL))))


def test_strata_are_of_equal_counts_from_the_least_confident_up() -> None:
    sampler = OnlineStratified(Accuracy(), strata=5)
    stratum = sampler.stratum(POOL.table)
    rows = np.bincount(stratum, POOL.table.count)
    assert np.all(np.abs(rows - len(POOL) / 5) <= POOL.table.count.max())
    error = sampler.error(POOL.table)
    tops = [error[stratum == one].min() for one in range(4)]
    assert all(top >= error[stratum == one + 1].max() for one, top in enumerate(tops))


@pytest.mark.parametrize("pool", [POOL, COSTLY], ids=["even", "costs"])
def test_allocation_is_neymans_for_the_labels_so_far(pool: object) -> None:
    """Second round: n_k in proportion to M_k s_k / sqrt(c_k) (Cochran, theorem 5.6), within one."""
    assert isinstance(pool, type(POOL))
    table, sampler = pool.table, OnlineStratified(Accuracy(), strata=4)
    first, _ = pool.run(sampler, 1, 120, seed=3)
    after = sampler.design(table, first, 100, np.random.default_rng(1))
    stratum = sampler.stratum(table)
    known = stratum[first.cell]
    size = []
    for one in range(4):
        mine, inside = known == one, stratum == one
        wrong = int(np.sum(first.outputs.prediction[mine, 0] != first.label[mine]))
        rate = (wrong + 1) / (int(mine.sum()) + 2)
        cost = 1.0
        if table.cost is not None:
            cost = np.average(table.cost[inside], weights=table.count[inside])
        left = table.count[inside].sum() - mine.sum()
        size.append(left * np.sqrt(rate * (1 - rate) / cost))
    drawn = np.bincount(stratum[after.cell[len(first) :]], minlength=4)
    assert drawn.sum() == 100
    assert np.all(np.abs(drawn - 100 * np.array(size) / np.sum(size)) < 1)


@pytest.mark.parametrize("kind", [OnlineStratified, ModelStratified])
def test_estimate_is_the_mean_of_the_strata(kind: type) -> None:
    sampler = kind(Accuracy(), strata=4)
    history, _ = POOL.run(sampler, 3, 60, seed=4)
    (found,) = sampler.estimate(POOL.table, history, [Accuracy()], 0.95)
    stratum = sampler.stratum(POOL.table)
    own, right = stratum[history.cell], history.outputs.prediction[:, 0] == history.label
    share = np.bincount(stratum, POOL.table.count) / len(POOL)
    means = [right[own == one].mean() for one in range(4)]
    assert found.value == pytest.approx(float(share @ means))
    assert len(set(zip(history.cell.tolist(), history.rank.tolist(), strict=True))) == 180


def test_rows_of_all_strata_let_any_measure_be_estimated() -> None:
    sampler = OnlineStratified(Accuracy())
    history, _ = POOL.run(sampler, 4, 100, seed=5)
    (found,) = sampler.estimate(POOL.table, history, [FBeta()], 0.95)
    assert found.value == pytest.approx(POOL.value(FBeta()), abs=0.15)


RARE = make_pool(3000, 30, seed=7, positive=0.2, strength=3)


def test_deviations_are_those_of_the_priors_mean_error() -> None:
    sampler = ModelStratified(Accuracy(), strata=6, least=0.2)
    table, stratum = RARE.table, sampler.stratum(RARE.table)
    found = sampler.deviations(table, RARE.start(), stratum)
    error = 1 - RARE.probability[np.arange(len(RARE)), RARE.prediction]
    for one in range(6):
        mean = error[stratum[RARE.cell] == one].mean()
        assert found[one] == pytest.approx(max(np.sqrt(mean * (1 - mean)), 0.2), rel=1e-6)


def test_labels_do_not_change_the_allocation_and_the_estimate_is_unbiased() -> None:
    """300 evaluations of 60 labels in two rounds; the mean within four of its standard errors."""
    sampler = ModelStratified(Accuracy(), strata=4)
    values = []
    for seed in range(300):
        history, _ = RARE.run(sampler, 2, 30, seed=seed)
        values.append(sampler.value(RARE.table, history, Accuracy(), 0.95)[0])
    spread = np.std(values) / np.sqrt(len(values))
    assert np.mean(values) == pytest.approx(RARE.value(Accuracy()), abs=4 * spread)


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


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        *(({"strata": n}, "strata must be a whole number of at least 1") for n in (0, 2.5, True)),
        ({"least": 0}, "above 0 and at most 0.5"),
        ({"least": "x"}, "must be a number"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ModelStratified(Accuracy(), **parameters)
