import numpy as np
import pytest
from scipy import special

from evalsampling.stats.log_odds import expit, log_odds_of_rank, logit


def test_they_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    ends = [0.0, 0.3, 0.5, 0.65, 1.0]
    p = np.concatenate([ends, rng.random(10_000), 10 ** rng.uniform(-300, -1, 10_000)])
    np.testing.assert_allclose(logit(p), special.logit(p), rtol=1e-15)
    wide, near = rng.uniform(-800, 800, 10_000), rng.normal(size=99)
    x = np.concatenate([[-np.inf, 0.0, np.inf], wide, near])
    np.testing.assert_allclose(expit(x), special.expit(x), rtol=1e-15)
    assert logit([0.0, 1.0]).tolist() == [-np.inf, np.inf]
    assert expit([-np.inf, np.inf]).tolist() == [0.0, 1.0]


def test_log_odds_of_ranks_by_hand() -> None:
    """Of five rows two share the middle score: 1, 1 + 2 / 2 and 4.5 - 1 rows are below."""
    found = log_odds_of_rank(np.array([7.0, -1.0, 3.0, 3.0]), np.array([1, 2, 1, 1]))
    assert found == pytest.approx(np.log([4.5 / 0.5, 1 / 4, 3 / 2, 3 / 2]))
    assert log_odds_of_rank(np.array([0.3]), np.array([9])).tolist() == [0.0]
