"""Counts of pairs in both orders: exact where pools are small, else by a sample."""

import numpy as np

from evalsampling.stats import orders
from evalsampling.stats.hashing import hash_integers
from evalsampling.stats.orders import OrderCounts, about_orders, order_keys, sampled
from tests.contracts import assert_mergeable, same_state


def _keys(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return order_keys(hash_integers(left, 3), hash_integers(right, 3), left > right)


def _pairs(rows: int, twice: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of different records, the first ones once more the other way round."""
    rng = np.random.default_rng(seed)
    left, right = np.arange(rows), rng.permutation(rows) + rows
    return np.append(left, right[:twice]), np.append(right, left[:twice])


def test_pairs_in_both_orders_are_counted() -> None:
    left, right = _pairs(3000, 900)
    counted = OrderCounts.of_keys(3900, _keys(left, right))
    assert counted.is_exact
    assert counted.pairs == (900, 3000)
    assert counted.words == "900 of 3,000 pairs are in the pool in both orders"
    (warning,) = about_orders(counted)
    assert "counted twice" in warning


def test_copies_and_records_beside_themselves_are_no_other_order() -> None:
    left, right = np.array([1, 1, 5, 5]), np.array([2, 2, 5, 5])
    counted = OrderCounts.of_keys(4, _keys(left, right))
    assert counted.pairs == (0, 2)
    assert counted.words is None
    assert about_orders(counted) == about_orders(None) == []


def test_states_merge_in_any_order() -> None:
    left, right = _pairs(200, 50)
    keys = _keys(left, right)
    parts = [OrderCounts.of_keys(len(part), part) for part in np.array_split(keys, 5)]
    assert_mergeable(parts, OrderCounts.of_keys(0, keys[:0]), same_state)


def test_a_large_pool_is_sampled_by_pairs() -> None:
    """Of 400,000 pairs a tenth is in both orders: the estimate is within five standard errors."""
    left, right = _pairs(400_000, 40_000)
    kept = sampled(left, right, len(left))
    assert np.array_equal(kept, sampled(right, left, len(left)))
    counted = OrderCounts.of_keys(len(left), _keys(left[kept], right[kept]))
    assert not counted.is_exact
    assert abs(len(counted.key) - orders.SAMPLED) < 5 * np.sqrt(2 * orders.SAMPLED)
    twice, every = counted.pairs
    error = 400_000 * np.sqrt(0.1 * 0.9 / (0.9 * orders.SAMPLED))
    assert abs(twice - 40_000) < 5 * error
    assert abs(every - 400_000) < 5 * error
    assert str(counted.words).startswith("about ")
