"""Weights of labelled rows that stand for rows without a label."""

import numpy as np
import pytest

from evalsampling.inference.nonresponse import adjust_for_nonresponse
from evalsampling.stats.history import NO_LABEL, History, Round
from evalsampling.stats.outputs import Outputs

COUNT = np.array([10])
"""All rows are of one cell of ten."""


def make_history(rounds: list[list[int]], label: list[int]) -> History:
    """Rounds of draws, each the index of a row; rows are numbered in order of their first draw."""
    history, known = History.start(), 0
    for row in rounds:
        new = np.zeros(len(row), dtype=bool)
        for place, r in enumerate(row):
            if r == known:
                new[place] = True
                known += 1
        met = int(new.sum())
        drawn = Round(np.array(row), np.full(len(row), 0.1), new)
        history = history.with_round(
            drawn,
            np.zeros(met, np.int64),
            np.arange(known - met, known),
            Outputs(np.zeros((met, 1), np.int64), np.zeros((met, 1)), np.zeros((met, 1, 2))),
        )
    return history.with_labels(np.array(label))


def test_all_labels_count_once() -> None:
    response = adjust_for_nonresponse(make_history([[0, 1, 0], [1, 2], [0, 0]], [1, 0, 1]), COUNT)
    assert response.draw.tolist() == [*range(7)]
    assert response.factor.tolist() == [1] * 7


def test_no_rounds_have_no_response() -> None:
    response = adjust_for_nonresponse(History.start(), COUNT)
    assert len(response.draw) == len(response.factor) == 0


def test_labelled_rows_stand_for_the_others_of_their_round() -> None:
    """Round 1 met rows 0-3, three with a label; round 2 rows 4-5, one with a label."""
    history = make_history([[0, 1, 0, 2, 3], [1, 4, 3, 5, 4]], [1, 0, NO_LABEL, 1, 0, NO_LABEL])
    response = adjust_for_nonresponse(history, COUNT)
    assert response.draw.tolist() == [*range(10)]
    first, second = 4 / 3, 2.0
    expected = [first, first, first, 0, first, first, second, first, 0, second]
    np.testing.assert_allclose(response.factor, expected, rtol=1e-15)


def test_round_without_any_label_and_its_rows_do_not_count() -> None:
    history = make_history([[0, 1], [2, 0, 3], [2, 4, 1], [0, 1]], [1, 0, NO_LABEL, NO_LABEL, 1])
    response = adjust_for_nonresponse(history, COUNT)
    rounds = np.repeat([1, 2, 3, 4], [2, 3, 3, 2])
    assert rounds[response.draw].tolist() == [1, 1, 3, 3, 4, 4]
    assert history.question[response.draw].tolist() == [0, 1, 4, 1, 0, 1]
    # In round 3 six rows are unseen and two silent: its new row stands for 8/6 of them.
    np.testing.assert_allclose(response.factor, [1, 1, 8 / 6, 1, 1, 1])


def test_first_round_without_labels_leaves_nothing() -> None:
    response = adjust_for_nonresponse(make_history([[0, 1, 0]], [NO_LABEL, NO_LABEL]), COUNT)
    assert len(response.draw) == 0


@pytest.mark.parametrize("seed", range(5))
def test_weights_of_new_rows_add_up_to_their_number(seed: int) -> None:
    """Calibration: over first draws, each round's factors sum to the rows it met."""
    rng = np.random.default_rng(seed)
    rounds, known = [], 0
    for _ in range(4):
        row: list[int] = []
        for _ in range(30):
            fresh = rng.random() < 0.5 or not known
            row.append(known if fresh else int(rng.integers(known)))
            known += fresh
        rounds.append(row)
    label = np.where(rng.random(known) < 0.6, rng.integers(0, 2, known), NO_LABEL)
    history = make_history(rounds, label.tolist())
    response = adjust_for_nonresponse(history, np.array([1000]))
    assert len(response.draw) == 120
    for drawn, factor in zip(history.rounds, np.split(response.factor, 4), strict=True):
        assert factor[drawn.new].sum() == pytest.approx(drawn.new.sum(), rel=1e-12)
        assert np.all((factor == 0) == (history.label[drawn.question] == NO_LABEL))


def make_stochastic(rounds: list[int], label: list[int]) -> History:
    """Rounds of so many draws, each a question of its own about one of two rows."""
    history = History.start()
    for draws in rounds:
        known = len(history)
        drawn = Round(known + np.arange(draws), np.full(draws, 0.1), np.full(draws, True))
        history = history.with_round(
            drawn,
            np.zeros(draws, np.int64),
            (known + np.arange(draws)) % 2,
            Outputs(np.zeros((draws, 1), np.int64), np.zeros((draws, 1)), np.zeros((draws, 1, 2))),
        )
    return history.with_labels(np.array(label))


def test_answers_of_a_stochastic_oracle_stand_for_those_that_lack() -> None:
    """Each draw is a question: three of four answered in round 1, one of two in round 2."""
    history = make_stochastic([4, 2], [1, NO_LABEL, 0, 1, NO_LABEL, 0])
    response = adjust_for_nonresponse(history, COUNT, ask_again=True)
    assert response.draw.tolist() == [*range(6)]
    np.testing.assert_allclose(response.factor, [4 / 3, 0, 4 / 3, 4 / 3, 0, 2], rtol=1e-15)


def test_no_row_is_lost_with_a_silent_round_of_a_stochastic_oracle() -> None:
    """Its rows are asked about again, so later answers stand for themselves alone."""
    history = make_stochastic([2, 2, 2], [1, 0, NO_LABEL, NO_LABEL, 1, 1])
    response = adjust_for_nonresponse(history, COUNT, ask_again=True)
    assert response.draw.tolist() == [0, 1, 4, 5]
    assert response.factor.tolist() == [1] * 4
