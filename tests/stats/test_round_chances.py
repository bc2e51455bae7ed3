"""Chances of a round by cell, and which rows a round takes by their numbers."""

import itertools
import json

import numpy as np
import pytest

from evalsampling.stats.cells import CellTable
from evalsampling.stats.permanent import PermanentNumbers
from evalsampling.stats.poisson import Threshold, conditional
from evalsampling.stats.round_chances import RoundChances, taken_by_last
from tests.counted_histories import small_pool

CODE = np.array([2, 5, 9])
COUNT = np.array([300, 500, 200])
CELL = np.repeat(np.arange(3), COUNT)


def numbers(seed: int) -> np.ndarray:
    """Numbers of all rows, ascending within a cell."""
    number = np.random.default_rng(seed).random(COUNT.sum())
    return number[np.lexsort([number, CELL])]


def of(chance: list[float], **more: object) -> RoundChances:
    return RoundChances(CODE, np.array(chance), 0.25, **more)  # type: ignore[arg-type]


def test_rounds_take_the_rows_that_poisson_rounds_do() -> None:
    """Rounds drawn by cell from permanent numbers, as a workspace draws them."""
    number = numbers(3)
    permanent = PermanentNumbers(CELL, number, COUNT)
    untils = [np.zeros(3), np.array([0.1, 0.3, 0.0]), np.array([0.4, 0.3, 0.2]), np.ones(3)]
    rounds: list[RoundChances] = []
    drawn = np.zeros(3, dtype=np.int64)
    for before, until in itertools.pairwise(untils):
        threshold = Threshold(np.ones(3), before, until)
        fresh = permanent.fresh(drawn, before)
        made, sizes = threshold.draw(COUNT - drawn, np.random.default_rng(0), None, fresh)
        np.testing.assert_array_equal(made.chance, conditional(until, before))
        rounds.append(of(made.chance.tolist()))
        taken, chance = taken_by_last(rounds, CODE[CELL], number)
        rank = np.arange(len(CELL)) - np.searchsorted(CELL, CELL)
        wanted = (rank >= drawn[CELL]) & (rank < (drawn + sizes)[CELL])
        np.testing.assert_array_equal(taken, wanted)
        np.testing.assert_array_equal(chance, made.chance[CELL])
        drawn += sizes
    assert drawn.tolist() == COUNT.tolist()


def test_a_row_is_of_one_round_at_most_and_as_often_as_chances_say() -> None:
    rng = np.random.default_rng(5)
    number, code = rng.random(40_000), np.full(40_000, 5)
    rounds = [of([0, chance, 0]) for chance in (0.2, 0.5, 0.1)]
    taken = np.array([taken_by_last(rounds[:last], code, number)[0] for last in (1, 2, 3)])
    assert taken.sum(axis=0).max() == 1
    shares = np.array([0.2, 0.8 * 0.5, 0.8 * 0.5 * 0.1])
    error = 4 * np.sqrt(shares * (1 - shares) / len(number))
    np.testing.assert_array_less(np.abs(taken.mean(axis=1) - shares), error)


def test_a_round_begins_after_the_rows_that_were_drawn() -> None:
    """Two cells of which earlier rounds drew some rows of a fixed number, one without any."""
    number = numbers(8)
    drawn = np.array([40, 500, 0])
    begin = PermanentNumbers(CELL, number, COUNT).after(drawn)
    rounds = [of([0.9, 0.9, 0.9]), of([0.5, 0.5, 0.5], begin=begin)]
    taken, chance = taken_by_last(rounds, CODE[CELL], number)
    rank = np.arange(len(CELL)) - np.searchsorted(CELL, CELL)
    assert not taken[rank < drawn[CELL]].any()
    assert np.all(chance == 0.5)
    left = COUNT - drawn
    by_cell = np.bincount(CELL[taken], minlength=3)
    np.testing.assert_array_less(np.abs(by_cell - left / 2), 4 * np.sqrt(left / 4) + 1e-9)
    assert taken_by_last(rounds, np.array([7]), np.array([0.1]))[0].tolist() == [True]


def test_rows_of_cells_that_are_new_have_the_mean_chance() -> None:
    chances = RoundChances.of_pool(CODE, COUNT, np.array([0.1, 0.2, 0.6]))
    assert chances.elsewhere == pytest.approx((30 + 100 + 120) / 1000)
    assert chances.of_cells(np.array([9, 1, 2, 100])).tolist() == [
        0.6, chances.elsewhere, 0.1, chances.elsewhere
    ]  # fmt: skip
    nothing = RoundChances(np.zeros(0, int), np.zeros(0), 0.5)
    assert nothing.of_cells(np.array([3])).tolist() == [0.5]
    assert RoundChances.of_pool(CODE[:0], COUNT[:0], np.zeros(0)).elsewhere == 0
    assert chances.beginnings(CODE) is None
    assert of([0, 0, 0], begin=np.array([0.1, 0.2, 0.3])).beginnings(
        np.array([5, 6])
    ) == pytest.approx([0.2, 0.0])  # fmt: skip


def with_model(table: CellTable) -> RoundChances:
    rng = np.random.default_rng(1)
    return RoundChances.of_pool(
        table.code,
        table.count,
        rng.random(len(table)),
        12,
        rng.dirichlet(np.ones(3), len(table.leaves)),
        rng.random(len(table)),
    )


def test_chances_are_the_same_after_json() -> None:
    for chances in (of([0.1, 1 / 3, 1e-300]), with_model(small_pool(1).table)):
        again = RoundChances.from_mapping(json.loads(json.dumps(chances.to_mapping())))
        for name in ("code", "chance", "posterior", "begin"):
            one, other = getattr(again, name), getattr(chances, name)
            assert (one is None) == (other is None)
            if other is not None:
                np.testing.assert_array_equal(one, other)
                assert one.dtype == other.dtype
        assert (again.elsewhere, again.wanted) == (chances.elsewhere, chances.wanted)


@pytest.mark.parametrize(
    "wrong",
    [
        {"cells": [2, 5]},
        {"cells": [5, 2, 9]},
        {"cells": [2, 2, 9]},
        {"chance": None},
        {"chance": [0.1, 0.2]},
        {"chance": [0.1, 0.2, 1.5]},
        {"chance": [0.1, -0.2, 1.0]},
        {"chance": [0.1, float("nan"), 1.0]},
        {"chance": [[0.1], [0.2], [0.3]]},
        {"chance": ["a", "b", "c"]},
        {"elsewhere": 2},
        {"elsewhere": float("nan")},
        {"begin": [0.5]},
        {"begin": [0.5, 0.5, 7]},
        {"wanted": "many"},
        {"wanted": -1},
        {"posterior": [0.5, 0.5]},
    ],
    ids=str,
)
def test_values_that_are_no_chances_are_refused(wrong: dict[str, object]) -> None:
    content = of([0.1, 0.2, 0.3], wanted=4).to_mapping()
    assert RoundChances.from_mapping(content).wanted == 4
    with pytest.raises((ValueError, TypeError)):
        RoundChances.from_mapping({**content, **wrong})
