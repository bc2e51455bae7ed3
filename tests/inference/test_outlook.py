"""How many labels a narrower interval is likely to take."""

import pytest

from evalsampling.inference.outlook import OF_DESIGN, OF_MODEL, Outlook, next_half_width, outlook


def test_half_the_width_of_a_random_sample_takes_four_times_the_labels() -> None:
    assert outlook(0.1, 500, 10**6, 0.05, OF_DESIGN) == Outlook(0.05, 2000)


def test_of_the_model_it_takes_fewer() -> None:
    assert outlook(0.1, 500, 10**6, 0.05, OF_MODEL) == Outlook(0.05, 1516)  # 500 * 2 ** 1.6


@pytest.mark.parametrize(
    ("now", "aim"),
    [(0.187, 0.1), (0.26, 0.2), (0.5, 0.3), (0.0626, 0.05), (0.0624, 0.03), (3.0, 2.0), (0.9, 0.7)],
)
def test_the_next_half_width_is_round_and_at_most_four_fifths(now: float, aim: float) -> None:
    assert next_half_width(now) == aim


def test_a_goal_that_is_reached_gives_way_to_the_next_round_number() -> None:
    assert outlook(0.04, 500, 10**6, 0.05, OF_MODEL).half_width == 0.03
    assert outlook(0.06, 500, 10**6, 0.05, OF_MODEL).half_width == 0.05


def test_no_number_beyond_the_pool_or_twenty_times_the_labels() -> None:
    assert outlook(0.1, 500, 1999, 0.05, OF_DESIGN).labels is None
    assert outlook(0.1, 500, 10**6, 0.02, OF_DESIGN).labels is None
    assert outlook(0.1, 500, 10**6, 0.023, OF_DESIGN).labels == 9452
