"""Optimal importance sampling: the draws and the estimate of the paper."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from evalsampling import Evaluation, samplers
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.intervals import degrees_of_freedom
from evalsampling.inference.score_calibration import recalibrated
from evalsampling.measures import Accuracy, FBeta, Precision
from evalsampling.measures.deviation import LEAST_PROBABILITY, Deviation
from evalsampling.samplers import OptimalImportance
from tests.samplers.pools import Pool, make_pool

POOL = make_pool(2000, 20, seed=4, positive=0.1, strength=3)


def test_proposal_is_proportional_to_the_deviation() -> None:
    sampler = OptimalImportance(FBeta(), delta=0.0, smoothing=0.9)
    table = POOL.table
    size = Deviation.from_cells(FBeta(), table, table.prior, 0.9).of_cells(table, table.prior)
    q = sampler.proposal(table, POOL.start()).cell_probability
    assert q == pytest.approx(size / np.sum(size * table.count))


@pytest.mark.parametrize("settings", [{"smoothing": 0.9, "delta": 0.0}, {"smoothing": 0.4}])
def test_settings_of_the_paper_can_be_chosen(settings: dict[str, float]) -> None:
    """[Y] eq. 12 to 14 and 53 for F1, row by row from a spec: f = y p, g = (y + p) / 2."""
    rng = np.random.default_rng(6)
    p = np.sort(rng.uniform(0.02, 0.98, 200))
    guess = (p + rng.normal(0, 0.1, 200) > 0.6).astype(int)
    evaluation = Evaluation.from_arrays(
        p, guess, sampler={"name": "optimal_importance", **settings},
        strata={"edges": ((p[1:] + p[:-1]) / 2).tolist()},
    )  # fmt: skip
    lam, delta = settings["smoothing"], settings.get("delta", 0.1)
    chance = lam * p + (1 - lam) * 0.5
    f = np.sum(chance * guess) / np.sum((chance + guess) / 2)
    h = np.sqrt(chance * (guess - f * (1 + guess) / 2) ** 2 + (1 - chance) * (f * guess / 2) ** 2)
    wanted = (1 - delta) * h / h.sum() + delta / 200
    ids = evaluation.sample(150)
    history = evaluation.history
    assert isinstance(evaluation.analysis.sampler, OptimalImportance)
    found = history.rounds[0].probability
    assert found == pytest.approx(wanted[ids[history.question]], rel=1e-6)


@pytest.mark.parametrize("measure", [FBeta(), Accuracy()], ids=lambda m: m.name)
def test_estimate_is_that_of_the_paper(measure: FBeta) -> None:
    """[Y] eq. 4, 5, 16 and 17 over all draws; here by M - 1, and Beta with Student's quantile."""
    sampler = OptimalImportance(measure)
    history, order = POOL.run(sampler, 2, 80, seed=3)
    scope = ReportedDomains(methods=("beta",))
    (found,) = sampler.estimate(POOL.table, history, [measure], 0.9, scope)
    question, q = history.question, history.probability
    rows = POOL.rows(history, order)[question]
    loss = measure.loss(POOL.outputs.take(rows), POOL.label[rows])
    f, g = loss.T if loss.shape[1] == 2 else (1 - loss[:, 0], np.ones(len(rows)))
    draws = len(rows)
    value = np.sum(f / q) / np.sum(g / q)
    mean = np.sum(g / q) / draws / len(POOL)
    variance = np.sum(((f - value * g) / q) ** 2) / (mean * draws * len(POOL)) ** 2
    assert found.value == pytest.approx(value)
    assert found.standard_error == pytest.approx(np.sqrt(variance * draws / (draws - 1)))
    interval = next(one for one in found.intervals if one.method == "beta")
    squares = np.bincount(np.unique(rows, return_inverse=True)[1], ((f - value * g) / q) ** 2)
    degrees = degrees_of_freedom(squares, draws)
    error = found.standard_error * stats.t(degrees).ppf(0.95) / stats.norm.ppf(0.95)
    strength = value * (1 - value) / error**2 - 1
    wanted = stats.beta(value * strength, (1 - value) * strength).ppf([0.05, 0.95])
    assert [interval.low, interval.high] == pytest.approx(wanted, abs=1e-6)


def test_bias_of_a_ratio_is_reported() -> None:
    sampler = OptimalImportance(FBeta())
    history, _ = POOL.run(sampler, 1, 60, seed=1)
    (found,) = sampler.estimate(POOL.table, history, [Precision()], 0.9)
    assert found.bias.total == pytest.approx(found.bias.covariance_term + found.bias.variance_term)


def test_calibration_answers_to_labels() -> None:
    sampler = OptimalImportance(FBeta(), delta=0.0, calibration="isotonic")
    history, _ = POOL.run(sampler, 2, 50, seed=1)
    prior = recalibrated(POOL.table, history, "isotonic")
    size = Deviation.from_cells(FBeta(), POOL.table, prior).of_cells(POOL.table, prior)
    q = sampler.proposal(POOL.table, history).cell_probability
    assert q == pytest.approx(size / np.sum(size * POOL.table.count))
    with pytest.raises(ValueError, match="calibration must be logistic, isotonic or module:object"):
        OptimalImportance(FBeta(), calibration="beta")
    with pytest.raises(ValueError, match="smoothing must be between 0 and 1"):
        OptimalImportance(FBeta(), smoothing=1.5)


PLAIN = dataclasses.replace(
    make_pool(300, 300, seed=8, positive=0.3, strength=3), leaf=np.arange(300), leaves=300
)
"""Each row is a cell of its own."""
COSTLY = dataclasses.replace(
    PLAIN, cost=np.exp(np.random.default_rng(2).normal(0, 1, 300)), cost_classes=16
)


def by_row(pool: Pool, sampler: OptimalImportance) -> np.ndarray:
    return sampler.proposal(pool.table, pool.start()).cell_probability[pool.cell]


def root_h(pool: Pool, p: np.ndarray, eta: float = 0.5) -> np.ndarray:
    """Eq. 4.18 of the thesis for F_eta, as the digest gives it; p is the chance of a positive."""
    f = pool.prediction == 1
    g = (f * p).sum() / (eta * f.sum() + (1 - eta) * p.sum())
    h = np.where(f, p * (1 - g) ** 2 + eta**2 * (1 - p) * g**2, (1 - eta) ** 2 * p * g**2)
    return np.sqrt(h)


def zero_one(pool: Pool) -> np.ndarray:
    """Eq. 4.14: sqrt((1 - 2 R) e + R^2)."""
    e = 1 - pool.probability[np.arange(len(pool)), pool.prediction]
    return np.sqrt((1 - 2 * e.mean()) * e + e.mean() ** 2)


def expected(name: str, pool: Pool) -> np.ndarray:
    p, cost = np.maximum(pool.probability[:, 1], LEAST_PROBABILITY), pool.table.cost[pool.cell]
    return {
        "optimal_importance": lambda: root_h(pool, p) / np.sqrt(cost),
        "active_uniC": lambda: root_h(pool, p),
        "active_uniD": lambda: root_h(pool, np.full(len(p), 0.5)) / np.sqrt(cost),
        "active_lambda": lambda: 1 / np.sqrt(cost),
        "active_err": lambda: zero_one(pool) / np.sqrt(cost),
    }[name]()


@pytest.mark.parametrize(
    "name", ["optimal_importance", "active_uniC", "active_uniD", "active_lambda", "active_err"]
)
def test_proposals_are_those_of_the_thesis(name: str) -> None:
    sampler = samplers.BY_NAME[name](FBeta(), delta=0.0)
    assert isinstance(sampler, OptimalImportance)
    wanted = expected(name, COSTLY)
    assert by_row(COSTLY, sampler) == pytest.approx(wanted / wanted.sum(), rel=2e-3)


def test_vector_4_of_the_thesis() -> None:
    """TV4, F1: q of four rows, as computed independently of this project."""
    p = np.array([0.9, 0.6, 0.3, 0.05])
    pool = Pool(
        np.arange(4), np.array([1, 1, 0, 0]), np.stack([1 - p, p], axis=1), np.zeros(4, int)
    )
    q = by_row(pool, OptimalImportance(FBeta(), delta=0.0))
    assert q == pytest.approx([0.2880989533, 0.355608498, 0.2530040697, 0.103288479], abs=1e-7)


def test_where_informative_rows_are_cheap_costs_alone_are_as_good_as_the_model() -> None:
    """Digest C.6 [RD]: 1 / cost in proportion to h makes active_uniC and active_lambda coincide."""
    cost = 1 / zero_one(PLAIN) ** 2
    pool = dataclasses.replace(PLAIN, cost=cost, cost_classes=1)
    exact = dataclasses.replace(
        pool.table,
        kinds=dataclasses.replace(pool.table.kinds, magnitudes={"cost": _of_cells(pool, cost)}),
    )
    one = samplers.ActiveUniformCosts(Accuracy()).proposal(exact, pool.start())
    other = samplers.ActiveCosts(Accuracy()).proposal(exact, pool.start())
    assert one.cell_probability == pytest.approx(other.cell_probability, rel=1e-3)


def _of_cells(pool: Pool, cost: np.ndarray) -> np.ndarray:
    by_cell = np.zeros(len(pool))
    by_cell[pool.cell] = cost
    return by_cell
