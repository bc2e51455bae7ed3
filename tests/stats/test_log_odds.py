import numpy as np
from scipy import special

from evalsampling.stats.log_odds import expit, logit


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
