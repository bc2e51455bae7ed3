"""Draws with replacement from a pool in parts: each draw takes the row that arrives first.

Each row arrives at a Poisson process of a rate in proportion to its weight g, and each arrival goes
to one of the n draws, all alike. So the arrivals at one draw are a process of their own, of rate
g for each row and independent of other draws, and the row that arrives first is a row with
probability g / sum g: n draws with replacement (J. F. C. Kingman, *Poisson Processes*, 1993,
sections 2.2 and 5.1). Times and draws are functions of the hash of a row, so the first arrivals of
parts of a pool are those of the pool, however it is divided.
"""

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray, UInt64Array

_AT_A_TIME = 1 << 10
"""Arrivals computed at a time, after the first one of each row."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def arrivals(
    hashes: UInt64Array, weight: FloatArray, draws: int, until: float
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row, draw and time of all arrivals up to a time, shape (arrivals,) each.

    Args:
        hashes: shape (n,): of the rows' ids, keyed by the seed.
        weight: shape (n,): g, at least 0.
        draws: number of draws.
        until: finite; about ``draws * until * sum(weight)`` rows arrive by then.
    """
    rows, slots, times = [], [], []
    waiting = np.flatnonzero(weight > 0)
    time, number = np.zeros(len(waiting)), 0
    while len(waiting):
        # One arrival of many rows at a time, or many of few rows: most rows never arrive.
        block = min(max(_AT_A_TIME // len(waiting), 1), _AT_A_TIME) if number else 1
        numbers = number + 2 * np.arange(block)
        own = hashes[waiting, None]
        gap = -np.log1p(-_uniforms(own, numbers)) / (weight[waiting, None] * draws)
        # One after the other, so that times do not depend on the blocks.
        at = np.cumsum(np.column_stack([time, gap]), axis=1)[:, 1:]
        place, arrival = np.nonzero(at <= until)
        slot = np.floor(_uniforms(own[place, 0], numbers[arrival] + 1) * draws).astype(np.int64)
        rows.append(waiting[place])
        slots.append(np.minimum(slot, draws - 1))
        times.append(at[place, arrival])
        goes_on = at[:, -1] <= until
        waiting, time = waiting[goes_on], at[goes_on, -1]
        number += 2 * block
    empty = np.zeros(0, dtype=np.int64)
    return (
        np.concatenate([empty, *rows]),
        np.concatenate([empty, *slots]),
        np.concatenate([np.zeros(0), *times]),
    )


def first_arrivals(
    hashes: UInt64Array, weight: FloatArray, draws: int
) -> tuple[IntArray, FloatArray]:
    """Return the row that arrives first at each draw and when, shape (draws,) each.

    Ties in time, which are very rare, are broken by the hash.

    Args:
        hashes: shape (n,): of the rows' ids, keyed by the seed.
        weight: shape (n,): at least 0; without any above 0 the row is -1 and the time infinite.
        draws: number of draws.
    """
    row, time = np.full(draws, -1, dtype=np.int64), np.full(draws, np.inf)
    total = float(weight.sum())
    until = (np.log(draws) + 3) / total if total > 0 else 0.0
    while total > 0 and np.isinf(time).any():
        rows, slot, at = arrivals(hashes, weight, draws, until)
        order = np.lexsort((hashes[rows], at, slot))
        first = order[np.flatnonzero(np.diff(slot[order], prepend=-1))]
        row[slot[first]], time[slot[first]] = rows[first], at[first]
        until *= 2  # some draw was still waiting, which is rare
    return row, time


def _uniforms(hashes: UInt64Array, number: IntArray) -> FloatArray:
    """Return the ``number``-th uniform random number of each row, in (0, 1), broadcast.

    From the generator SplitMix64, started at the hash (G. L. Steele, D. Lea and C. H. Flood, *Fast
    splittable pseudorandom number generators*, OOPSLA 2014).
    """
    with np.errstate(over="ignore"):
        state = hashes + _GOLDEN * (number + 1).astype(np.uint64)
        state = (state ^ (state >> np.uint64(30))) * _MIX_1
        state = (state ^ (state >> np.uint64(27))) * _MIX_2
        state ^= state >> np.uint64(31)
    return ((state >> np.uint64(11)).astype(np.float64) + 0.5) / float(1 << 53)
