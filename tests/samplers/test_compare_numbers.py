"""Active comparison of systems that predict numbers, through the whole way from their columns.

Against the published figures, a minimum found by brute force, all outcomes of draws on a tiny pool,
and simulated pools of systems that are alike.
"""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

from evalsampling import Evaluation, InputError
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.inference.domains import ReportedDomains
from evalsampling.measures.comparisons import Difference, pairs_of
from evalsampling.samplers import Compare, Sampler
from evalsampling.samplers.base import ReplacementSampler
from evalsampling.samplers.compare import mean_proposal
from evalsampling.stats.history import History
from tests.compared_numbers import (
    NAMES,
    by_row,
    in_memory,
    make_compared_numbers,
    rows_apart,
    spec_of,
    systems_of,
)
from tests.jobs import Pool
from tests.samplers.pools import Uniforms

PREDICTED = [[1, 0.5], [2, 2.1], [0, -1]]
VARIANCES = [[0.2, 0.3], [0.4, 0.1], [0.1, 0.2]]
PUBLISHED = {
    "rescaled": [0.5590169944, 0.1004987562, 1.2649110641],
    "active": [0.5590169944, 0.1004987562, 1.2649110641],
    "active_0": [0.1984126984, 0.0079365079, 0.7936507937],
    "active_inf": [0.3125, 0.0625, 0.625],
    "committee": [0.1984126984, 0.0079365079, 0.7936507937],
    "active_neq": [1, 1, 1],
}
"""Eq. 5.13 and the squared and the plain distance, of the rows above."""


def sampler_of(pool: MemoryPool) -> ReplacementSampler:
    sampler = pool.analysis.sampler
    assert isinstance(sampler, ReplacementSampler)
    return sampler


def proposal_of(pool: MemoryPool, sampler: Sampler | None = None) -> np.ndarray:
    """The chance of each row, in the order of the ids."""
    proposal = (sampler or sampler_of(pool)).proposal(pool.table, pool.analysis.history)
    return by_row(pool, proposal.cell_probability)


@pytest.mark.parametrize("variant", PUBLISHED)
def test_variants_are_the_published_ones(variant: str) -> None:
    sampler = {"name": "compare", "variant": variant, "floor": 0}
    pool = rows_apart(PREDICTED, VARIANCES, labels={"range": [-4, 4]}, sampler=sampler)
    expected = np.array(PUBLISHED[variant])
    # Cells sum up whole numbers of 2^-32 of a unit.
    np.testing.assert_allclose(proposal_of(pool), expected / expected.sum(), rtol=3e-6)


def test_active_risk_is_the_mean_of_both_systems_optima() -> None:
    """Eq. 4.23 for each system by its own variances, each normalised."""
    sampler = {"name": "compare", "variant": "active_risk", "floor": 0}
    pool = rows_apart(PREDICTED, VARIANCES, labels={"range": [-4, 4]}, sampler=sampler)
    expected = []
    for variance in np.array(VARIANCES).T:
        risk = variance.mean()
        size = np.sqrt((3 * variance - 2 * risk) * variance + risk**2)
        expected.append(size / size.sum())
    np.testing.assert_allclose(proposal_of(pool), np.mean(expected, axis=0), rtol=1e-7)


def second_moments(
    predicted: np.ndarray, variances: np.ndarray, pair: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """E d and E d^2 of each row by Gauss and Hermite, under the mixture of all systems."""
    node, weight = special.roots_hermitenorm(20)
    weight = weight / weight.sum()
    label = predicted[:, :, None] + np.sqrt(variances)[:, :, None] * node
    first, other = (predicted[:, place, None, None] for place in pair)
    difference = (first - label) ** 2 - (other - label) ** 2
    share = weight / predicted.shape[1]
    return (difference * share).sum(axis=(1, 2)), (difference**2 * share).sum(axis=(1, 2))


@pytest.mark.parametrize("systems", [2, 3])
@pytest.mark.parametrize("variant", ["rescaled", "active"])
def test_no_other_proposal_has_a_smaller_variance(variant: str, systems: int) -> None:
    """By numerical minimisation over all proposals, with labels as the systems expect them.

    The variance is sum E d^2 / (M^2 q) of plain weights, and of self-normalised ones
    sum E (d - Delta)^2 / (M^2 q) (lemma 5.2).
    """
    rng = np.random.default_rng(3)
    predicted, variances = rng.uniform(20, 60, (5, systems)), rng.gamma(2, 10, (5, systems))
    predicted[4] = predicted[4, 0] + np.arange(systems) * 0.5
    sampler = {"name": "compare", "variant": variant, "floor": 0}
    pool = rows_apart(
        predicted.tolist(), variances.tolist(), systems, measure="mse", sampler=sampler
    )
    found = proposal_of(pool)
    best = []
    for pair in itertools.combinations(range(systems), 2):
        first, second = second_moments(predicted, variances, pair)
        delta = first.mean() if variant == "active" else 0.0
        h = second - 2 * delta * first + delta**2

        def variance(z: np.ndarray, h: np.ndarray = h) -> float:
            q = special.softmax(z)
            return float(np.log(np.sum(h / q)))

        result = optimize.minimize(variance, np.zeros(5), method="BFGS", tol=1e-12)
        best.append(special.softmax(result.x))
    np.testing.assert_allclose(found, np.mean(best, axis=0), rtol=2e-4)


def test_a_cell_has_the_published_chance_of_all_of_its_rows() -> None:
    """So strata cost what rows differ within them, and nothing else."""
    rows = make_compared_numbers(600)
    predicted = np.stack([rows.table[name].to_numpy() for name in NAMES[:2]], axis=1)
    variances = np.stack([rows.table[f"{n}.variance"].to_numpy() for n in NAMES[:2]], axis=1)
    square = (predicted[:, 0] - predicted[:, 1]) ** 2
    sizes = {
        "rescaled": np.sqrt(square * (square + 2 * variances.sum(axis=1))),
        "active_inf": np.sqrt(square),
        "active_0": square,
    }
    for variant, size in sizes.items():
        sampler = {"name": "compare", "variant": variant, "floor": 0}
        pool = in_memory(rows, 2, sampler=sampler, strata={"leaves": 8})
        q, cell = proposal_of(pool), by_row(pool, np.arange(len(pool.table)))
        published = np.bincount(cell, size / size.sum())
        np.testing.assert_allclose(np.bincount(cell, q), published, rtol=1e-5, atol=1e-9)


def test_rows_on_which_systems_agree_are_not_drawn() -> None:
    pool = in_memory(make_compared_numbers(400), 2)
    table, q = pool.table, proposal_of(pool)
    predicted = by_row(pool, table.kinds.prediction[table.kinds.first])
    np.testing.assert_array_equal(q == 0, predicted[:, 0] == predicted[:, 1])


def test_many_systems_are_the_mean_of_their_pairs() -> None:
    """Eq. 5.16, each pair normalised over the pool first."""
    pool = in_memory(make_compared_numbers(400, 3), 3, measure="mse",
                     sampler={"name": "compare", "floor": 0}, strata={"leaves": 30})  # fmt: skip
    known = pool.table.disagreement
    expected = mean_proposal(list(known.root.T), pool.table.count)
    np.testing.assert_allclose(proposal_of(pool), by_row(pool, expected), rtol=1e-9)


def test_costs_divide_the_proposal() -> None:
    """Eq. 6.8: q over the root of the cost."""
    priced = in_memory(make_compared_numbers(300), 2, strata={"leaves": 400}, cost="cost")
    cost = priced.table.cost
    assert len(np.unique(by_row(priced, cost))) > 10
    free = sampler_of(priced).variance_minimising(priced.table, priced.analysis.history)
    expected = by_row(priced, free.cell_probability / np.sqrt(cost))
    np.testing.assert_allclose(proposal_of(priced), expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("measure", ["mse", "mae"])
def test_differences_are_unbiased_over_all_outcomes(measure: str) -> None:
    """Three draws from five rows, all 125 outcomes, by the sampler's own design."""
    predicted = np.array([[10, 12], [20, 29], [30, 30], [44, 40], [50, 51]], dtype=float)
    label = np.array([13, 22, 31, 47, 49.5])
    pool = rows_apart(predicted.tolist(), [[4, 9]] * 5, measure={"difference": measure})
    loss = np.square if measure == "mse" else np.abs
    error = loss(predicted - label[:, None])
    true = float(np.mean(error[:, 0] - error[:, 1]))
    table, sampler = pool.table, sampler_of(pool)
    q = sampler.proposal(table, pool.analysis.history).cell_probability
    assert table.count.tolist() == [1] * 5
    middle = np.cumsum(q) - q / 2
    codes = pool.spec.labels.space.encode(label)
    stored = pool.reserve.rows
    row_of = stored["id"].to_numpy()[np.argsort(stored["cell"].to_numpy())]
    three = Compare(sampler.measure, draws=3)
    mean, total = 0.0, 0.0
    for drawn in itertools.product(np.flatnonzero(q), repeat=3):
        history = History.start(2, table.classes)
        history = three.design(
            table, history, 9, Uniforms([(one, 0.5) for one in middle[list(drawn)]])
        )  # type: ignore[arg-type]
        history = history.with_rows(*pool.describe(history))
        answered = history.with_labels(codes[row_of[history.cell]])
        sample = sampler.weigh(table, answered)
        found = sample.mean(sampler.measure.loss(answered.outputs.take(sample.question),
                                                 answered.label[sample.question]))  # fmt: skip
        chance = float(np.prod(q[list(drawn)]))
        mean, total = mean + chance * float(found[0]), total + chance
    assert total == pytest.approx(1)
    assert mean == pytest.approx(true, abs=1e-9)


def labels_of(rows: Pool) -> np.ndarray:
    return np.array([rows.truth[place] for place in range(len(rows.truth))])


def evaluated(rows: Pool, labels: int, **keys: Any) -> Evaluation:
    """An evaluation of rows with so many labels."""
    columns = {name: rows.table[name] for name in rows.table.column_names if name != "id"}
    evaluation = Evaluation.from_arrays(None, None, columns=columns, **spec_of(2, **keys))
    ids = evaluation.sample(labels)
    evaluation.label(ids, labels_of(rows)[ids])
    return evaluation


def test_values_of_systems_take_the_variant_that_draws_for_them() -> None:
    """A difference is reported beside the values; sampled for it alone, values have none."""
    rows = make_compared_numbers(500)
    for variant, has_values in (("active_risk", True), ("rescaled", False)):
        evaluation = evaluated(rows, 150, measure="mse", sampler=by(variant))
        *values, difference = evaluation.estimate()
        assert [one.value is not None for one in values] == [has_values] * 2
        assert difference.value is not None
        assert difference.significance is not None


def test_the_test_is_the_published_one() -> None:
    """Eq. 3.22 and 3.24 with self-normalised weights: T, and Student's tail at its degrees."""
    sampler = {**by("active"), "draws": 120}
    evaluation = evaluated(make_compared_numbers(500), 120, sampler=sampler)
    (estimate,) = evaluation.estimate()
    history = evaluation.history
    question = history.question
    weight = 1 / history.probability
    predicted = history.outputs.prediction[question]
    space = evaluation.spec.labels.space
    value = space.decode(predicted) - space.decode(history.label[question])[:, None]
    d = value[:, 0] ** 2 - value[:, 1] ** 2
    mean = weight @ d / weight.sum()
    square = len(d) * np.sum(weight**2 * (d - mean) ** 2) / weight.sum() ** 2
    assert estimate.value == pytest.approx(mean)
    error = np.sqrt(square / (len(d) - 1))  # the thesis divides by n
    assert estimate.standard_error == pytest.approx(error, rel=1e-9)
    p_value = 2 * special.stdtr(estimate.significance.degrees, -abs(mean) / error)
    assert estimate.significance.p_value == pytest.approx(p_value)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["rescaled", "active"])
def test_alike_systems_are_called_different_as_seldom_as_the_level_says(variant: str) -> None:
    """Each row twice with its predictions swapped: section 5.4.2. 300 tests at 5 %.

    The bounds are four standard errors of 1.3 % about 5 %: the thesis finds at most 5 %.
    """
    rows = make_compared_numbers(400)
    one, two, v1, v2 = (rows.table[name].to_numpy() for name in
                        ("new", "old", "new.variance", "old.variance"))  # fmt: skip
    predicted = np.stack([np.concatenate([one, two]), np.concatenate([two, one])], axis=1)
    variances = np.stack([np.concatenate([v1, v2]), np.concatenate([v2, v1])], axis=1)
    label = np.tile(labels_of(rows), 2)
    sampler = {"name": "compare", "variant": variant, "draws": 150}
    pool = rows_apart(predicted.tolist(), variances.tolist(), sampler=sampler)
    codes = pool.spec.labels.space.encode(label)
    design, scope = sampler_of(pool), ReportedDomains(systems=("a", "b"), anytime=False)
    rejected = 0
    for seed in range(300):
        history = design.design(pool.table, pool.analysis.history, 800, np.random.default_rng(seed))
        history = history.with_rows(*pool.describe(history))
        ids = pool.ids(history.cell, history.rank)
        history = history.with_labels(codes[ids])
        (said,) = design.estimate(pool.table, history, [design.measure], 0.95, scope)
        rejected += said.significance.p_value <= 0.05
    assert rejected / 300 < 0.05 + 4 * 0.0126


def by(variant: str) -> dict[str, str]:
    return {"name": "compare", "variant": variant}


def test_what_cannot_be_compared_is_refused() -> None:
    columns = {"new": [1.0], "new.variance": [1.0], "old": [2.0], "old.variance": [1.0]}
    for keys, words in (
        ({"measure": {"difference": "mean_error"}}, "mean predictions, which needs no labels"),
        ({"measure": {"ratio": "mean_error"}}, "mean predictions, which needs no labels"),
        ({"measure": {"difference": "f1"}}, "is about classes"),
        ({"sampler": "ais"}, "it models classes"),
        ({"measure": {"difference": "mae"}, "sampler": by("active_0")},
         "active_0 is for the squared loss"),
        ({"measure": {"difference": "rmse"}, "sampler": by("committee")},
         "committee is for mean losses"),
        ({"stop": {"significance": 0.05}}, "no anytime-valid test"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            Evaluation.from_arrays(None, None, columns=columns, **spec_of(2, **keys))


def test_systems_that_predict_the_same_are_not_compared() -> None:
    same = [[3.0, 3.0], [5.0, 5.0]]
    pool = rows_apart(same, [[1.0, 2.0], [1.0, 2.0]])
    with pytest.raises(InputError, match="differ on no row"):
        proposal_of(pool)
    (pair,) = pairs_of(sampler_of(pool).measure)
    assert isinstance(pair, Difference)


def test_a_system_more_changes_nothing_of_a_named_pair() -> None:
    """The mixture is that of the systems compared."""
    rows = make_compared_numbers(300, 3)
    named = {"difference": "mse", "of": "new", "against": "old"}
    two = proposal_of(in_memory(rows, 2, measure=named, strata={"leaves": 300}))
    three = proposal_of(in_memory(rows, 3, measure=named, strata={"leaves": 300}))
    assert systems_of(2).keys() < systems_of(3).keys()
    assert np.corrcoef(two, three)[0, 1] > 0.999


@pytest.mark.parametrize("measure", ["mse", "mae", "rmse"])
def test_estimates_are_of_the_true_difference(measure: str) -> None:
    """300 of 800 rows: within four standard errors, for six seeds."""
    rows = make_compared_numbers(800)
    error = np.stack([rows.table[name].to_numpy() - labels_of(rows) for name in NAMES[:2]])
    value = {
        "mse": np.mean(error**2, axis=1),
        "mae": np.mean(np.abs(error), axis=1),
        "rmse": np.sqrt(np.mean(error**2, axis=1)),
    }[measure]
    for seed in range(6):
        given = {"measure": {"difference": measure}, "seed": seed}
        (estimate,) = evaluated(rows, 300, **given).estimate()
        assert abs(estimate.value - (value[0] - value[1])) < 4 * estimate.standard_error
