"""Changes of a number between two samples: closed forms, and how often intervals hold the truth."""

import itertools
import math

import numpy as np
import pytest

from evalsampling.inference.changes import change_of
from evalsampling.inference.intervals import Interval
from evalsampling.inference.results import Estimate, Target

RECALL = Target("recall")


def estimate(value: float | None, low: float, high: float, target: Target = RECALL) -> Estimate:
    interval = Interval(low, high, "design-based", "by hand")
    return Estimate(target, value, None, 0.95, (interval,))


def test_ends_are_those_of_the_closed_form() -> None:
    """Skew intervals: each end of the change is made of the ends that are nearest to it."""
    change = change_of(estimate(0.8, 0.7, 0.85), estimate(0.5, 0.46, 0.62))
    assert change is not None
    assert change.value == pytest.approx(-0.3)
    assert change.low == pytest.approx(-0.3 - math.hypot(0.04, 0.05))
    assert change.high == pytest.approx(-0.3 + math.hypot(0.12, 0.1))
    assert change.confidence == 0.95


def test_symmetric_intervals_give_the_normal_one_of_a_difference() -> None:
    change = change_of(estimate(0.4, 0.37, 0.43), estimate(0.6, 0.56, 0.64))
    assert change is not None
    assert (change.low, change.high) == pytest.approx((0.15, 0.25))


def test_ends_are_possible_differences() -> None:
    """Since no side of an interval is longer than the way to the bound of the measure."""
    for first, second in itertools.product([0.0, 0.1, 0.5, 0.99, 1.0], repeat=2):
        change = change_of(estimate(first, first / 2, 1.0), estimate(second, 0.0, (second + 1) / 2))
        if change is not None:
            assert -1 <= change.low <= change.value <= change.high <= 1
    unbounded = Target("mean", (-math.inf, math.inf))
    change = change_of(estimate(3, 1, 5, unbounded), estimate(40, 20, 60, unbounded))
    assert change is not None
    assert change.high == pytest.approx(37 + math.hypot(20, 2))


def test_what_says_nothing_has_no_change() -> None:
    known = estimate(0.5, 0.4, 0.6)
    assert change_of(known, known) is not None
    for unknown in (
        estimate(None, 0.4, 0.6),
        estimate(0.5, 0.0, 1.0),
        estimate(0.5, 0.4, 0.6, Target("precision")),
        estimate(0.5, 0.4, 0.6, Target("recall", threshold=0.3)),
    ):
        assert change_of(known, unknown) is None
        assert change_of(unknown, known) is None


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (0.76, "recall of new where city=Bern: the labels show no change, -0.04 (-0.11"),
        (0.52, "recall of new where city=Bern fell by 0.28 (-0.35"),
        (0.97, "recall of new where city=Bern rose by 0.17 (+0.09"),
    ],
)
def test_a_change_is_said_in_a_sentence(after: float, words: str) -> None:
    target = Target("recall", system="new", slice="city=Bern", threshold=None)
    now = estimate(after, after - 0.05, min(after + 0.05, 1), target)
    change = change_of(estimate(0.8, 0.75, 0.85, target), now)
    assert change is not None
    assert change.statement.startswith(words)
    assert (change.system, change.slice, change.measure) == ("new", "city=Bern", "recall")


def wilson(successes: int, trials: int) -> Estimate:
    """Wilson's interval of a share, skew if the share is far from one half."""
    z, share = 1.959964, successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = (
        z / (1 + z * z / trials) * math.sqrt(share * (1 - share) / trials + (z / 2 / trials) ** 2)
    )
    return estimate(share, middle - half, middle + half)


@pytest.mark.parametrize(
    ("first", "second", "trials"),
    [(0.9, 0.9, (40, 60)), (0.97, 0.8, (50, 30)), (0.5, 0.6, (80,) * 2)],
)
def test_intervals_hold_the_true_change_as_often_as_they_say(
    first: float, second: float, trials: tuple[int, int]
) -> None:
    """4000 pairs of samples; 95 % within 1.5 points, four standard errors and Wilson's excess."""
    rng = np.random.default_rng(7)
    drawn = rng.binomial(trials, [first, second], size=(4000, 2))
    held = 0
    for before, after in drawn.tolist():
        change = change_of(wilson(before, trials[0]), wilson(after, trials[1]))
        held += change is not None and change.low <= second - first <= change.high
    assert held / 4000 == pytest.approx(0.95, abs=0.015)
