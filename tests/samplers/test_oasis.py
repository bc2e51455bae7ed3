"""OASIS against its formulas stratum by stratum."""

import dataclasses

import numpy as np
import pytest

from evalsampling.measures import Accuracy, FBeta, Measure, Precision, Recall
from evalsampling.samplers import Oasis
from evalsampling.stats.history import NO_LABEL, History
from tests.samplers.pools import Pool, leaf_means, make_pool, with_second_system

WEIGHT = {"f1": 0.5, "precision": 1.0, "recall": 0.0, "f_beta(beta=2)": 0.2}
MEASURES = [FBeta(), FBeta(beta=2.0), Precision(), Recall()]
IDS = [measure.name for measure in MEASURES]


def slow_proposal(
    pool: Pool, sampler: Oasis, history: History, order: list[np.ndarray]
) -> np.ndarray:
    """Chances of all rows by the formulas of the paper, draw by draw and row by row."""
    measure = sampler.measure
    assert isinstance(measure, FBeta | Precision | Recall)
    a, total = WEIGHT[measure.name], len(pool)
    said = (pool.outputs.prediction[:, measure.system] == measure.positive).tolist()
    rows = pool.rows(history, order)
    yes, no = [0.0] * len(pool.table.leaves), [0.0] * len(pool.table.leaves)
    hits = found = claimed = 0.0
    for question, q in zip(history.question.tolist(), history.probability.tolist(), strict=True):
        label, row = history.label[question], rows[question]
        if label == NO_LABEL:
            continue
        positive = label == measure.positive
        (yes if positive else no)[pool.leaf[row]] += 1
        w = 1 / (total * q)
        hits += w * (positive and said[row])
        found += w * positive
        claimed += w * said[row]
    weights, rates, shares = [], [], []
    for k in range(len(pool.table.leaves)):
        inside = np.flatnonzero(pool.leaf == k)
        weights.append(len(inside) / total)
        shares.append(np.mean([said[x] for x in inside]) if len(inside) else 0.0)
        draws = yes[k] + no[k]
        s = sampler.strength / max(draws, 1)
        rates.append((s * leaf_means(pool)[k, measure.positive] + yes[k]) / (s + draws))
    if a * claimed + (1 - a) * found > 0:
        f = hits / (a * claimed + (1 - a) * found)
    else:
        top = sum(m * p * r for m, p, r in zip(weights, shares, rates, strict=True))
        bottom = sum(
            m * (a * p + (1 - a) * r) for m, p, r in zip(weights, shares, rates, strict=True)
        )
        f = top / bottom
    v = [
        m * ((1 - a) * (1 - p) * f * r**0.5 + p * (a**2 * f**2 * (1 - r) + (1 - f) ** 2 * r) ** 0.5)
        for m, p, r in zip(weights, shares, rates, strict=True)
    ]
    epsilon = sampler.epsilon
    q = [epsilon * m + (1 - epsilon) * x / sum(v) for m, x in zip(weights, v, strict=True)]
    size = np.bincount(pool.leaf, minlength=len(pool.table.leaves))
    return np.array([q[k] / size[k] for k in pool.leaf.tolist()])


@pytest.mark.parametrize("measure", MEASURES, ids=IDS)
@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
def test_proposals_follow_the_formulas(measure: Measure, oracle: str) -> None:
    """Before any label, with few and with many; draws count, rows drawn again included."""
    pool = make_pool(120, 6, seed=7, positive=0.3)
    for rounds in range(4):
        sampler = Oasis(measure, oracle, epsilon=0.05, strength=3.0)
        if oracle == "stochastic":
            history, order = pool.run_stochastic(sampler, pool.probability, rounds, 30, seed=2)
        else:
            history, order = pool.run(sampler, rounds, 25, seed=2)
        q = pool.row_probability(sampler.proposal(pool.table, history), history, order)
        expected = slow_proposal(pool, sampler, history, order)
        np.testing.assert_allclose(q, expected, rtol=1e-7)
        assert q.sum() == pytest.approx(1, abs=1e-12)
        assert q.min() >= 0.05 / 120 * (1 - 1e-12)


def three_classes(leaves: int, slots: int | None = None) -> Pool:
    pool = make_pool(200, leaves, seed=7, classes=3, positive=0.5)
    return with_second_system(pool, seed=1, slots=slots)


def with_empty_leaves() -> Pool:
    pool = make_pool(120, 3, seed=7, positive=0.3)
    return dataclasses.replace(pool, leaf=np.array([1, 2, 5])[pool.leaf], leaves=8)


@pytest.mark.parametrize(
    ("pool", "measure"),
    [
        (three_classes(5), FBeta(positive=2, system=1)),
        (three_classes(1, slots=4), FBeta(positive=2, system=1)),
        (with_empty_leaves(), FBeta()),
    ],
    ids=["class 2 of system 1", "rare signatures pooled", "empty leaves"],
)
def test_other_pools_with_and_without_all_answers(pool: Pool, measure: Measure) -> None:
    """Rows without an answer have no part in the rates; the others weigh more by one factor."""
    sampler = Oasis(measure)
    history, order = pool.run(sampler, 2, 30, seed=2)
    silent = history.with_labels(np.where(np.arange(60) % 3 == 0, NO_LABEL, history.label))
    for seen in (history, silent):
        q = pool.row_probability(sampler.proposal(pool.table, seen), seen, order)
        np.testing.assert_allclose(q, slow_proposal(pool, sampler, seen, order), rtol=1e-7)
        assert q.sum() == pytest.approx(1, abs=1e-12)


def test_no_positives_anywhere_falls_back_on_the_pool() -> None:
    """Nothing predicted, certain priors of 0: all v are 0, every row has the same chance."""
    pool = Pool(
        np.arange(30) // 10, np.zeros(30, int), np.repeat([[1.0, 0.0]], 30, 0), np.zeros(30, int)
    )
    sampler = Oasis(FBeta())
    history, order = pool.run(sampler, 1, 10, seed=2)
    q = pool.row_probability(sampler.proposal(pool.table, history), history, order)
    np.testing.assert_allclose(q, 1 / 30, rtol=1e-12)


@pytest.mark.parametrize("key", ["epsilon", "strength"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), True, "1", None])
def test_parameters_are_checked(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{key} must be"):
        Oasis(FBeta(), **{key: value})  # type: ignore[arg-type]


def test_epsilon_is_a_share_and_the_measure_an_f_measure() -> None:
    with pytest.raises(ValueError, match=r"epsilon must be above 0 and at most 1, got 1\.5"):
        Oasis(FBeta(), epsilon=1.5)
    with pytest.raises(ValueError, match="precision and recall, not for accuracy"):
        Oasis(Accuracy())
    pool = make_pool(50, 3, seed=1)
    proposal = Oasis(FBeta(), epsilon=1.0).proposal(pool.table, pool.start())
    np.testing.assert_allclose(proposal.cell_probability, 1 / 50, rtol=1e-12)
