"""Agreement against published figures, enumeration and simulation."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy import stats

from evalsampling.stats.agreement import (
    Share,
    krippendorff_alpha,
    krippendorff_alpha_of_numbers,
)

# K. Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011: sections B (binary data, two
# observers) and C (nominal data, any number of observers, missing data).
TWO_OBSERVERS = ("0100000010", "1110010000")
FOUR_OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def counts(observers: tuple[str, ...], classes: str) -> np.ndarray:
    return np.array([[unit.count(one) for one in classes] for unit in zip(*observers, strict=True)])


def test_published_examples() -> None:
    assert krippendorff_alpha(counts(TWO_OBSERVERS, "01")).alpha == pytest.approx(0.095, abs=5e-4)
    found = krippendorff_alpha(counts(FOUR_OBSERVERS, "12345"))
    assert found.alpha == pytest.approx(0.743, abs=5e-4)
    assert (found.rows, found.votes) == (11, 40)


def by_pairs(table: np.ndarray) -> float:
    """Alpha as the definition says it: pairs of votes, one after the other."""
    votes = [
        [code for code, count in enumerate(row) for _ in range(count)]
        for row in table
        if row.sum() > 1
    ]
    everything = [vote for row in votes for vote in row]
    observed = sum(
        sum(a != b for a, b in itertools.permutations(row, 2)) / (len(row) - 1) for row in votes
    )
    expected = sum(a != b for a, b in itertools.permutations(everything, 2))
    return 1 - observed / len(everything) * (len(everything) * (len(everything) - 1)) / expected


def test_definition() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        table = rng.multinomial(4, [0.6, 0.3, 0.1], size=12)
        table[rng.random(12) < 0.3] = 0
        found = krippendorff_alpha(table)
        assert found.alpha == pytest.approx(by_pairs(table), abs=1e-12)
        assert found.low is not None
        assert found.low <= found.alpha <= (found.high or 0)


def long_form(observers: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Votes and the rows that they are about."""
    votes = [
        (float(vote), row)
        for row, unit in enumerate(zip(*observers, strict=True))
        for vote in unit
        if vote != "."
    ]
    value, row = np.array(votes).T
    return value, row.astype(np.int64)


def test_published_example_of_numbers() -> None:
    """Section D there: the same data as numbers, alpha for interval data .849."""
    found = krippendorff_alpha_of_numbers(*long_form(FOUR_OBSERVERS))
    assert found.alpha == pytest.approx(0.849, abs=5e-4)
    assert (found.rows, found.votes) == (11, 40)


def test_of_two_classes_numbers_are_classes() -> None:
    """A difference is 1 or 0 then, so all of the jackknife is the same."""
    by_class = krippendorff_alpha(counts(TWO_OBSERVERS, "01"))
    found = krippendorff_alpha_of_numbers(*long_form(TWO_OBSERVERS))
    assert dataclasses.astuple(found) == pytest.approx(dataclasses.astuple(by_class))
    value, row = long_form(FOUR_OBSERVERS)
    plain = krippendorff_alpha_of_numbers(value, row)
    moved = krippendorff_alpha_of_numbers(1e6 + 3 * value, row)
    assert moved.alpha == pytest.approx(plain.alpha, abs=1e-9)


def test_numbers_that_are_all_alike_and_none() -> None:
    value, row = np.array([5.0, 5.0, 7.0, 7.0]), np.array([0, 0, 1, 1])
    found = krippendorff_alpha_of_numbers(value, row)
    assert (found.alpha, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(1 - (1 - 0.025**0.5))
    assert krippendorff_alpha_of_numbers(value[:1], row[:1]).alpha is None
    assert krippendorff_alpha_of_numbers(np.full(4, 2.0), row).alpha is None


def test_the_interval_holds_the_truth() -> None:
    """100 rows, three votes, each right with .85: alpha of a large sample is the truth.

    400 repeats; a level of .95 gives .95 with a standard error of .011.
    """
    rng = np.random.default_rng(7)

    def sample(rows: int) -> np.ndarray:
        truth = rng.random((rows, 1)) < 0.4
        votes = truth ^ (rng.random((rows, 3)) > 0.85)
        return np.stack([(~votes).sum(axis=1), votes.sum(axis=1)], axis=1)

    truth = krippendorff_alpha(sample(400_000)).alpha
    assert truth is not None
    held = 0
    for _ in range(400):
        found = krippendorff_alpha(sample(100))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
    assert 0.91 <= held / 400 <= 0.98


def test_no_disagreement_is_no_proof() -> None:
    found = krippendorff_alpha(np.array([[2, 0]] * 10 + [[0, 2]] * 10))
    assert found.alpha == 1 == found.high
    assert found.low is not None
    assert 0.5 < found.low < 0.8
    more = krippendorff_alpha(np.array([[2, 0]] * 100 + [[0, 2]] * 100))
    assert more.low is not None
    assert more.low > 0.95


@pytest.mark.parametrize(
    "table", [np.zeros((0, 2)), np.array([[1, 0]] * 5), np.array([[3, 0]] * 5)]
)
def test_nothing_to_tell(table: np.ndarray) -> None:
    assert krippendorff_alpha(table.astype(np.int64)).alpha is None


def test_shares_have_exact_intervals() -> None:
    for hits, trials in [(0, 5), (5, 5), (3, 7), (40, 41), (0, 0)]:
        found = Share.of_trials(hits, trials, 0.9)
        if not trials:
            assert (found.share, found.low, found.high) == (None, 0, 1)
            continue
        expected = stats.binomtest(hits, trials).proportion_ci(0.9, "exact")
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
