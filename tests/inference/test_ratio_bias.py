"""The second-order bias of a ratio, against a pool of three rows gone through."""

import itertools

import numpy as np
import pytest

from evalsampling.inference.ratio_bias import ratio_bias
from evalsampling.inference.sample import WeightedSample

F, G = np.array([1.0, 0.4, 2.0]), np.array([2.0, 1.0, 1.5])
"""A positive pair for each row."""


def sample_of(rows: list[int], b: np.ndarray) -> WeightedSample:
    return WeightedSample.without_replacement(np.array(rows, dtype=np.int64), b[rows], 3)


@pytest.mark.parametrize("missing", [0.02, 0.01, 0.005])
def test_bias_is_that_of_all_samples(missing: float) -> None:
    """Exact over all samples but the empty one; what is left goes as the square of 1 - b."""
    b = 1 - missing * np.array([1.0, 0.5, 0.3])
    mean, told, total = 0.0, 0.0, 0.0
    for flags in itertools.product((0, 1), repeat=3):
        rows = [row for row in range(3) if flags[row]]
        if not rows:
            continue
        chance = float(np.prod(np.where(flags, b, 1 - b)))
        total += chance
        mean += chance * np.sum(F[rows] / b[rows]) / np.sum(G[rows] / b[rows])
        found = ratio_bias(np.stack([F, G], axis=1)[rows], sample_of(rows, b))
        assert found is not None
        told += chance * found.total
    # A row that is left out moves the ratio by far more than its first-order share; so compare
    # with that of large pools: each row stands for many like it.
    bias = mean / total - F.sum() / G.sum()
    assert told == pytest.approx(bias, rel=0.5)


def test_terms_are_those_of_the_sources() -> None:
    """[Y] eq. 24 with its sign, and the term of the denominator's own variance."""
    b, rows = np.array([0.5, 0.2, 1.0]), [0, 1, 2]
    found = ratio_bias(np.stack([F, G], axis=1), sample_of(rows, b))
    y = np.sum(G / b)
    source = np.sum(F * G * (1 / b - 1) / b) / y**2
    assert found is not None
    assert found.covariance_term == pytest.approx(-source)
    ratio = np.sum(F / b) / y
    assert found.variance_term == pytest.approx(ratio * np.sum(G**2 * (1 / b - 1) / b) / y**2)
    assert found.as_json()["total"] == pytest.approx(found.total)


def test_ratio_over_nothing_has_none() -> None:
    b = np.array([0.5, 0.5, 0.5])
    assert ratio_bias(np.zeros((2, 2)), sample_of([0, 1], b)) is None
    assert ratio_bias(np.zeros((0, 2)), sample_of([], b)) is None
