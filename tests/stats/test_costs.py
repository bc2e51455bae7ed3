"""Costs: what theorem 4.2 of the thesis says of draws and savings."""

import numpy as np
import pytest

from evalsampling.stats.costs import Price, draws_within, per_root_cost, predicted_saving


def test_vector_2_of_the_thesis() -> None:
    """TV2: zero-one loss with costs; q and n* as computed independently of this project."""
    error, cost = np.array([0.02, 0.3, 0.45, 0.1]), np.array([1.0, 2.0, 4.0, 1.0])
    risk = error.mean()
    root_h = np.sqrt((1 - 2 * risk) * error + risk**2)
    g = per_root_cost(root_h, cost)
    q = g / g.sum()
    assert q == pytest.approx([0.2072498189, 0.2818662607, 0.2350587187, 0.2758252016], abs=1e-10)
    rows = np.ones(4, dtype=np.int64)
    assert draws_within(10.0, q, rows, cost) == pytest.approx(5.0326052003, abs=1e-9)
    assert predicted_saving(root_h, rows) == pytest.approx(0.915639094, abs=1e-9)


def test_no_proposal_saves_more_than_predicted() -> None:
    """Lemma 4.2 by brute force: (sum a / q)(sum cost q) of random proposals, over that of even."""
    rng = np.random.default_rng(2)
    size, cost = rng.gamma(1.0, 1.0, 6), np.exp(rng.normal(0, 1, 6))
    rows = rng.integers(1, 5, 6)

    def price(q: np.ndarray) -> float:
        q = q / (rows @ q)
        return float((rows @ (size**2 / q)) * (rows @ (cost * q)))

    even = price(np.ones(6))
    saving = predicted_saving(size, rows, cost)
    assert price(per_root_cost(size, cost)) / even == pytest.approx(saving)
    others = [price(rng.gamma(1.0, 1.0, 6)) / even for _ in range(2000)]
    assert min(others) >= saving - 1e-12


def test_costs_in_proportion_to_what_labels_tell_save_nothing() -> None:
    """Digest C.6: the best proposal is then the pool's own distribution."""
    size = np.array([0.5, 1.0, 2.0])
    rows = np.array([3, 4, 5])
    assert predicted_saving(size, rows, size**2) == pytest.approx(1.0)
    assert per_root_cost(size, size**2) == pytest.approx(np.ones(3))


def test_labels_are_as_many_as_money_pays_for_with_a_deviation_to_spare() -> None:
    rng = np.random.default_rng(3)
    mass, cost = rng.random(20), np.exp(rng.normal(0, 1, 20))
    price = Price.of_rows(mass, cost)
    drawn = rng.choice(cost, 200_000, p=mass / mass.sum())
    assert price.mean == pytest.approx(drawn.mean(), rel=0.02)
    assert price.deviation == pytest.approx(drawn.std(), rel=0.05)
    for money in (2 * price.mean, 30.0, 1000.0):
        most = price.labels_within(money)
        needed = [n * price.mean + np.sqrt(n) * price.deviation for n in (most, most + 1)]
        assert most == 1 or needed[0] <= money
        assert needed[1] > money
    assert [price.labels_within(share * price.mean) for share in (0.9, 1)] == [0, 1]


def test_labels_that_cost_the_same_are_counted() -> None:
    assert Price.of_rows(np.ones(3), None).labels_within(7.5) == 7
    assert Price.of_rows(np.zeros(3), np.ones(3)).labels_within(1e9) == 0
