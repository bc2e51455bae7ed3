"""Pairs in both orders, (a, b) and (b, a), counted by hashes that know no order."""

import dataclasses

import numpy as np

from evalsampling.stats.arrays import BoolArray, IntArray, UInt64Array
from evalsampling.stats.hashing import hash_integers

MOST_KEPT = 1 << 16
"""Rows up to which all pairs are counted; of more rows a sample."""

SAMPLED = 1 << 14
"""Rows of more, about, that are kept."""

_ODD = np.uint64(0x9E3779B97F4A7C15)

_BACKWARD = np.uint64(1)
"""Bit of a key that says in which of its two orders a pair is."""


@dataclasses.dataclass(frozen=True)
class OrderCounts:
    """Keys of pairs, of all rows or of a sample of pairs: a mergeable state."""

    rows: int
    key: UInt64Array  # (n,), uint64, ascending: keys of the rows that were kept: see `order_keys`

    @classmethod
    def of_keys(cls, rows: int, key: UInt64Array) -> "OrderCounts":
        """Return the counts of rows, given the keys of the sampled rows, in any order."""
        return cls(rows, np.sort(key))

    def __add__(self, other: "OrderCounts") -> "OrderCounts":
        """Return the state of both sets of rows."""
        both = np.concatenate([self.key, other.key])
        return OrderCounts(self.rows + other.rows, np.sort(both, kind="stable"))

    @property
    def is_exact(self) -> bool:
        """Whether all rows were kept."""
        return len(self.key) == self.rows

    @property
    def pairs(self) -> tuple[int, int]:
        """Pairs in both orders, and all pairs; both estimated unless `is_exact`."""
        key = np.unique(self.key)
        pair = key & ~_BACKWARD
        twice = int(np.sum(pair[1:] == pair[:-1]))
        distinct = len(key) - twice
        if self.is_exact or not distinct:
            return twice, distinct
        share = twice / distinct
        every = self.rows / (1 + share)
        return round(share * every), round(every)

    @property
    def words(self) -> str | None:
        """A sentence on pairs in both orders; None without such pairs."""
        twice, every = self.pairs
        if not twice:
            return None
        about = "" if self.is_exact else "about "
        return f"{about}{twice:,} of {every:,} pairs are in the pool in both orders"


def about_orders(orders: OrderCounts | None) -> list[str]:
    """Return a warning of pairs in both orders, nothing if there are none."""
    if orders is None or orders.words is None:
        return []
    return [
        f"{orders.words}, (a, b) and (b, a): each is two rows, drawn, paid and counted twice. If "
        "the order says nothing, pool.pairs: unordered makes one row of them"
    ]


def order_keys(left: UInt64Array, right: UInt64Array, backward: BoolArray) -> UInt64Array:
    """Return keys of pairs: equal but for the last bit if one is the other in the other order."""
    first, second = np.minimum(left, right), np.maximum(left, right)
    mixed = first * _ODD + second
    key = hash_integers(mixed.view(np.int64), 0)
    return np.asarray((key & ~_BACKWARD) | backward.astype(np.uint64))


def turned(key: UInt64Array) -> BoolArray:
    """Return which rows are pairs in the second order that are there in the first one too."""
    backward = (key & _BACKWARD) != 0
    forward = np.unique(key[~backward])
    if not len(forward):
        return np.zeros(len(key), dtype=np.bool_)
    sought = key & ~_BACKWARD
    place = np.minimum(np.searchsorted(forward, sought), len(forward) - 1)
    return np.asarray(backward & (forward[place] == sought))


def sampled(left: IntArray, right: IntArray, rows: int) -> BoolArray:
    """Return whether each row is sampled: about `SAMPLED`, both orders of a pair alike."""
    mixed = (_spread(left) + _spread(right)) * _ODD
    share = SAMPLED / max(rows, SAMPLED)
    return np.asarray(_spread(mixed.view(np.int64)) <= np.uint64(share * (2**64 - 2**11)))


def _spread(numbers: IntArray) -> UInt64Array:
    """Return numbers whose high bits depend on all bits of others; far cheaper than a hash."""
    wide = numbers.view(np.uint64) * _ODD
    wide ^= wide >> np.uint64(32)
    wide *= _ODD
    return wide
