"""Nested R-hat: of chains that agree, that do not, and by the formula."""

import numpy as np
import pytest

from evalsampling.stats.chains import nested_r_hat


def test_chains_of_one_distribution_agree() -> None:
    values = np.random.default_rng(1).standard_normal((4, 16, 8))
    assert nested_r_hat(values) == pytest.approx(1.0, abs=0.02)


def test_groups_apart_disagree_by_their_distance() -> None:
    """Means 2 apart and a variance of 1 within: sqrt(1 + B), B the variance of the four means."""
    shift = np.array([0.0, 0.0, 2.0, 2.0])[:, None, None]
    values = shift + np.random.default_rng(2).standard_normal((4, 500, 100))
    assert nested_r_hat(values) == pytest.approx(np.sqrt(1 + np.var(shift, ddof=1)), rel=0.02)


def test_chains_that_do_not_move() -> None:
    assert nested_r_hat(np.ones((2, 3, 4))) == 1.0
    assert nested_r_hat(np.arange(2.0)[:, None, None] * np.ones((2, 3, 4))) == np.inf


def test_it_is_the_formula() -> None:
    values = np.random.default_rng(3).gamma(2, size=(3, 2, 4))
    means = values.mean(axis=2)
    between = sum((m.mean() - means.mean()) ** 2 for m in means) / 2
    within = np.mean([np.var(means[g], ddof=1) + np.mean([np.var(c, ddof=1) for c in values[g]])
                      for g in range(3)])  # fmt: skip
    assert nested_r_hat(values) == pytest.approx(np.sqrt(1 + between / within))
