"""Bets against what a measure is at most: by all outcomes of tiny designs, and known bounds."""

import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest
from scipy import stats

from evalsampling.inference.bets import (
    Block,
    Hypotheses,
    Outlook,
    blocks_of,
    log_wealth,
    term,
    terms_of_cells,
    wealths,
)
from evalsampling.spec.promise import MEASURES
from evalsampling.stats.arrays import numbered_within
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History, Round
from evalsampling.stats.inclusion import draw_these, draw_unseen, simple_chances, water_fill
from tests.inference.designs import Path, arrangements, tiny_pool, without_replacement
from tests.samplers.pools import Pool
from tests.slow import fast

POOLS = [tiny_pool((1, 2), (3, 3)), tiny_pool((0, 2), (2, 4)), tiny_pool((1, 0, 1), (2, 2, 2))]
SMALL = [tiny_pool((1, 1), (2, 2)), tiny_pool((0, 1), (1, 3)), tiny_pool((1, 0, 1), (1, 1, 2))]
LEVEL = math.log(4)


def measures_of(pool: Pool, threshold: float) -> dict[str, float]:
    """The measures of the rows that score at least a threshold; a row's score is its leaf."""
    above, y = pool.leaf >= threshold, pool.label == 1
    return {
        "precision": float(y[above].mean()),
        "recall": float(above[y].mean()),
        "f1": float(2 * (above & y).sum() / (above.sum() + y.sum())),
        "accuracy": float((above == y).mean()),
    }


def nulls(pool: Pool) -> Hypotheses:
    """Hypotheses that are just true: each measure is at most what it is, at two thresholds."""
    score = np.arange(len(pool.table), dtype=np.float64)
    values = [
        terms_of_cells(name, score, np.array([threshold]), goal)
        for threshold in (0.0, 1.0)
        for name, goal in measures_of(pool, threshold).items()
    ]
    return Hypotheses(np.concatenate(values))


def follow(pool: Pool, paths: Iterable[Path], replaced: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean wealth at the end, and how often it ever reached the level, for each hypothesis."""
    asked = nulls(pool)
    mean, reached, mass = np.zeros(len(asked.value)), np.zeros(len(asked.value)), 0.0
    for path in paths:
        history = path.history
        blocks = [*blocks_of(pool.table, history, len(history), 1, replaced)]
        steps = np.array([*wealths(blocks, asked, history, 1, LEVEL)])
        mean += path.chance * np.exp(steps[-1])
        best = log_wealth(blocks, asked, history, 1, LEVEL)
        assert best == pytest.approx(np.maximum(steps.max(axis=0), 0))
        reached += path.chance * (best >= LEVEL)
        mass += path.chance
    assert mass == pytest.approx(1, abs=1e-9)
    return mean, reached


class Chase:
    """A sampler that draws from cells where hits were met, as greedily as can be."""

    def design(
        self, table: CellTable, history: History, rows: int, rng: np.random.Generator
    ) -> History:
        left = table.count - history.drawn_by_cell(len(table))
        hits = np.bincount(history.cell[history.label == 1], minlength=len(table))
        misses = np.bincount(history.cell[history.label == 0], minlength=len(table))
        size = (1 + 4.0 * hits) / (1 + 2.0 * misses)
        return draw_unseen(table, history, water_fill(size, left, rows), rng)


@pytest.mark.parametrize(
    ("sizes", "respond"), fast(2, [((2, 1), 0.6), ((1, 2, 1), 1.0), ((2, 1), 1.0), ((3, 2), 0.6)])
)
@pytest.mark.parametrize("pool", fast(3, [*SMALL, *POOLS]))
def test_wealth_is_no_more_than_one_under_a_true_hypothesis_without_replacement(
    pool: Pool, sizes: tuple[int, ...], respond: float
) -> None:
    """By all arrangements of labels, outcomes of coins and missing labels, at the boundary."""
    paths = without_replacement(pool, Chase(), sizes, respond)
    mean, reached = follow(pool, paths, replaced=False)
    assert np.all(mean <= 1 + 1e-9)
    assert np.all(reached <= math.exp(-LEVEL) + 1e-9)
    assert mean.max() > 0.8  # It is no trivial bound.


def simple_samples(pool: Pool) -> Iterable[Path]:
    """All orders of two rounds of simple random samples, the second of more rows after a hit."""
    score = np.arange(len(pool.table))
    inside = score >= 1
    for labels in (every := list(arrangements(pool))):
        paths = [Path(1 / len(every), pool.start())]
        for _ in range(2):
            paths = [
                Path(path.chance * chance, after)
                for path in paths
                for chance, after in one_sample(pool, labels, path.history, inside)
            ]
        yield from paths


def one_sample(
    pool: Pool, labels: list[np.ndarray], history: History, inside: np.ndarray
) -> Iterable[tuple[float, History]]:
    """Every order of a round of one or two rows of the one stratum and one of the other."""
    left = pool.table.count - history.drawn_by_cell(len(pool.table))
    more = 2 if np.any(history.label == 1) else 1
    sizes = [min(1, int(left[~inside].sum())), min(more, int(left[inside].sum()))]
    rows = [(c, r) for c in range(len(left)) for r in range(left[c])]
    orders = [
        chosen
        for chosen in itertools.permutations(rows, sum(sizes))
        if sum(inside[c] for c, _ in chosen) == sizes[1]
    ]
    rank = history.drawn_by_cell(len(left))
    chance = simple_chances(inside, left, {False: sizes[0], True: sizes[1]})
    for chosen in orders:
        cell = np.array([c for c, _ in chosen], dtype=np.int64)
        ranks = rank[cell] + numbered_within(cell)
        drawn = draw_these(pool.table, history, chance, cell, ranks)
        after = drawn.with_last(stratum=inside[cell].astype(np.int64))
        given = [int(labels[c][r]) for c, r in zip(cell, ranks, strict=True)]
        code = np.append(history.label, given).astype(np.int64)
        yield 1 / len(orders), after.with_labels(code)


@pytest.mark.parametrize("pool", fast(1, [*SMALL, *POOLS]))
def test_nor_row_by_row_of_simple_random_samples(pool: Pool) -> None:
    mean, reached = follow(pool, simple_samples(pool), replaced=False)
    assert np.all(mean <= 1 + 1e-9)
    assert np.all(reached <= math.exp(-LEVEL) + 1e-9)
    assert mean.max() > 0.8


def every_sequence(pool: Pool, draws: int) -> Iterable[Path]:
    """All sequences of draws with replacement, from more hits than misses in a second round."""
    rows = [(c, r) for c in range(len(pool.table)) for r in range(pool.table.count[c])]
    truth = [np.sort(pool.label[pool.leaf == c]) for c in range(len(pool.table))]
    first = np.arange(1, len(pool.table) + 1, dtype=float)
    for chosen in itertools.product(rows, repeat=draws):
        history, chance = pool.start(), 1.0
        for part in (chosen[: draws // 2], chosen[draws // 2 :]):
            hits = np.bincount(history.cell[history.label == 1], minlength=len(pool.table))
            q = first * (1 + 2 * hits)
            q = q / (q @ pool.table.count)
            history = ask_rows(pool, history, part, q, truth)
            chance *= float(np.prod([q[c] for c, _ in part]))
        yield Path(chance, history)


def ask_rows(
    pool: Pool,
    history: History,
    part: tuple[tuple[int, int], ...],
    q: np.ndarray,
    truth: list[np.ndarray],
) -> History:
    """The history with a round of draws, each a question of its own."""
    cell, rank = (np.array(each, dtype=np.int64) for each in zip(*part, strict=True))
    question = len(history) + np.arange(len(part))
    drawn = Round(question, q[cell], np.ones(len(part), bool), cell_probability=q)
    after = history.with_round(
        drawn, cell, rank, pool.table.kinds.take(pool.table.kinds.first[cell])
    )
    labels = [int(truth[c][r]) for c, r in part]
    return after.with_labels(np.append(history.label, labels).astype(np.int64))


@pytest.mark.parametrize("pool", fast(1, POOLS))
def test_nor_with_replacement(pool: Pool) -> None:
    mean, reached = follow(pool, every_sequence(pool, 3), replaced=True)
    assert np.all(mean <= 1 + 1e-9)
    assert np.all(reached <= math.exp(-LEVEL) + 1e-9)
    assert mean.max() > 0.8


@pytest.mark.parametrize("measure", MEASURES)
def test_the_sum_of_terms_has_the_sign_of_what_the_measure_exceeds_the_goal_by(
    measure: str,
) -> None:
    rng = np.random.default_rng(1)
    above, y = rng.integers(0, 2, (2, 50))
    pool = Pool(above, above, np.full((50, 2), 0.5), y)
    value = measures_of(pool, 1.0)[measure]
    assert np.sum(term(measure, above, y, value)) == pytest.approx(0, abs=1e-9)
    assert np.sum(term(measure, above, y, value - 0.01)) > 0
    assert np.sum(term(measure, above, y, value + 0.01)) < 0


def one_by_one(labels: np.ndarray, rows: int) -> tuple[list[Block], History]:
    """Rows of one cell, so many that none is drawn twice, one after the other."""
    pool = tiny_pool((1,), (2,))
    chance = np.array([1 / rows])
    draws = len(labels)
    question = np.arange(draws)
    drawn = Round(question, np.repeat(chance, draws), np.ones(draws, bool))
    zeros = np.zeros(draws, dtype=np.int64)
    outputs = pool.table.kinds.take(zeros)
    history = pool.start().with_round(drawn, zeros, question, outputs).with_labels(labels)
    count, rate = np.array([rows]), np.array([0.9])
    return [Block(question, chance, count, rate, 0, draws, replaced=True)], history


def lower_bound(labels: np.ndarray, confidence: float) -> float:
    """The least rate of positives that bets one after the other do not reject."""
    blocks, history = one_by_one(labels, 10**6)
    goals = np.linspace(0.6, labels.mean(), 300)
    score, level = np.zeros(1), math.log(1 / (1 - confidence))
    asked = Hypotheses(terms_of_cells("accuracy", score, np.zeros(300), goals))
    rejected = log_wealth(blocks, asked, history, 1, level) >= level
    return float(goals[np.argmin(rejected)])


@pytest.mark.parametrize(("draws", "most"), fast(1, [(300, 1.08), (1000, 1.05)]))
def test_bounds_of_single_draws_are_nearly_those_of_clopper_and_pearson(
    draws: int, most: float
) -> None:
    """Their distance to the rate, over orders of the same labels; no bound can be much nearer."""
    hits = round(0.9 * draws)
    exact = stats.beta.ppf(0.025, hits, draws - hits + 1)
    labels = np.arange(draws) < hits
    rng = np.random.default_rng(3)
    found = [lower_bound(rng.permutation(labels).astype(np.int64), 0.975) for _ in range(12)]
    ratio = (0.9 - np.median(found)) / (0.9 - exact)
    assert 0.9 < ratio < most


def test_what_is_known_of_all_other_rows_is_proof() -> None:
    """Of 10 rows 9 have labels, 8 of them positive: the precision is at least .8 for certain."""
    pool = tiny_pool((8,), (10,))
    labels = np.array([1] * 8 + [0])
    question = np.arange(9)
    drawn = Round(question, np.full(9, 0.9), np.ones(9, bool), cell_probability=np.array([0.9]))
    zeros = np.zeros(9, dtype=np.int64)
    history = pool.start().with_round(drawn, zeros, question, pool.table.kinds.take(zeros))
    history = history.with_labels(labels)
    goals = np.array([0.79, 0.81])
    asked = Hypotheses(terms_of_cells("precision", np.zeros(1), np.zeros(2), goals))
    blocks = [*blocks_of(pool.table, history, None, 1, False)]
    wealth = log_wealth(blocks, asked, history, 1, LEVEL)
    assert wealth[0] == math.inf
    assert wealth[1] < math.inf


@pytest.mark.parametrize("measure", MEASURES)
def test_an_outlook_is_what_all_rows_win_at_the_best_small_stake(measure: str) -> None:
    """E sum log(1 + v f) is about v sum E f - v^2 sum E f^2 / 2, by cells one after the other."""
    score, count = np.array([2.0, 1.0, 2.0, 0.0]), np.array([5, 20, 10, 40])
    rate = np.array([0.9, 0.6, 0.8, 0.05])
    found = Outlook.of(measure, 0.7, score, rate, count)
    assert found.threshold.tolist() == [2, 1, 0]
    for place, threshold in enumerate(found.threshold):
        f = terms_of_cells(measure, score, threshold[None], 0.7)[0]
        mean = count @ ((1 - rate) * f[:, 0] + rate * f[:, 1])
        square = count @ ((1 - rate) * f[:, 0] ** 2 + rate * f[:, 1] ** 2)
        assert found.won[place] == pytest.approx(np.sign(mean) * mean**2 / (2 * square))
        assert found.rows[place] == count[f.any(axis=1)].sum()
