"""The errors that stand for a normal distribution."""

import numpy as np
import pytest
from scipy import stats

from evalsampling.stats.normal_errors import CHANCES, ERRORS


@pytest.mark.parametrize("power", [0, 1, 2, 3, 4])
def test_errors_have_the_moments_of_the_normal_distribution(power: int) -> None:
    assert CHANCES @ ERRORS**power == pytest.approx(stats.norm.moment(power), abs=1e-12)


def test_errors_have_its_mean_absolute_deviation() -> None:
    expected = stats.norm.expect(np.abs)
    assert CHANCES @ np.abs(ERRORS) == pytest.approx(expected, abs=1e-9)
    assert np.all(CHANCES > 0)
    np.testing.assert_allclose(ERRORS, -ERRORS[::-1])
