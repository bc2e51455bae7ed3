"""The bound on what hides: by all outcomes of tiny adaptive designs, and closed forms."""

from collections.abc import Iterable

import numpy as np
import pytest
from scipy import stats

from evalsampling.inference import undetected
from evalsampling.inference.exposure import Exposure, RoundOfTrials, rounds_of_trials
from evalsampling.inference.undetected import Most, Rules, Undetected, fill
from evalsampling.measures import FBeta
from evalsampling.samplers import Stratified
from evalsampling.stats.history import History
from tests.inference.designs import Path, tiny_pool, with_replacement, without_replacement
from tests.samplers.pools import Pool

POOLS = [tiny_pool((1, 1), (3, 3)), tiny_pool((0, 2), (2, 4)), tiny_pool((2, 0, 1), (2, 2, 2))]


def chase(history: History) -> np.ndarray:
    """Cells where hits were met are drawn from more, those of misses less: as greedy as can be."""
    cells = int(history.cell.max(initial=-1)) + 1
    hits = np.bincount(history.cell[history.label == 1], minlength=max(cells, 3))
    misses = np.bincount(history.cell[history.label == 0], minlength=max(cells, 3))
    return (1 + 4.0 * hits) / (1 + 2.0 * misses)


def chances(pool: Pool):  # type: ignore[no-untyped-def]
    return lambda history: chase(history)[: len(pool.table)]


def exposure_of(pool: Pool, history: History, replacement: bool) -> Exposure:
    trials = rounds_of_trials(pool.table, history, replacement, stochastic=False)
    assert trials is not None
    return Exposure.over(trials, pool.table.count, history.cell)


def mean_of_products(pool: Pool, paths: Iterable[Path], replacement: bool) -> np.ndarray:
    """E W^j of each rule at the true numbers of hits, over all outcomes."""
    total, mass = 0.0, 0.0
    for path in paths:
        history = path.history
        exposure = exposure_of(pool, history, replacement)
        hit = history.label[exposure.question] == 1
        labelled = history.labelled
        cell, cells = history.cell[labelled], len(pool.table)
        rows = pool.table.count - np.bincount(cell, minlength=cells)
        left = pool.truth[:, 1] - np.bincount(cell[history.label[labelled] == 1], minlength=cells)
        rules = undetected.Rules.of(exposure, hit, ~hit, rows)
        total = total + path.chance * np.exp(rules.slope @ left - rules.offset)
        mass += path.chance
    assert mass == pytest.approx(1, abs=1e-9)
    return np.asarray(total)


@pytest.mark.slow
@pytest.mark.parametrize("respond", [1.0, 0.6])
@pytest.mark.parametrize("pool", POOLS[:2], ids=["even", "uneven"])
def test_products_have_mean_at_most_one_however_the_design_answers_to_labels(
    pool: Pool, respond: float
) -> None:
    """With replacement, rounds of 2 and 1 draws, all outcomes, also with labels missing.

    They are no less than a half for small bets, so the exposures are not too small either.
    """
    paths = with_replacement(pool, chances(pool), (2, 1), respond)
    mean = mean_of_products(pool, paths, replacement=True)
    assert mean.max() <= 1 + 1e-12
    assert mean.max() > 0.97


@pytest.mark.parametrize(("sizes", "respond"), [((3, 2), 1.0), ((1, 1, 1), 1.0), ((3, 2), 0.6)])
@pytest.mark.parametrize("pool", POOLS, ids=["even", "uneven", "three"])
def test_products_have_mean_at_most_one_without_replacement(
    pool: Pool, sizes: tuple[int, ...], respond: float
) -> None:
    """Rounds of the stratified sampler, all outcomes of its coins."""
    paths = without_replacement(pool, Stratified(FBeta()), sizes, respond)
    mean = mean_of_products(pool, paths, replacement=False)
    assert mean.max() <= 1 + 1e-12
    assert mean.max() > 0.97


def test_exposures_that_were_too_great_would_be_noticed() -> None:
    """The same with chances overstated by a tenth has a mean above 1."""
    pool = POOLS[1]
    total = 0.0
    for path in with_replacement(pool, chances(pool), (2, 1)):
        history = path.history
        exposure = exposure_of(pool, history, replacement=True)
        hit = history.label[exposure.question] == 1
        left = pool.truth[:, 1] - np.bincount(history.cell[history.label == 1], minlength=2)
        reached = 1.1 * exposure.reached[-1][hit]
        product = 0.1 * (1.1 * exposure.total[-1] @ left + reached.sum()) + np.log(0.9) * hit.sum()
        total += path.chance * np.exp(product)
    assert total > 1.003


@pytest.mark.parametrize("alpha", [0.5, 0.3])
@pytest.mark.parametrize("pool", POOLS, ids=["even", "uneven", "three"])
def test_chance_to_miss_is_at_most_alpha_at_any_stopping_time(pool: Pool, alpha: float) -> None:
    """All outcomes of 3 adaptive rounds; one stops as soon as the bound is too small."""
    missed, known = 0.0, {}
    for path in with_replacement(pool, chances(pool), (1, 1, 1)):
        history, worst = path.history, False
        for stop in range(1, len(history) + 1):
            label = np.where(np.arange(len(history)) < stop, history.label, -1)
            # These tell the chances of the rounds too.
            key = (*history.cell[:stop].tolist(), *label[:stop].tolist())
            if key not in known:
                known[key] = misses(pool, history.with_labels(label), True, alpha)
            worst = worst or known[key]
        missed += path.chance * worst
    assert missed <= alpha + 1e-12


@pytest.mark.parametrize("alpha", [0.5, 0.3])
def test_chance_to_miss_is_at_most_alpha_without_replacement(alpha: float) -> None:
    pool = POOLS[2]
    paths = without_replacement(pool, Stratified(FBeta()), (3, 2))
    missed = sum(path.chance * misses(pool, path.history, False, alpha) for path in paths)
    assert missed <= alpha + 1e-12


def most_undetected(
    exposure: Exposure, hit: np.ndarray, miss: np.ndarray, rows: np.ndarray, alpha: float
) -> Most:
    return Undetected(Rules.of(exposure, hit, miss, rows), rows, alpha).most()


def misses(pool: Pool, history: History, replacement: bool, alpha: float) -> bool:
    exposure = exposure_of(pool, history, replacement)
    hit = history.label[exposure.question] == 1
    cell = history.cell[history.labelled]
    rows = pool.table.count - np.bincount(cell, minlength=len(pool.table))
    most = most_undetected(exposure, hit, ~hit, rows, alpha)
    return bool(hit.sum() + most.count < pool.label.sum() - 1e-9)


def uniform(rows: int, draws: int) -> Exposure:
    """Of one cell, drawn from without replacement one row at a time."""
    steps = np.cumsum(1 / (rows - np.arange(draws)))
    one = RoundOfTrials(np.ones(1), steps[-1:], np.arange(draws), steps)
    return Exposure.over([one], np.array([rows]), np.zeros(draws, dtype=np.int64))


@pytest.mark.parametrize("draws", [30, 300, 3000])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_without_hits_the_bound_is_log_alpha_over_the_exposure(draws: int, alpha: float) -> None:
    """-log(alpha) / G at best; of the best single rule -log(alpha w_j) / (s_j G)."""
    rows = 1_000_000
    exposure = uniform(rows, draws)
    nothing, everything = np.zeros(draws, bool), np.ones(draws, bool)
    most = most_undetected(exposure, nothing, everything, np.array([rows - draws]), alpha)
    best = -np.log(alpha) / exposure.total[-1, 0]
    weight = 0.8 / len(undetected.BETS)  # the levels are all one here
    single = np.min(-np.log(alpha * weight) / undetected.BETS) / exposure.total[-1, 0]
    assert best < most.count <= single


@pytest.mark.parametrize("hits", [0, 1, 5, 20, 100, 500, 900, 990, 1000])
def test_bound_is_near_that_of_clopper_and_pearson(hits: int) -> None:
    """1,000 of 100,000 rows: above it, and at most 2.6 times as far from the share met."""
    exposure = uniform(100_000, 1000)
    hit = np.zeros(1000, bool)
    hit[np.linspace(0, 999, hits).astype(int)] = True
    most = most_undetected(exposure, hit, ~hit, np.array([99_000]), 0.0125)
    exact = stats.beta.ppf(1 - 0.0125, hits + 1, 1000 - hits) if hits < 1000 else 1.0
    assert exact - 0.002 < most.count / 99_000
    assert most.count / 99_000 - hits / 1000 < 2.6 * (exact - hits / 1000) + 1e-9


def test_hits_where_much_was_searched_say_little_of_the_rest() -> None:
    """Two cells, one searched a thousand times as much: its hits hardly loosen the bound."""
    chance, steps = np.array([1e-2, 1e-5]), np.arange(1, 1001.0)
    one = RoundOfTrials(chance, np.full(2, 1000.0), np.arange(1000), steps)
    cell = np.repeat([0, 1], [900, 100])
    rows = np.array([100, 99_900])
    exposure = Exposure.over([one], rows, cell)
    counts = []
    for hits in (0, 50):
        hit = np.arange(1000) < hits
        counts.append(most_undetected(exposure, hit, ~hit, rows, 0.05).count)
    assert counts[1] < 1.25 * counts[0]


def test_cells_searched_least_are_filled_first() -> None:
    count = fill(np.array([2.0, 0.0, 1.0]), 5.0, np.array([10, 3, 4]))
    assert count.tolist() == [0.5, 3, 4]
    assert fill(np.array([2.0, 1.0]), -1.0, np.array([10, 3])).tolist() == [0, 0]
    assert fill(np.zeros(2), 0.0, np.array([10, 3])).tolist() == [10, 3]
