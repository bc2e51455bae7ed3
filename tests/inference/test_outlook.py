"""How many labels a narrower interval is likely to take."""

import pytest

from evalsampling.inference.outlook import (
    OF_DESIGN,
    OF_MODEL,
    Outlook,
    next_half_width,
    outlook,
    rounded,
)


def test_half_the_width_of_a_random_sample_takes_four_times_the_labels() -> None:
    assert outlook(0.1, 500, 10**6, 0.05, OF_DESIGN) == Outlook(0.05, 2000, 4000)


def test_of_the_model_it_takes_fewer() -> None:
    assert outlook(0.1, 500, 10**6, 0.05, OF_MODEL).labels == 1516  # 500 * 2 ** 1.6


@pytest.mark.parametrize(
    ("now", "aim"),
    [(0.187, 0.1), (0.26, 0.2), (0.5, 0.3), (0.0626, 0.05), (0.0624, 0.03), (3.0, 2.0), (0.9, 0.7)],
)
def test_the_next_half_width_is_round_and_at_most_four_fifths(now: float, aim: float) -> None:
    assert next_half_width(now) == aim


def test_a_goal_that_is_reached_gives_way_to_the_next_round_number() -> None:
    assert outlook(0.04, 500, 10**6, 0.05, OF_MODEL).half_width == 0.03
    assert outlook(0.06, 500, 10**6, 0.05, OF_MODEL).half_width == 0.05


def test_no_number_beyond_twenty_times_the_labels() -> None:
    assert outlook(0.1, 500, 10**6, 0.02, OF_DESIGN).labels is None
    assert outlook(0.1, 500, None, 0.02, OF_DESIGN).labels is None
    assert outlook(0.1, 500, 10**6, 0.023, OF_DESIGN).labels == 9452


@pytest.mark.parametrize(
    ("unlabelled", "goal", "expected"),
    [
        (1499, 0.05, Outlook(0.05, 1999, 1999, 1499)),  # 2,000 are more than there are
        (1600, 0.05, Outlook(0.05, 2000)),  # it may take all
        (4, 0.05, Outlook(0.05, 504, 504, 4)),
        (8500, 0.001, Outlook(0.001, 9000, 9000, 8500)),
        (8500, 0.0, Outlook(0.0, 9000, 9000, 8500)),
        (9501, 0.0, Outlook(0.0, None)),  # more than 20 times 500
        (None, 0.05, Outlook(0.05, 2000, 4000)),
        (None, 0.0, Outlook(0.0, None)),
    ],
)
def test_no_more_labels_than_make_it_exact(
    unlabelled: int | None, goal: float, expected: Outlook
) -> None:
    assert outlook(0.1, 500, unlabelled, goal, OF_DESIGN) == expected


@pytest.mark.parametrize(("now", "said"), [(150, 160), (155, 160), (99, 100), (7, 8), (1510, 1600)])
def test_a_forecast_is_above_the_labels_so_far_as_it_is_said(now: int, said: int) -> None:
    forecast = outlook(0.1, now, 10**6, 0.0999, OF_DESIGN).labels
    assert forecast > now
    assert rounded(forecast) == said


@pytest.mark.parametrize(
    ("outlook", "words"),
    [
        (Outlook(0.1, 743, 1486), "expect 740 to 1,500 labels"),
        (Outlook(0.1, 743), "expect 740 labels or more"),
        (Outlook(0.1, 743, 743, 1), "label the 1 other row that it depends on"),
        (Outlook(0.1, 743, 743, 1200), "label the 1,200 other rows that it depends on"),
    ],
)
def test_what_it_takes_in_words(outlook: Outlook, words: str) -> None:
    assert outlook.in_words == words
