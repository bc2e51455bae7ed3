"""What rounds searched, against chances worked out row by row."""

import numpy as np
import pytest

from evalsampling.inference.exposure import LEVELS, Exposure, rounds_of_trials
from evalsampling.stats.history import NO_LABEL, History, Round
from tests.inference.designs import tiny_pool

POOL = tiny_pool((1, 1, 0), (3, 4, 2))
Q = np.array([0.1, 0.125, 0.1])


def history_of(
    rounds: list[tuple[np.ndarray, list[int], list[int]]],
) -> History:
    """Rounds of rows that nobody drew before: chances, cells and labels of each."""
    history = POOL.start()
    for q, cells, labels in rounds:
        rank = history.drawn_by_cell(3)
        ranks = [rank[c] + cells[:i].count(c) for i, c in enumerate(cells)]
        question = len(history) + np.arange(len(cells))
        drawn = Round(question, q[cells], np.ones(len(cells), bool), cell_probability=q)
        outputs = POOL.table.outputs.take(POOL.table.first_kind[cells])
        before = history.label
        history = history.with_round(drawn, np.array(cells), np.array(ranks), outputs)
        history = history.with_labels(np.append(before, labels))
    return history


def slow_trials(history: History) -> list[dict[int, np.ndarray]]:
    """Of each labelled question the exposure of a row of each cell, from the definition."""
    found, begin = [], 0
    for one in history.rounds:
        for i in range(begin, begin + int(one.new.sum())):
            drawn = np.bincount(history.cell[:i], minlength=3)
            labelled = np.bincount(history.cell[:i][history.label[:i] != NO_LABEL], minlength=3)
            fresh, others = POOL.table.count - drawn, POOL.table.count - labelled
            x = one.cell_probability * fresh / (one.cell_probability @ fresh) / others
            if history.label[i] != NO_LABEL:
                found.append({i: x})
        begin += int(one.new.sum())
    return found


ROUNDS = [
    (Q, [0, 1, 1], [0, NO_LABEL, 1]),
    (Q * [2, 1, 0.5], [1, 2, 0], [0, 0, NO_LABEL]),
    (Q, [1], [NO_LABEL]),
]


@pytest.mark.parametrize("answered", [False, True])
def test_exposures_of_draws_equal_those_from_their_definition(answered: bool) -> None:
    """In ``answered`` all rows have labels; otherwise some have none."""
    rounds = [
        (q, c, [max(y, 0) for y in labels] if answered else labels) for q, c, labels in ROUNDS
    ]
    history = history_of(rounds)
    trials = rounds_of_trials(POOL.table, history, with_replacement=True, stochastic=False)
    assert trials is not None
    slow = slow_trials(history)
    assert sum(len(one.question) for one in trials) == len(slow)
    total = np.sum([one.chance * one.total for one in trials], axis=0)
    np.testing.assert_allclose(total, np.sum([x for one in slow for x in one.values()], axis=0))
    exposure = Exposure.over(trials, POOL.table.count, history.cell)
    # The highest level caps nothing: g = x.
    np.testing.assert_allclose(exposure.total[-1], total)
    np.testing.assert_array_equal(exposure.share[-1], 1)
    for place, i in enumerate(exposure.question.tolist()):
        upto = [x for one in slow for number, x in one.items() if number <= i]
        expected = np.sum(upto, axis=0)[history.cell[i]]
        assert exposure.reached[-1, place] == pytest.approx(expected, rel=1e-12)


def test_caps_are_quantiles_over_rows() -> None:
    """Rows 2, 4 and 3 of chance .05, .1 and .125: over all, and over the cells that count."""
    pool_q = np.array([0.125, 0.1, 0.05])
    history = history_of([(pool_q, [0, 2], [0, 0])])
    trials = rounds_of_trials(POOL.table, history, with_replacement=True, stochastic=False)
    assert trials is not None
    (one,) = trials
    for rows, caps in [
        ([3, 4, 2], [0.05, 0.1, 0.1, 0.125, 0.125]),
        ([3, 0, 2], [0.05, 0.05, 0.125, 0.125, 0.125]),
        ([0, 4, 0], [0.1] * 5),
    ]:
        exposure = Exposure.over(trials, np.array(rows), history.cell)
        capped = np.minimum.outer(caps, pool_q)
        np.testing.assert_allclose(exposure.total, capped * one.total)
        np.testing.assert_allclose(
            exposure.share, np.minimum.outer(caps, [0.125, 0.05]) / [[0.125, 0.05]]
        )
        assert len(exposure.share) == len(LEVELS)


def test_a_round_without_replacement_is_one_trial() -> None:
    """Half of 9 rows, one of four without a label; then more of those left."""
    first, second = np.full(3, 4 / 9), np.full(3, 2 / 5)
    history = history_of([(first, [0, 0, 1, 1], [0, 1, NO_LABEL, 1]), (second, [1, 2], [0, 0])])
    trials = rounds_of_trials(POOL.table, history, with_replacement=False, stochastic=False)
    assert trials is not None
    np.testing.assert_allclose(trials[0].chance * trials[0].total, first * 3 / 4)
    # One of two rows of cell 1 that the second round could take; three have no label.
    np.testing.assert_allclose(trials[1].chance * trials[1].total, second * [1, 2 / 3, 1])
    assert trials[1].question.tolist() == [4, 5]
    np.testing.assert_allclose(trials[1].reached, [2 / 3, 1])


def test_each_draw_for_a_stochastic_oracle_is_a_trial_of_all_rows() -> None:
    history = history_of([(Q, [0, 1, 1], [0, NO_LABEL, 1])])
    trials = rounds_of_trials(POOL.table, history, with_replacement=True, stochastic=True)
    assert trials is not None
    np.testing.assert_allclose(trials[0].total, 2)
    exposure = Exposure.over(trials, POOL.table.count, history.cell, stochastic=True)
    np.testing.assert_allclose(exposure.total[-1], 2 * Q)
    assert not exposure.reached.any()


def test_rounds_without_labels_say_nothing_and_old_rounds_are_told() -> None:
    history = history_of([(Q, [0, 1], [NO_LABEL, NO_LABEL])])
    assert rounds_of_trials(POOL.table, history, True, False) == []
    old = history_of([(Q, [0, 1], [0, 0])])
    (drawn,) = old.rounds
    bare = Round(drawn.question, drawn.probability, drawn.new)
    asked = POOL.start().with_round(bare, old.cell, old.rank, old.outputs)
    assert rounds_of_trials(POOL.table, asked, True, False) == []
    assert rounds_of_trials(POOL.table, asked.with_labels(old.label), True, False) is None
