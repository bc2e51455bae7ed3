"""Weights for rows that stand for others without a label."""

import numpy as np

from evalsampling import measures
from evalsampling.samplers import AdaptiveImportance
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History, Round
from evalsampling.stats.nonresponse import respond


def history(*rounds: tuple[list[int], int], label: list[int]) -> History:
    """Rounds given as their rows and how many of these are met for the first time."""
    made, seen = History(), 0
    for rows, new in rounds:
        flags = [row >= seen and rows.index(row) == i for i, row in enumerate(rows)]
        assert sum(flags) == new
        drawn = Round(np.array(rows), np.full(len(rows), 0.1), np.array(flags))
        made = made.with_round(drawn, np.zeros(new, np.int64), np.arange(seen, seen + new))
        seen += new
    return made.with_labels(np.array(label))


def test_all_labelled_leaves_weights_alone() -> None:
    response = respond(history(([0, 1, 0], 2), ([1, 2], 1), label=[1, 0, 1]))
    np.testing.assert_array_equal(response.draw, np.arange(5))
    np.testing.assert_array_equal(response.factor, np.ones(5))


def test_labelled_rows_of_a_round_stand_for_the_others() -> None:
    known = history(([0, 1, 2, 3, 0], 4), ([4, 0, 5], 2), label=[1, NO_LABEL, 0, NO_LABEL, 1, 0])
    response = respond(known)
    np.testing.assert_array_equal(response.draw, np.arange(8))
    np.testing.assert_array_equal(response.factor, [2, 0, 2, 0, 2, 1, 2, 1])


def test_a_round_without_answers_does_not_count_nor_do_draws_of_its_rows() -> None:
    known = history(
        ([0, 1], 2), ([2, 0, 3], 2), ([4, 2, 0], 1), label=[1, 0, NO_LABEL, NO_LABEL, 1]
    )
    response = respond(known)
    np.testing.assert_array_equal(response.draw, [0, 1, 5, 7])
    np.testing.assert_array_equal(response.factor, [1, 1, 1, 1])


def test_a_round_of_repeats_alone_counts() -> None:
    response = respond(history(([0, 1], 2), ([1, 1, 0], 0), label=[1, 0]))
    assert len(response.draw) == 5


def test_missing_labels_bias_no_estimate() -> None:
    """Half the labels of each round missing at random: the mean estimate stays at the truth.

    300 repeats of 5 rounds know the mean of F1 to about 0.006 (one standard error); leaving out
    unanswered draws alone, so that repeats of labelled rows weigh double, misses by 0.05.
    """
    table = CellTable(
        code=np.arange(4),
        leaf=np.array([0, 1, 2, 3]),
        signature=np.array([[0], [0], [1], [1]]),
        count=np.array([5000, 300, 60, 40]),
        probability=np.array([[0.999, 0.001], [0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]),
        leaves=4,
    )
    positives = np.array([10, 40, 30, 36])
    truth = 2 * 66 / (116 + 100)
    sampler = AdaptiveImportance(measures.FBeta(), draws=60)
    found = []
    for repeat in range(300):
        rng = np.random.default_rng(repeat)
        order = [
            rng.permutation(np.arange(n) < p) for n, p in zip(table.count, positives, strict=True)
        ]
        known = History()
        for number in range(5):
            known = sampler.design(table, known, 10**6, np.random.default_rng([repeat, number]))
            label = known.label.copy()
            new = np.flatnonzero(np.arange(len(label)) >= len(label) - known.rounds[-1].new.sum())
            for row in new[rng.random(len(new)) < 0.5]:
                label[row] = order[known.cell[row]][known.rank[row]]
            known = known.with_labels(label)
        (estimate,) = sampler.estimate(table, known, [measures.FBeta()], 0.95)
        assert estimate.value is not None
        found.append(estimate.value)
    assert abs(np.mean(found) - truth) < 4 * np.std(found) / np.sqrt(300) + 0.005
