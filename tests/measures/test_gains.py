"""Measures of rankings: values of graded queries, bounds, and what is expected of a query."""

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.measures import Accuracy, Joint, difference
from evalsampling.measures.gains import DCG, ERR, Gain, GainMoments, gains_of
from evalsampling.stats.gains import ExpectedLists, dcg, err
from evalsampling.stats.outputs import Outputs

GRADES = 3


def graded(grade: np.ndarray) -> Outputs:
    """Queries of two systems with grades (n, 2, depth), whose lists differ."""
    n = len(grade)
    differs = np.tile([0, 1], (n, 1))
    return Outputs(differs, np.zeros((n, 2)), np.zeros((n, 1, 1)), grade)


def make(kind: type[Gain], cut: int = 3, system: int = 0) -> Gain:
    return kind(system=system, classes=GRADES, cut=cut)


GRADE = np.random.default_rng(2).integers(-1, GRADES, (40, 2, 5))
LABEL = np.zeros(40, dtype=np.int64)


@pytest.mark.parametrize("kind", [DCG, ERR])
def test_the_value_is_the_mean_gain_of_the_first_ranks(kind: type[Gain]) -> None:
    measure = make(kind, system=1)
    risk = measure.mean_loss(graded(GRADE), LABEL, np.full(40, 1 / 40))
    first = GRADE[:, 1, :3]
    expected = dcg(first) if kind is DCG else err(first, GRADES - 1)
    assert measure.value(risk)[0] == pytest.approx(expected.mean())
    assert measure.name == ("dcg@3" if kind is DCG else "err@3")
    assert expected.max() <= measure.bounds[1]
    best = np.full((1, 2, 5), GRADES - 1)
    assert measure.loss(graded(best), LABEL[:1])[0, 0] == pytest.approx(measure.bounds[1])


def test_a_difference_is_that_of_both_and_needs_no_query_that_is_ranked_alike() -> None:
    both = difference(make(DCG), make(DCG, system=1))
    own = [dcg(GRADE[:, system, :3]) for system in range(2)]
    np.testing.assert_allclose(both.loss(graded(GRADE), LABEL)[:, 0], own[0] - own[1])
    unknown = Outputs(np.array([[0, 0], [0, 1]]), np.zeros((2, 2)), np.zeros((2, 1, 1)))
    assert both.may_add(unknown, unknown, LABEL[:2]).tolist() == [False, True]
    assert make(DCG).may_add(unknown, unknown, LABEL[:2]).tolist() == [True, True]


def lists(queries: int = 30) -> ExpectedLists:
    rng = np.random.default_rng(3)
    place = np.stack([[rng.permutation(5)[:4] for _ in range(2)] for _ in range(queries)])
    return ExpectedLists.from_probabilities(place, rng.dirichlet(np.ones(GRADES), (queries, 5)))


def test_moments_are_kept_as_shares_of_the_greatest() -> None:
    gains = (make(DCG), make(ERR, cut=4))
    moments = GainMoments.of_lists(gains, lists())
    shares = moments.shares(gains)
    assert shares.min() >= 0
    assert shares.max() <= 1
    again = GainMoments.from_shares(gains, shares, systems=2)
    np.testing.assert_allclose(again.mean, moments.mean)
    np.testing.assert_allclose(again.second, moments.second)


def test_what_is_expected_of_gains_and_differences() -> None:
    gains = (make(DCG), make(ERR))
    expected = lists()
    moments = GainMoments.of_lists(gains, expected)
    mean, second = expected.cut(3).err_moments()
    found = moments.of(make(ERR, system=1))
    np.testing.assert_allclose(found[0], mean[:, 1])
    np.testing.assert_allclose(found[1], second[:, 1, 1])
    found = moments.of(difference(make(ERR, system=1), make(ERR)))
    np.testing.assert_allclose(found[0], mean[:, 1] - mean[:, 0])
    square = second[:, 0, 0] + second[:, 1, 1] - 2 * second[:, 0, 1]
    np.testing.assert_allclose(found[1], square, atol=1e-15)
    for other in (make(ERR, cut=2), Accuracy()):
        with pytest.raises(InputError, match="list a gain, or a difference of two, first"):
            moments.of(other)


def test_gains_are_found_within_differences_and_joint_measures() -> None:
    both = difference(make(DCG), make(DCG, system=1))
    found = gains_of([Joint((both, make(ERR))), make(DCG, system=1), Accuracy()])
    assert [one.name for one in found] == ["dcg@3", "err@3"]
