"""What scores are: sums that merge exactly, and the rules by which a kind follows from them."""

import numpy as np
import pytest

from evalsampling.stats.score_kinds import (
    LOG_ODDS,
    ORDER,
    PROBABILITY,
    ROUNDING,
    ScoreSums,
    chance_of_order,
    contradicts,
    cut_to_probabilities,
    fits,
)
from tests.contracts import assert_mergeable, same_state

RNG = np.random.default_rng(7)


def sums(scores: list[float], predicted: int) -> ScoreSums:
    return ScoreSums.of(np.array(scores), np.arange(len(scores)) >= len(scores) - predicted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts_of_a_pool_add_up_to_the_last_bit(dtype: type) -> None:
    """Parts within [0, 1] take a shorter way than those beyond it."""
    parts = [RNG.random(50), RNG.normal(0, 4, 70), np.zeros(0), RNG.normal(-3, 1, 9)]
    parts = [part.astype(dtype) for part in parts]
    states = [ScoreSums.of(part, part > 0.5) for part in parts]
    assert_mergeable(states, ScoreSums(), same_state)
    whole = np.concatenate(parts)
    assert sum(states, start=ScoreSums()) == ScoreSums.of(whole, whole > 0.5)


def test_expected_positives_are_those_of_expit() -> None:
    """Exactly beyond [0, 1]; a line between its ends is within .007 of expit."""
    scores = RNG.normal(-1, 3, 4000)
    found = ScoreSums.of(scores, scores > 0)
    assert found.expected == pytest.approx((1 / (1 + np.exp(-scores))).sum(), abs=0.007 * 4000)
    outside = scores[(scores < 0) | (scores > 1)]
    exact = ScoreSums.of(outside, outside > 0).expected
    assert exact == pytest.approx((1 / (1 + np.exp(-outside))).sum(), abs=1e-5)


@pytest.mark.parametrize(
    ("scores", "predicted", "kind"),
    [
        ([0.0, 0.2, 1.0] * 10, 10, PROBABILITY),
        ([-ROUNDING, 0.2, 1 + ROUNDING] * 10, 10, PROBABILITY),
        ([-0.002, 0.2, 1.0] * 10, 10, ORDER),
        ([0.0, 0.2, 1.002] * 10, 10, ORDER),
        ([-4.0, -4.0, 4.0] * 10, 10, LOG_ODDS),  # expects 10.2, and 10 are predicted
        ([-4.0, -4.0, 4.0] * 10, 29, ORDER),  # 1 predicted negative, 19.8 expected
        ([-4.0, -4.0, 4.0] * 10, 2, ORDER),  # 10.2 > 3 x 2 + 3
        ([-4.0, -4.0, 4.0] * 10, 3, LOG_ODDS),  # 10.2 <= 3 x 3 + 3
        ([-1.0, -0.5, 1.0] * 10, 10, ORDER),  # cosines
        ([-1.1, -0.5, 1.0] * 10, 10, LOG_ODDS),
        ([1.0, 3.0, 5.0] * 10, 28, ORDER),  # none below even odds
        ([-9.0, -5.0, -2.0] * 10, 1, ORDER),  # none above
        ([7.0] * 30, 3, ORDER),
    ],
)
def test_a_kind_follows_from_the_sums(scores: list[float], predicted: int, kind: str) -> None:
    assert sums(scores, predicted).kind == kind


def test_scores_that_were_not_counted_are_told_by_their_ends() -> None:
    """As in workspaces that were prepared before there were orders."""
    assert ScoreSums().kind is None
    assert ScoreSums(-3.0, 9.0).kind == LOG_ODDS
    assert ScoreSums.of(np.array([0.0, 1.0]), None).kind == PROBABILITY


def test_what_fits_and_what_contradicts() -> None:
    assert fits(30, 10, 1000)
    assert fits(33, 10, 1000)
    assert not fits(34, 10, 1000)
    assert not fits(960, 866, 1000)  # of the negatives, 40 and 134: 134 > 3 x 40 + 3
    assert contradicts(100, 10)
    assert contradicts(10, 100)
    assert not contradicts(99, 10)
    assert not contradicts(0.001, 9)
    assert contradicts(10, 0)


def test_probabilities_are_cut_only_where_they_must_be() -> None:
    given = np.array([0.0, 0.5, 1.0])
    assert cut_to_probabilities(given) is given
    assert cut_to_probabilities(np.array([-1e-4, 0.5, 1.0004])).tolist() == [0.0, 0.5, 1.0]


def test_counts_come_back_as_they_were() -> None:
    for state in (sums([-4.0, 0.3, 9.0], 1), ScoreSums()):
        assert ScoreSums.from_mapping(state.ends, state.to_mapping()) == state


@pytest.mark.parametrize(
    ("state", "kind", "stated", "words"),
    [
        (sums([-4.0, 4.0], 1), LOG_ODDS, False,
         "'s' is read as log-odds: the positives that it expects fit those predicted"),
        (sums([-4.0, 4.0], 1), LOG_ODDS, True, "'s' is read as log-odds, as the spec says"),
        (sums([0.1, 0.9], 1), PROBABILITY, False, ""),
        (sums([0.1, 1.0001], 1), PROBABILITY, False,
         "'s' is read as probabilities; 1 row outside [0, 1] by rounding is cut to it"),
        (sums([0.0, 100.0] * 50, 3), ORDER, False,
         "'s' is read as an order, of which only ranks count: it goes from 0 to 100, and as "
         "log-odds it would expect 75 positives where 3 are predicted"),
        (sums([-0.9, 0.9], 1), ORDER, False,
         "'s' is read as an order, of which only ranks count: it goes from -0.9 to 0.9"),
    ],
)  # fmt: skip
def test_what_was_made_of_scores_is_said(
    state: ScoreSums, kind: str, stated: bool, words: str
) -> None:
    assert state.words("s", kind, stated) == words


def test_the_chance_of_order_is_that_of_pairs() -> None:
    """As by all pairs, ties counted half."""
    score, positive = np.array([1, 1, 2, 3, 3, 5.0]), np.array([0, 1, 0, 1, 0, 1])
    pairs = [(a > b) + (a == b) / 2 for a in score[positive == 1] for b in score[positive == 0]]
    rows = np.ones(6, dtype=np.int64)
    assert chance_of_order(score, rows, positive.astype(float)) == pytest.approx(np.mean(pairs))
    cells = np.array([1, 2, 3, 5.0]), np.array([2, 1, 2, 1]), np.array([0.5, 0, 0.5, 1])
    assert chance_of_order(*cells) == pytest.approx(np.mean(pairs))
    assert chance_of_order(score, rows, np.zeros(6)) == 0.5
