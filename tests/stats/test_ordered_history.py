"""The order of questions decides nothing: histories of the same rows have one order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsampling.stats.history import Round, Taken
from tests.counted_histories import (
    assert_same_history,
    nothing_drawn,
    random_history,
    shuffled,
    small_pool,
)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.booleans())
def test_permuted_histories_have_one_order(seed: int, repeats: bool) -> None:
    history = random_history(small_pool(seed), seed, repeats)
    other = shuffled(history, seed)
    assert_same_history(other.ordered, history.ordered)
    assert history.ordered.ordered is history.ordered
    assert other.ordered.labelled.tolist() == history.ordered.labelled.tolist()


def test_what_is_known_of_a_question_moves_with_it() -> None:
    """Corrections, shares of answers, arrivals of labels and draws."""
    history = random_history(small_pool(4), 12, repeats=False)
    rng = np.random.default_rng(3)
    assert len(history) > 4
    corrected = history.with_corrections((history.label + 1) % 3)
    answers = rng.integers(1, 4, len(history))
    shares = rng.dirichlet(np.ones(3), len(history))
    whole = type(corrected)(**{**corrected.__dict__, "shares": shares, "answers": answers})
    assert whole.taken[-1] == Taken(
        len(history.rounds), dict(enumerate(whole.label.tolist())), replace=True
    )
    ordered = shuffled(whole, 1).ordered
    place = {float(share): row for row, share in enumerate(shares[:, 0])}
    before = [place[float(share)] for share in ordered.shares[:, 0]]
    assert sorted(before) == list(range(len(history)))
    np.testing.assert_array_equal(ordered.label, whole.label[before])
    np.testing.assert_array_equal(ordered.rank, whole.rank[before])
    np.testing.assert_array_equal(ordered.answers, answers[before])
    assert set(ordered.corrected) == {
        row for row, old in enumerate(before) if old in whole.corrected
    }
    codes = {row: whole.taken[-1].codes[old] for row, old in enumerate(before)}
    assert ordered.taken[-1].codes == codes


@pytest.mark.parametrize("repeats", [False, True])
def test_draws_are_shuffled_whatever_labels_are(repeats: bool) -> None:
    """Sorted draws would let bets on one after the other win; each question is new once."""
    for seed in range(30):
        history = random_history(small_pool(seed), seed, repeats)
        flipped = history.with_labels(np.where(history.label < 0, -1, 2 - history.label))
        for past, ordered, other in zip(
            history.rounds, history.ordered.rounds, flipped.ordered.rounds, strict=True
        ):
            assert ordered.new.sum() == past.new.sum()
            asked = ordered.question[ordered.new].tolist()
            assert len({*asked}) == len(asked)
            first = np.unique(ordered.question, return_index=True)[1]
            assert ordered.new[first].sum() == len(asked)
            assert len(other.question) == len(ordered.question)


def test_labels_of_shuffled_draws_are_in_no_order() -> None:
    """A hundred draws from one cell, half of them labelled 1, have as many runs as by chance."""
    label = np.repeat([0, 1], 50)
    pool = small_pool(1)
    drawn = Round(np.arange(100), np.full(100, 0.01), np.ones(100, dtype=bool))
    rows = pool.outputs.take(np.zeros(100, int)), pool.slices[np.zeros(100, int)]
    start = nothing_drawn(pool).with_round(drawn, np.zeros(100, int), np.arange(100), *rows)
    ordered = start.with_labels(label).ordered
    runs = 1 + np.count_nonzero(np.diff(ordered.label[ordered.rounds[0].question]))
    assert abs(runs - 51) < 4 * 5
