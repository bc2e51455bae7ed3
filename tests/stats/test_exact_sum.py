"""Sums without rounding: those of fractions, in any grouping."""

from fractions import Fraction

import numpy as np
import pytest

from evalsampling.stats.exact_sum import exact_sum, rounded


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300])
def test_sums_are_those_of_fractions(scale: float) -> None:
    rng = np.random.default_rng(3)
    values = rng.random(300) * 10.0 ** rng.integers(-8, 8, 300) * scale
    true = float(sum(map(Fraction, values.tolist())))
    assert rounded(exact_sum(values)) == true
    parts = [exact_sum(part) for part in np.split(rng.permutation(values), [1, 7, 150])]
    assert rounded(sum(parts)) == true


def test_signs_zeros_and_the_least_numbers_count() -> None:
    tiny = np.nextafter(0, 1)
    assert rounded(exact_sum(np.array([1e16, 1.0, -1e16, 0.0]))) == 1.0
    assert rounded(exact_sum(np.array([tiny, tiny]))) == 2 * tiny
    assert exact_sum(np.zeros(0)) == 0
