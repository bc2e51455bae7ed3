"""Strata of ranks against counts of the questions one by one."""

import dataclasses

import numpy as np
import pytest

from evalsampling.stats.history import History
from evalsampling.stats.inclusion import draw_unseen
from evalsampling.stats.ranked_list import RankedList, RankStrata
from tests.ranked_lists import Ranked

LIST = Ranked(np.array([10, 10, 20, 40, 80]), np.array([9, 8, 12, 20, 16]))


def drawn(chances: list[list[float]], answers: int = 1, seed: int = 0) -> History:
    """Rounds with the chances of each bin, the best first; labels by a coin of a half."""
    known, rng = LIST.known, np.random.default_rng(seed)
    history = History.start()
    for chance in chances:
        history = draw_unseen(
            known.table, history, np.array(chance[::-1], dtype=float), rng, answers=answers
        )
    return history.with_labels(rng.integers(0, 2, len(history)))


def strata(history: History, cuts: list[int], stochastic: bool = False) -> RankStrata:
    ranked = RankedList.of_cells(LIST.known.table)
    return RankStrata.of_history(ranked, 1, np.array(cuts), history, 1, stochastic)


def test_strata_end_where_chances_change_and_where_they_are_cut() -> None:
    history = drawn([[1, 1, 0.2, 0.2, 0.2], [0, 0, 0.5, 0.5, 0]])
    one = strata(history, [4])
    assert one.stratum.tolist() == [0, 0, 1, 1, 2]
    assert one.rows.tolist() == [20, 60, 80]
    assert strata(history, [2, 4]).stratum.tolist() == [0, 0, 1, 2, 3]
    bin_of = 4 - history.cell
    for number in range(3):
        mine = np.isin(bin_of, np.flatnonzero(one.stratum == number))
        assert one.questions[number] == one.answers[number] == mine.sum()
        assert one.positives[number] == history.label[mine].sum()
    head = history.label[bin_of < 2].sum()
    expected = [60 * one.positives[1] / one.answers[1], 80 * one.positives[2] / one.answers[2]]
    assert one.known == 2
    assert one.hits[[1, 3, 4]] == pytest.approx(np.cumsum([head, *expected]))
    assert one.hits[0] == history.label[bin_of == 0].sum()
    density = one.answers / one.rows
    assert one.least_density[[1, 3, 4]] == pytest.approx([np.inf, density[1], density[2]])


def test_rows_without_a_label_are_stood_for() -> None:
    history = drawn([[1, 1, 0.5, 0.5, 0.5]])
    label = history.label.copy()
    label[np.flatnonzero(history.cell == 4)[:3]] = -1
    one = strata(history.with_labels(label), [4])
    assert one.known == 0, "the head is not"
    assert one.questions[0] - one.answers[0] == 3
    assert one.hits[1] == pytest.approx(20 * one.positives[0] / one.answers[0])


def test_what_is_labelled_throughout_beyond_the_head_is_known() -> None:
    history = drawn([[1, 1, 1, 0.5, 0.5]])
    one = strata(history, [4])
    assert one.known == 3
    assert np.isinf(one.least_density[:3]).all()
    assert one.hits[2] == history.label[history.cell >= 2].sum()


@pytest.mark.parametrize(
    ("labelled", "joined"),
    [
        ([1, 1, 1, 1], [0, 1, 2, 3]),
        ([1, 0, 0, 1], [0, 1, 1, 1]),
        ([1, 1, 0, 1], [0, 1, 1, 2]),
        ([1, 1, 0, 0], [0, 1, 1, 1]),
        ([0, 0, 1, 0], [0, 0, 0, 0]),
        ([1, 0, 0, 0], None),
        ([0, 0, 0, 0], None),
    ],
)
def test_strata_without_a_label_join_the_nearest_behind_the_head(
    labelled: list[int], joined: list[int] | None
) -> None:
    history = drawn([[1, 1, 1, 1, 1]])
    known = np.array([labelled[0], *labelled])[4 - history.cell]
    one = strata(history.with_labels(np.where(known, history.label, -1)), [2, 3, 4])
    found = one.joined
    assert (None if found is None else found.tolist()) == joined


def test_a_list_that_is_all_head_joins_within_it() -> None:
    """A round had another chance in it."""
    history = drawn([[1, 0.5, 0, 0, 0]])
    ranked = RankedList.of_cells(LIST.known.table)
    label = np.where(history.cell == 4, -1, history.label)
    nothing: list[int] = []
    one = RankStrata.of_history(ranked, 4, np.array(nothing, int), history.with_labels(label), 1)
    assert one.joined.tolist() == [0] * len(one.rows)


def test_a_stochastic_oracle_is_asked_again_and_the_majority_counts_in_the_head() -> None:
    history = drawn([[1, 1, 0.4, 0.4, 0.4]], answers=3)
    rows = np.stack([history.cell, history.rank], axis=1)
    distinct, votes = np.unique(rows[history.cell >= 3], axis=0, return_counts=True)
    assert len(distinct) == 20
    assert votes.tolist() == [3] * 20
    one = strata(history, [4], stochastic=True)
    wins = [np.sum(history.label[np.all(rows == row, axis=1)]) >= 2 for row in distinct.tolist()]
    assert one.known == 2
    assert one.hits[1] == sum(wins)
    assert one.least_density[4] == pytest.approx(1.2), "answers for each row, three at most"


def test_nothing_is_told_of_a_stratum_without_labels() -> None:
    one = strata(drawn([[1, 1, 0, 0, 0]]), [4])
    assert np.isnan(one.hits[4])
    assert one.hits[1] >= 0
    assert one.least_density[4] == 0


def test_answers_that_differ_count_by_their_share() -> None:
    history = drawn([[1, 1, 0.5, 0.5, 0.5]], answers=2)
    shares = np.tile([2 / 3, 1 / 3], (len(history), 1))
    history = dataclasses.replace(history, label=np.zeros_like(history.label), shares=shares)
    one = strata(history, [4], stochastic=True)
    assert one.answers.sum() == len(history)
    assert one.positives == pytest.approx(one.answers / 3)
    assert not one.majorities.any()
