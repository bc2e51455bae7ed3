"""Many systems against published figures, scipy, and simulated null pools."""

import numpy as np
import pytest
from scipy import stats

from evalsampling.inference.many_systems import bonferroni, range_tail, tukey_range_test
from evalsampling.inference.significance import two_sided_p_value

PAIRS = [(i, j) for i in range(4) for j in range(i + 1, 4)]


def test_studentized_range_is_that_of_a_scaled_chi() -> None:
    """Omega(3; 4, 60) = .8419, which the thesis's formula gives with the root of chi^2 / nu."""
    assert 1 - range_tail(3, 4, 60) == pytest.approx(0.8419, abs=5e-5)
    of_two = np.sqrt(2) * stats.t.ppf(0.975, 12.5)
    assert range_tail(of_two, 2, 12.5) == pytest.approx(0.05, abs=1e-6)


def test_range_test_keeps_its_level_on_correlated_losses() -> None:
    """Four systems, 60 rows, paired losses: 5 % to three standard errors over 2,000 null pools.

    As printed, without the root of 2 n and the quotient, it would never reject.
    """
    rng = np.random.default_rng(3)
    rejected, printed = [], []
    for _ in range(2000):
        loss = 0.7 * rng.normal(size=(60, 1)) + rng.normal(size=(60, 4))
        gaps = np.stack([loss[:, i] - loss[:, j] for i, j in PAIRS])
        error = gaps.std(axis=1, ddof=1) / np.sqrt(60)
        rho = np.abs(gaps.mean(axis=1)).max()
        statistic = np.sqrt(2) * rho / np.sqrt(np.mean(error**2))
        rejected.append(statistic > 3.66)  # where the p-value is .05; checked below
        printed.append(rho * np.sqrt(60 * np.mean(error**2)) > 3.66)
    assert np.mean(rejected) == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 2000))
    assert not any(printed)
    assert range_tail(3.66, 4, 59 * 3) == pytest.approx(0.05, abs=1e-3)
    assert tukey_range_test(gaps.mean(axis=1), error, 4, 60) == pytest.approx(
        range_tail(statistic, 4, 177)
    )


def test_pairs_are_tested_together() -> None:
    """Of 2,000 null pools of four systems at most 5 % have a pair that is told apart."""
    values = np.array([0.2, 0.05, -0.01, -0.15, -0.21, -0.06])
    alone = np.array([two_sided_p_value(value / 0.05, np.inf) for value in values])
    together = bonferroni(alone)
    np.testing.assert_allclose(together, np.minimum(6 * alone, 1))
    by_range = [range_tail(np.sqrt(2) * abs(value) / 0.05, 4, np.inf) for value in values]
    for least, middle, most in zip(alone, by_range, together, strict=True):
        assert least <= middle <= most + 1e-12
    rng = np.random.default_rng(4)
    means = rng.multivariate_normal(np.zeros(4), np.eye(4) + 0.5, 2000)
    gaps = np.stack([means[:, i] - means[:, j] for i, j in PAIRS], axis=1) / np.sqrt(2)
    told = [bonferroni(2 * stats.norm.sf(np.abs(gap))).min() < 0.05 for gap in gaps]
    assert 0.01 < np.mean(told) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)
