"""Baselines of the thesis: each proposal by its formula, row by row, with costs and without."""

import dataclasses

import numpy as np
import pytest

from evalsampling import samplers
from evalsampling.measures import Accuracy, FBeta
from evalsampling.measures.deviation import LEAST_PROBABILITY
from evalsampling.samplers import OptimalImportance
from tests.samplers.pools import Pool, make_pool

PLAIN = dataclasses.replace(
    make_pool(300, 300, seed=8, positive=0.3, strength=3), leaf=np.arange(300), leaves=300
)
"""Each row is a cell of its own."""
POOL = dataclasses.replace(
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
    wanted = expected(name, POOL)
    assert by_row(POOL, sampler) == pytest.approx(wanted / wanted.sum(), rel=2e-3)


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
        outputs=dataclasses.replace(pool.table.outputs, magnitudes={"cost": _of_cells(pool, cost)}),
    )
    one = samplers.ActiveUniformCosts(Accuracy()).proposal(exact, pool.start())
    other = samplers.ActiveCosts(Accuracy()).proposal(exact, pool.start())
    assert one.cell_probability == pytest.approx(other.cell_probability, rel=1e-3)


def _of_cells(pool: Pool, cost: np.ndarray) -> np.ndarray:
    by_cell = np.zeros(len(pool))
    by_cell[pool.cell] = cost
    return by_cell
