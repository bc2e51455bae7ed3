"""Gains of ranked lists, against published figures and full enumeration of all grades."""

import itertools

import numpy as np
import pytest

from evalsampling.stats.gains import NO_ITEM, ExpectedLists, dcg, err

GRADES = 3


def by_enumeration(
    place: np.ndarray, probability: np.ndarray, kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """E L and E L L' of the lists of one query, by going through all grades of all items.

    Args:
        place: shape (systems, depth).
        probability: shape (items, grades).
        kind: "dcg" or "err", summed term by term as equations 6.1 and 6.2 print them.
    """
    items, grades = probability.shape
    mean, second = np.zeros(len(place)), np.zeros((len(place), len(place)))
    for grade in itertools.product(range(grades), repeat=items):
        chance = np.prod([probability[z, y] for z, y in enumerate(grade)])
        gains = np.zeros(len(place))
        for system, ranked in enumerate(place):
            reached = 1.0
            for rank, z in enumerate(ranked, start=1):
                if z == NO_ITEM:
                    continue
                if kind == "dcg":
                    gains[system] += (2.0 ** grade[z] - 1) / np.log2(rank + 1)
                else:
                    stop = (2.0 ** grade[z] - 1) / 2.0 ** (grades - 1)
                    gains[system] += stop * reached / rank
                    reached *= 1 - stop
        mean += chance * gains
        second += chance * np.outer(gains, gains)
    return mean, second


def moments(lists: ExpectedLists, kind: str) -> tuple[np.ndarray, np.ndarray]:
    return lists.dcg_moments() if kind == "dcg" else lists.err_moments()


@pytest.mark.parametrize("kind", ["dcg", "err"])
def test_expectations_are_those_of_all_grades_of_all_items(kind: str) -> None:
    rng = np.random.default_rng(3)
    items, depth, queries = 6, 5, 12
    place = np.full((queries, 3, depth), NO_ITEM)
    for query, system in np.ndindex(queries, 3):
        length = int(rng.integers(0, depth + 1))
        place[query, system, :length] = rng.permutation(items)[:length]
    place[0, 1] = place[0, 0]
    probability = rng.dirichlet(np.ones(GRADES), (queries, items))
    mean, second = moments(ExpectedLists.from_probabilities(place, probability), kind)
    for query in range(queries):
        expected = by_enumeration(place[query], probability[query], kind)
        np.testing.assert_allclose(mean[query], expected[0], atol=1e-13)
        np.testing.assert_allclose(second[query], expected[1], atol=1e-13)


def two_items(*lists: list[int]) -> ExpectedLists:
    """The queries of TV8 and TV9 of the thesis's digest: two items, grades 0 to 2."""
    probability = np.array([[[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]])
    return ExpectedLists.from_probabilities(np.array([lists]), probability)


@pytest.mark.parametrize(
    ("kind", "mean", "second"), [("dcg", 2.1785578521, 6.6404950924), ("err", 0.49125, 0.33)]
)
def test_moments_of_one_list_are_the_published_ones(kind: str, mean: float, second: float) -> None:
    found = moments(two_items([0, 1]), kind)
    assert found[0][0, 0] == pytest.approx(mean, abs=1e-10)
    assert found[1][0, 0, 0] == pytest.approx(second, abs=1e-10)


@pytest.mark.parametrize(
    ("kind", "mean", "second"), [("dcg", 0.4428842957, 0.5230573317), ("err", 0.15, 0.06)]
)
def test_moments_of_a_difference_are_the_published_ones(
    kind: str, mean: float, second: float
) -> None:
    means, products = moments(two_items([0, 1], [1, 0]), kind)
    contrast = np.array([1.0, -1.0])
    assert means[0] @ contrast == pytest.approx(mean, abs=1e-10)
    assert contrast @ products[0] @ contrast == pytest.approx(second, abs=1e-10)


def test_gains_of_grades_are_those_of_certain_grades() -> None:
    rng = np.random.default_rng(4)
    grade = rng.integers(0, GRADES, (50, 7))
    grade[:, 5:] = NO_ITEM
    certain = np.eye(GRADES)[np.maximum(grade, 0)]
    place = np.where(grade == NO_ITEM, NO_ITEM, np.arange(7))[:, None]
    lists = ExpectedLists.from_probabilities(place, certain)
    np.testing.assert_allclose(dcg(grade), lists.dcg_moments()[0][:, 0])
    np.testing.assert_allclose(err(grade, GRADES - 1), lists.err_moments()[0][:, 0])
    # By hand: grades 2, 0, 1 of at most 2.
    assert dcg(np.array([[2, 0, 1]]))[0] == pytest.approx(3 + 0 + 1 / 2)
    assert err(np.array([[2, 0, 1]]), 2)[0] == pytest.approx(3 / 4 + 1 / 4 * 1 / 4 / 3)


def test_long_lists_of_likely_relevant_items_stay_finite() -> None:
    probability = np.tile([1e-9, 1e-9, 1 - 2e-9], (2, 3000, 1))
    place = np.stack([np.arange(3000), np.arange(3000)[::-1]])[None].repeat(2, axis=0)[:, :, :400]
    lists = ExpectedLists.from_probabilities(place, probability)
    mean, second = lists.err_moments()
    assert np.all((mean > 0) & (mean < 1))
    assert np.all((second > 0) & (second < 1))
    # The lists share no item: their gains are independent.
    np.testing.assert_allclose(second[:, 0, 1], mean[:, 0] * mean[:, 1], rtol=1e-12)


def test_a_cut_list_is_its_first_ranks() -> None:
    whole, first = two_items([0, 1], [1, 0]), two_items([0], [1])
    for kind in ("dcg", "err"):
        np.testing.assert_allclose(moments(whole.cut(1), kind)[1], moments(first, kind)[1])
