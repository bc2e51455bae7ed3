"""Random rounding of the numbers of rows of each part of a pool, by ordered pivotal sampling.

References:
    J.-C. Deville and Y. Tillé, *Unequal probability sampling without replacement through a
    splitting method*, Biometrika 85, 1998 (the pivotal method); G. Chauvet, *On a characterization
    of ordered pivotal sampling*, Bernoulli 18, 2012; P. Brändén and J. Jonasson, *Negative
    dependence in sampling*, Scandinavian Journal of Statistics 39, 2012.
"""

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray

_ROUNDING = 1e-9
"""A fraction this close to 0 or 1 differs from it by rounding only."""


def round_sizes(size: FloatArray, group: IntArray, rng: np.random.Generator) -> IntArray:
    """Return sizes rounded up or down at random, each with the size as its mean, shape (n,).

    The sum over a group is likewise its sum of sizes, rounded up or down, and so is the sum of all,
    which does not vary if it is whole.

    Fractions duel in order, first within groups, then the survivors of groups: if two fractions sum
    to at most 1, one of them gets the sum and the other nothing; else one of them is taken, and the
    other keeps the sum minus 1. Which one wins does not affect whom the survivor duels next.

    The set of parts that get one more is strongly Rayleigh: its generating polynomial P has no zero
    with all variables in the upper half-plane. Let Q be that of the design which begins after a
    duel of i and j, with w for its survivor. If Q = A + B z_w has no such zero, nor has P:
    if the sum is at most 1 then P = Q(z_w = a z_i + (1 - a) z_j), a mean of the two; else
    P = z_i z_j Q(y) / y, 1 / y = a / z_i + (1 - a) / z_j, and y is in the half-plane too.

    Args:
        size: shape (n,), at least 0.
        group: shape (n,): members of a group stand beside each other.
        rng: source of randomness; only ``random`` is called.
    """
    whole = np.floor(size + _ROUNDING)
    fraction = np.maximum(size - whole, 0.0)
    parts = np.flatnonzero(fraction > _ROUNDING)
    last = np.append(np.diff(group[parts]) != 0, True)
    taken = np.zeros(len(size), dtype=np.int64)
    of_group, of_all = _NOBODY, _NOBODY
    for part, chance, ends in zip(
        parts.tolist(), fraction[parts].tolist(), last.tolist(), strict=False
    ):
        of_group = _duel(of_group, (part, chance), taken, rng)
        if ends:
            of_all, of_group = _duel(of_all, of_group, taken, rng), _NOBODY
    survivor, chance = of_all
    if chance > _ROUNDING and (chance > 1 - _ROUNDING or rng.random() < chance):
        taken[survivor] = 1
    return whole.astype(np.int64) + taken


_NOBODY = (-1, 0.0)


def _duel(
    first: tuple[int, float], other: tuple[int, float], taken: IntArray, rng: np.random.Generator
) -> tuple[int, float]:
    """Return the survivor of a duel and its fraction; mark in ``taken`` if the other is taken."""
    (i, p), (j, q) = first, other
    if p <= _ROUNDING or q <= _ROUNDING:
        return first if q <= _ROUNDING else other
    if p + q <= 1 + _ROUNDING:
        return (i if rng.random() < p / (p + q) else j), min(p + q, 1.0)
    i_is_taken = p > 1 - _ROUNDING or rng.random() < (1 - q) / (2 - p - q)
    taken[i if i_is_taken else j] = 1
    return (j if i_is_taken else i), p + q - 1
