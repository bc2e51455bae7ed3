"""Counts of labelled rows: sums of any parts, and the history that they stand for."""

import functools
import itertools
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsampling.stats.history import History
from evalsampling.stats.labelled_counts import LabelledCounts, Latest
from tests.counted_histories import (
    assert_same_history,
    chances_of,
    nothing_drawn,
    random_history,
    same_counts,
    small_pool,
)
from tests.samplers.pools import Pool

SEEDS = st.integers(0, 10_000)


def in_parts(history: History, pool: Pool, part: np.ndarray, parts: int) -> list[LabelledCounts]:
    """The counts of the rows of each part."""
    columns = history.met, pool.table.code[history.cell], history.label
    return [
        LabelledCounts.of_rows(
            *(column[part == number] for column in columns),
            history.outputs.take(part == number),
            history.slice[part == number],
            history.drawn_in[part == number],
        )
        for number in range(parts)
    ]


@settings(max_examples=60)
@given(SEEDS, st.booleans(), st.booleans(), st.integers(1, 6))
def test_any_parts_in_any_order_have_the_sum(
    seed: int, repeats: bool, costs: bool, parts: int
) -> None:
    pool, rng = small_pool(seed, costs), np.random.default_rng(seed)
    history = random_history(pool, seed, repeats)
    whole = LabelledCounts.of_history(history, pool.table)
    assert len(whole) == len(history)
    assert whole.labelled == len(history.labelled)
    counts = in_parts(history, pool, rng.integers(0, parts, len(history)), parts)
    rng.shuffle(counts)  # type: ignore[arg-type]
    forwards = functools.reduce(operator.add, counts, LabelledCounts.none())
    backwards = functools.reduce(lambda right, left: left + right, counts[::-1])
    halves = LabelledCounts.sum(counts[:2]) + LabelledCounts.sum(counts[2:])
    for merged in (forwards, backwards, halves, LabelledCounts.sum(counts)):
        assert same_counts(merged, whole)


@settings(max_examples=60)
@given(SEEDS, st.booleans(), st.booleans())
def test_history_comes_back(seed: int, repeats: bool, costs: bool) -> None:
    pool = small_pool(seed, costs)
    history = random_history(pool, seed, repeats)
    counts = LabelledCounts.of_history(history, pool.table)
    again = counts.history(pool.table, chances_of(history, pool.table), nothing_drawn(pool))
    assert_same_history(again, history.ordered)
    assert again.ordered is again
    if not repeats:
        np.testing.assert_array_equal(
            again.drawn_by_cell(len(pool.table)), history.drawn_by_cell(len(pool.table))
        )


def test_rows_that_are_alike_are_one_kind() -> None:
    pool = small_pool(1)
    row = pool.outputs.take([0])
    one = LabelledCounts.of_rows(
        np.zeros(1, int), np.array([7]), np.array([2]), row, np.array([[0]]), np.zeros((1, 0))
    )
    assert one.facts.tolist() == [[0, 7, 2, *(column[0] for column in row.columns), 0]]
    three = one + one + one
    assert (len(three.count), three.count.tolist(), len(three), three.labelled) == (1, [3], 3, 3)


def test_probabilities_that_are_not_known_are_alike() -> None:
    pool = small_pool(1)
    outputs = pool.outputs.take([0, 0])
    outputs.probability[:] = np.nan
    columns = np.zeros(2, int), np.full(2, 7), np.full(2, -1)
    both = LabelledCounts.of_rows(*columns, outputs, np.zeros((2, 1), int), np.zeros((2, 0)))
    assert both.count.tolist() == [2]
    assert both.labelled == 0


def test_nothing_was_drawn() -> None:
    pool, none = small_pool(1), LabelledCounts.none()
    assert (len(none), none.labelled) == (0, 0)
    assert same_counts(LabelledCounts.sum([none, none]), none)
    history = none.history(pool.table, [], nothing_drawn(pool))
    assert (len(history), history.rounds) == (0, ())


def test_rows_that_fit_nothing_are_refused() -> None:
    pool = small_pool(1)
    history = random_history(pool, 8, False)
    counts = LabelledCounts.of_history(history, pool.table)
    chances = chances_of(history, pool.table)
    other = LabelledCounts(counts.facts.copy(), counts.count)
    other.facts[0, 1] = pool.table.code.max() + 1
    for wrong in (other, LabelledCounts.sum([counts] * (pool.table.rows + 1))):
        with pytest.raises(ValueError, match="the pool has fewer rows of a cell than were drawn"):
            wrong.history(pool.table, chances, nothing_drawn(pool))
    with pytest.raises(ValueError, match=rf"a row is of round {len(chances)}, 0 are given"):
        counts.history(pool.table, [], nothing_drawn(pool))


def test_the_greatest_version_counts_in_any_order_and_repeatedly() -> None:
    parts = [
        Latest.of(("counts", 1), 3, "old"),
        Latest.of(("counts", 1), 5, "new"),
        Latest.of(("counts", 0), 4, "other"),
        Latest.of(("pool", 0), 0, "rows"),
        Latest.of(("counts", 1), 5, "new"),
    ]
    for order in itertools.permutations(parts):
        left = functools.reduce(operator.add, order)
        right = functools.reduce(lambda last, first: first + last, order[::-1])
        for merged in (left, right, left + right):
            assert merged.named("counts") == ["other", "new"]
            assert merged.named("pool") == ["rows"]
            assert merged.named("chances") == []


def test_a_sum_leaves_its_parts_alone() -> None:
    first, second = Latest.of(("counts", 0), 1, "a"), Latest.of(("counts", 0), 2, "b")
    assert (first + second).named("counts") == ["b"]
    assert (first.named("counts"), second.named("counts")) == (["a"], ["b"])
