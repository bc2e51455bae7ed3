"""Choices among systems: by hand, and as often wrong as the binomial distribution says."""

import dataclasses

import numpy as np
import pytest

from evalsampling.measures import (
    Accuracy,
    Brier,
    FalsePositiveRate,
    FBeta,
    LogLoss,
    Measure,
    PRCurve,
    difference,
)
from evalsampling.simulation.selection import Candidates, Selection, candidates_of, mean_selection


def less(measure: Measure, other: int) -> Measure:
    return difference(measure, dataclasses.replace(measure, system=other))


def choose(estimated: list[float], true: list[float], sign: int = 1) -> Selection:
    places = tuple(range(len(true)))
    as_values = [np.array([one]) for one in estimated], [np.array([one]) for one in true]
    return Candidates(places, sign).select(*as_values)


def test_choices_by_hand() -> None:
    """The first system stands at 0, another one where the first is less than it by so much."""
    assert choose([0.2], [0.1]) == Selection(0, 0)
    assert choose([-0.2], [0.1]) == Selection(1, pytest.approx(0.1))
    assert choose([-0.2], [-0.1], sign=-1) == Selection(0, 0), "of a loss the smaller is better"
    assert choose([-0.2], [0.1], sign=-1) == Selection(1, pytest.approx(0.1))
    assert choose([-0.2, -0.3], [-0.25, -0.1]) == Selection(1, pytest.approx(0.15))
    assert choose([0.1, 0.3], [-0.25, -0.1]) == Selection(1, pytest.approx(0.25))


def test_of_systems_that_look_alike_each_is_as_likely_to_be_chosen() -> None:
    assert choose([0.0], [0.3]) == Selection(0.5, pytest.approx(0.15))
    assert choose([-0.2, -0.2], [-0.1, -0.4]) == Selection(0.5, pytest.approx(0.15))
    undefined = choose([float("nan"), -0.9], [0.1, 0.2])
    assert undefined == Selection(pytest.approx(2 / 3), pytest.approx(0.1))


def test_of_systems_that_are_alike_none_is_wrong() -> None:
    assert choose([-0.2], [0.0]) == Selection(0, 0)
    assert choose([-0.2, 0.1], [1e-15, 0.3]) == Selection(0, pytest.approx(0))


def test_differences_of_one_measure_and_first_system_belong_together() -> None:
    of_second = difference(Accuracy(system=1), Accuracy(system=2))
    listed = [
        Accuracy(),
        less(Accuracy(), 1),
        less(Accuracy(), 2),
        less(Brier(), 1),
        of_second,
        less(PRCurve((0.1, 0.5)), 1),
        less(FalsePositiveRate(), 1),
        less(LogLoss(), 1),
        less(FBeta(), 1),
    ]
    assert candidates_of(listed) == [
        None,
        Candidates((1, 2), 1),
        Candidates((1, 2), 1),
        Candidates((3,), -1),
        Candidates((4,), 1),
        None,
        Candidates((6,), -1),
        Candidates((7,), -1),
        Candidates((8,), 1),
    ]


def test_means_of_repeats() -> None:
    assert mean_selection([]) == {"selection_error": None, "regret": None}
    found = mean_selection([Selection(1, 0.3), Selection(0, 0), Selection(0.5, 0.1)])
    assert found == {"selection_error": pytest.approx(0.5), "regret": pytest.approx(0.4 / 3)}
