"""Histories and the counts of their rows, for the tests of several files."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History, Round
from evalsampling.stats.labelled_counts import LabelledCounts
from evalsampling.stats.round_chances import RoundChances
from tests.samplers.pools import Pool


def small_pool(seed: int, costs: bool = False) -> Pool:
    """A pool of forty rows of three classes, with a slice column and a named slice."""
    rng = np.random.default_rng(seed)
    rows = 40
    return Pool(
        leaf=rng.integers(0, 3, rows),
        prediction=rng.integers(0, 3, (rows, 2)),
        probability=rng.dirichlet(np.ones(3), rows).round(1),  # so that some rows are alike
        label=rng.integers(0, 3, rows),
        slice=rng.integers(-1, 2, (rows, 1)),
        cost=rng.choice([1.0, 2.0, 5.0], rows) if costs else None,
        weight=rng.choice([0.1, 0.7, 90.0], rows) if costs else None,
        rare=rng.integers(0, 2, rows),
    )


def nothing_drawn(pool: Pool) -> History:
    """The history of a pool before its first round, with the kinds of its outputs."""
    return dataclasses.replace(pool.start(), outputs=pool.outputs.no_rows)


def random_history(pool: Pool, seed: int, repeats: bool) -> History:
    """Rounds of rows of a pool drawn anyhow, some unlabelled, with ``repeats`` some again."""
    rng = np.random.default_rng([seed, 1])
    cells = len(pool.table)
    history, unseen = nothing_drawn(pool), rng.permutation(len(pool))
    for number in range(int(rng.integers(1, 4))):
        size = int(rng.integers(0, 9))
        taken, unseen = unseen[:size], unseen[size:]
        drawn = _round(rng, history, pool.cell[taken], cells, repeats, number)
        history = _with_rows(history, pool, taken, drawn)
    label = np.where(rng.random(len(history)) < 0.2, -1, rng.integers(0, 3, len(history)))
    return history.with_labels(label)


def _round(
    rng: np.random.Generator, before: History, cell: np.ndarray, cells: int, repeats: bool, n: int
) -> Round:
    """A round of new rows of some cells, and of old ones."""
    chance = rng.random(cells)
    question = len(before) + np.arange(len(cell))
    new = np.ones(len(cell), dtype=bool)
    if repeats and len(before) + len(cell):
        again = rng.integers(0, len(before) + len(cell), 4)
        question = np.append(question, again)
        new = np.append(new, np.zeros(4, dtype=bool))
    of_all = np.append(before.cell, cell).astype(np.int64)
    return Round(question, chance[of_all[question]], new, None, chance, 10 + n)


def _with_rows(history: History, pool: Pool, taken: np.ndarray, drawn: Round) -> History:
    cell = pool.cell[taken]
    before = history.drawn_by_cell(len(pool.table))
    rank = np.array(
        [before[one] + np.sum(cell[:place] == one) for place, one in enumerate(cell)], dtype=int
    )
    return history.with_round(drawn, cell, rank, pool.outputs.take(taken), pool.slices[taken])


def chances_of(history: History, table: CellTable) -> list[RoundChances]:
    """What is known of each round beside its rows."""
    return [
        dataclasses.replace(
            RoundChances.of_pool(
                table.code, table.count, past.cell_probability, past.wanted, past.posterior
            ),
            together=past.together,
        )
        for past in history.rounds
    ]


def shuffled(history: History, seed: int) -> History:
    """The same history, the questions of each round in another order."""
    rng = np.random.default_rng([seed, 2])
    return history.permuted(np.lexsort([rng.random(len(history)), history.met]))


def same_counts(first: LabelledCounts, second: LabelledCounts) -> bool:
    """Whether counts are equal to the bit; those of no rows have any columns."""
    return len(first) == len(second) == 0 or (
        first.facts.shape == second.facts.shape
        and first.facts.tobytes() == second.facts.tobytes()
        and np.array_equal(first.count, second.count)
    )


def assert_same_history(first: History, second: History) -> None:
    """Check that all is equal to the bit but which of the rows that are alike is which."""
    assert len(first) == len(second)
    _assert_equal([first.cell, first.label], [second.cell, second.label])
    if len(first):
        _assert_equal(first.outputs.columns, second.outputs.columns)
        _assert_equal([first.slice], [second.slice])
    assert len(first.rounds) == len(second.rounds)
    for one, other in zip(first.rounds, second.rounds, strict=True):
        assert one.wanted == other.wanted
        _assert_equal(
            [one.question, one.probability, one.new, one.cell_probability],
            [other.question, other.probability, other.new, other.cell_probability],
        )


def _assert_equal(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> None:
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
