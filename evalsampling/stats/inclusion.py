"""Sampling without replacement with unequal probabilities: inclusion probabilities, sizes, rows.

Cells have a *size*, the measure of size of each of their rows, at least 0, and a number of *rows*:
shape (cells,) each.

References:
    C.-E. Särndal, B. Swensson and J. Wretman, *Model Assisted Survey Sampling*, Springer 1992,
    section 3.6 (probabilities proportional to size, those above 1 being set to 1).
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    appendices B.1 and C.
    J.-C. Deville and Y. Tillé, *Unequal probability sampling without replacement through a
    splitting method*, Biometrika 85, 1998 (the pivotal method); G. Chauvet, *On a characterization
    of ordered pivotal sampling*, Bernoulli 18, 2012; P. Brändén and J. Jonasson, *Negative
    dependence in sampling*, Scandinavian Journal of Statistics 39, 2012.
"""

from collections.abc import Mapping

import numpy as np
import scipy

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray, numbered_within
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History, Round

_ROUNDING = 1e-9
"""A fraction this close to 0 or 1 differs from it by rounding only."""

_NO_VARIANCE = 1e-20
"""A variance below this share of another is that of a constant, which rounding alone moves."""


def water_fill(size: FloatArray, rows: IntArray, expected: float) -> FloatArray:
    """Return inclusion probabilities min(1, kappa size) that sum to a number of rows, or all."""
    order = np.argsort(-size, kind="stable")
    ordered, count = size[order], rows[order].astype(np.float64)
    positive = ordered > 0
    if count[positive].sum() <= expected:
        return (size > 0).astype(np.float64)
    # With the first i cells certain, kappa is the rows left divided by the size of the others.
    certain = np.concatenate([[0.0], np.cumsum(count)[:-1]])
    mass = np.cumsum((ordered * count)[::-1])[::-1]
    factor = np.divide(expected - certain, mass, out=np.zeros(len(mass)), where=mass > 0)
    # The right i is the first at which the largest size that is left stays below 1.
    place = int(np.argmax(factor * ordered <= 1))
    return np.minimum(size * factor[place], 1.0)


def rows_within(money: float, size: FloatArray, rows: IntArray, cost: FloatArray) -> float:
    """Return the expected rows of `water_fill` whose expected cost is an amount of money."""
    most = float(rows[size > 0].sum())

    def excess(expected: float) -> float:
        return float(water_fill(size, rows, expected) * rows @ cost) - money

    return most if excess(most) <= 0 else float(scipy.optimize.brentq(excess, 0.0, most))


def mix_evenly(size: FloatArray, rows: IntArray, even: float) -> FloatArray:
    """Return a measure of size, 1 in all rows, of which a share is spread evenly over rows."""
    total = float(size @ rows)
    flat = np.full(len(size), 1 / max(int(rows.sum()), 1))
    return flat if total == 0 else (1 - even) * size / total + even * flat


def compromise(variance: FloatArray, share: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the measure of size that serves several quantities, shape (cells,).

    It minimises the sum of their variances, each times its weight and by the least that a size for
    it alone leaves (W. G. Cochran, *Sampling Techniques*, 3rd edition, 1977, section 5A.3). Of each
    cell there are the ``share`` of its rows and what a row adds to the ``variance`` of each of m
    quantities, shape (m, cells). Quantities that do not vary count for nothing.
    """
    least = least_variance(variance, share)
    varies = least > _NO_VARIANCE * least.max(initial=0.0)
    by_least = np.divide(weights, least, out=np.zeros_like(least), where=varies)
    return np.asarray(np.sqrt(by_least @ variance))


def least_variance(variance: FloatArray, share: FloatArray) -> FloatArray:
    """Return the variance of one draw that the best size for each quantity leaves: (m,)."""
    return np.asarray((np.sqrt(variance) @ share) ** 2)


def saturates(size: FloatArray, rows: IntArray, expected: float) -> bool:
    """Tell whether some row is certain: max h >= (N / n) mean h ([Y] eq. 88), h the size."""
    held = rows > 0
    return bool(size[held].max(initial=0.0) * expected >= size @ rows)


def distinct_rows(probability: FloatArray, rows: IntArray | FloatArray, draws: float) -> float:
    """Return the expected number of distinct rows among draws with replacement.

    N - sum (1 - q)^draws: the size of the Poisson sample that costs as many labels ([Y] eq. 83).
    Costs in place of rows give the expected cost. Draws need not be whole.
    """
    if draws == 0:
        return 0.0
    with np.errstate(divide="ignore"):
        return float(-rows @ np.expm1(draws * np.log1p(-probability)))


def draw_unseen(
    table: CellTable,
    history: History,
    chance: FloatArray,
    rng: np.random.Generator,
    posterior: FloatArray | None = None,
    group: IntArray | None = None,
    answers: int = 1,
) -> History:
    """Return the history with one more round, of rows never drawn before, without replacement.

    A cell's number of rows is its expected one, rounded up or down by ordered pivotal sampling,
    leaf by leaf; they are the next ones of its permanent order. So each has its inclusion
    probability, and the indicators are negatively associated.

    `chance`: shape (cells,), in [0, 1]: inclusion probability of rows never drawn before.
    `group`: shape (cells,): groups of cells whose total is likewise the expected one, rounded; the
    leaves if not given.
    `answers`: most questions about a row of a stochastic oracle. A cell then counts as that many
    copies of it, one after the other, and statements about rows are about copies.
    """
    asked = np.bincount(history.cell, minlength=len(table))
    rank = history.drawn_by_cell(len(table)) if answers == 1 else asked
    expected = (table.count * answers - rank) * chance
    group = table.leaf if group is None else group
    order = np.argsort(group, kind="stable")
    sizes = np.empty(len(table), dtype=np.int64)
    sizes[order] = round_sizes(expected[order], group[order], rng)
    return draw_next(table, history, chance, sizes, rng, posterior, rank)


def draw_simply(
    table: CellTable,
    history: History,
    inside: BoolArray,
    sizes: Mapping[bool, int],
    rng: np.random.Generator,
    posterior: FloatArray,
) -> History:
    """Return the history with one more round, of simple random samples of two strata.

    They are the cells ``inside`` and all others. Rows were never drawn before, and are in a random
    order.
    """
    rank = history.drawn_by_cell(len(table))
    left = table.count - rank
    cells = np.zeros(0, dtype=np.int64)
    for part, size in sizes.items():
        of_part = np.where(inside == part, left, 0)
        rows = int(of_part.sum())
        place = rng.choice(rows, size, replace=False) if size else np.zeros(0, dtype=np.int64)
        cells = np.append(cells, np.searchsorted(np.cumsum(of_part), place, side="right"))
    chance, cells = simple_chances(inside, left, sizes), rng.permutation(cells)
    ranks = rank[cells] + numbered_within(cells)
    drawn = draw_these(table, history, chance, cells, ranks, posterior)
    return drawn.with_last(stratum=inside[cells].astype(np.int64))


def simple_chances(inside: BoolArray, left: IntArray, sizes: Mapping[bool, int]) -> FloatArray:
    """Return the chance of a row of each cell to be in the samples of `draw_simply`: (cells,).

    Two strata never have the same, so that it tells them apart: one may be off in its last digit.
    """
    rows = {part: int(left[inside == part].sum()) for part in sizes}
    own = {part: size / max(rows[part], 1) for part, size in sizes.items()}
    if own[True] == own[False]:
        own[False] = np.nextafter(own[False], 1.0)
    return np.where(inside, own[True], own[False])


def draw_next(
    table: CellTable,
    history: History,
    chance: FloatArray,
    sizes: IntArray,
    rng: np.random.Generator,
    posterior: FloatArray | None = None,
    rank: IntArray | None = None,
) -> History:
    """Return the history with one more round, of the next rows of each cell's permanent order.

    The ``rank`` of the first of them is that of the first never drawn if not given; the first row
    comes again after the last.
    """
    rank = history.drawn_by_cell(len(table)) if rank is None else rank
    cells = np.repeat(np.arange(len(table)), sizes)
    cells = cells[np.argsort(rng.random(len(cells)))]  # a task's place must not reveal its cell
    ranks = (rank[cells] + numbered_within(cells)) % table.count[cells]
    return draw_these(table, history, chance, cells, ranks, posterior)


def draw_these(
    table: CellTable,
    history: History,
    chance: FloatArray,
    cells: IntArray,
    ranks: IntArray,
    posterior: FloatArray | None = None,
) -> History:
    """Return the history with one more round, of rows by cell and rank: see `draw_next`."""
    drawn = Round(
        question=len(history) + np.arange(len(cells)),
        probability=chance[cells],
        new=np.ones(len(cells), dtype=np.bool_),
        posterior=posterior,
        cell_probability=chance,
    )
    return history.with_round(drawn, cells, ranks, table.kinds.of_cells(cells))


def round_sizes(size: FloatArray, group: IntArray, rng: np.random.Generator) -> IntArray:
    """Return sizes rounded up or down at random, each with the size as its mean, shape (n,).

    The sum over a group is likewise its sum of sizes, rounded up or down, and so is the sum of all,
    which does not vary if it is whole.

    Fractions duel in order, first within groups, then the survivors of groups: if two fractions sum
    to at most 1, one of them gets the sum and the other nothing; else one of them is taken, and the
    other keeps the sum minus 1. Which one wins does not affect whom the survivor duels next.

    The set of parts that get one more is strongly Rayleigh: its generating polynomial P has no zero
    with all variables in the upper half-plane. Let Q be that of the design which begins after a
    duel of i and j, with w for its survivor. If Q = A + B z_w has no such zero, nor has P: if the
    sum is at most 1 then P = Q(z_w = a z_i + (1 - a) z_j), a mean of the two; else P = z_i z_j Q(y)
    / y, 1 / y = a / z_i + (1 - a) / z_j, and y is in the half-plane too. Members of a group stand
    beside each other. Of the generator only ``random`` is called.
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
