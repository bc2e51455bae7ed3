"""The interval of the least of several numbers."""

import numpy as np
import pytest
from scipy import stats

from evalsampling.inference.extremes import extreme_of, levels
from evalsampling.inference.intervals import symmetric
from evalsampling.inference.results import Estimate, Target, census, undefined
from evalsampling.measures import Greatest, Least, Recall
from tests.slow import fast

OVER = {"part": ("a", "b", "c", "d")}
TARGET = Target("least(recall, part=a|b|c|d)")
EVERYTHING = -100.0, 100.0


def estimates(values: np.ndarray, errors: np.ndarray, level: float) -> list[Estimate]:
    """Estimates with normal intervals, of numbers without bounds to speak of."""
    z = stats.norm.ppf((1 + level) / 2)
    return [
        Estimate(Target(f"recall(part={name})", EVERYTHING), value, error, level,
                 (symmetric(value, z * error, EVERYTHING, "wald"),))
        for name, value, error in zip("abcd", values.tolist(), errors.tolist(), strict=True)
    ]  # fmt: skip


def combined(
    values: np.ndarray, errors: np.ndarray, confidence: float = 0.95, kind: type = Least
) -> Estimate:
    near, far = (estimates(values, errors, level) for level in levels(confidence, 4))
    return extreme_of(kind(Recall(), OVER), TARGET, near, far, confidence)


def test_ends_are_those_of_the_slices() -> None:
    """By hand: alpha / 2 for the lower ends, alpha / 8 for the upper ones, both two-sided."""
    values, errors = np.array([0.3, 0.5, 0.4, 0.9]), np.array([0.1, 0.3, 0.01, 0.1])
    found = combined(values, errors)
    below, above = stats.norm.ppf(1 - 0.05 / 4), stats.norm.ppf(1 - 0.05 / 16)
    assert found.value == 0.3
    assert found.low == pytest.approx(0.5 - 0.3 * below)
    assert found.high == pytest.approx(0.4 + 0.01 * above)
    assert found.intervals[0].method == "least-of-slices"
    mirrored = combined(-values, errors, kind=Greatest)
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))


def test_notes_say_which_slice_it_is_and_which_might_be() -> None:
    apart = combined(np.array([0.3, 0.9, 0.9, 0.9]), np.full(4, 0.01))
    assert apart.notes == ("least(recall, part=a|b|c|d): it is recall(part=a)",)
    tied = combined(np.array([0.3, 0.9, 0.31, 0.9]), np.full(4, 0.01))
    assert "do not tell it apart from recall(part=c). The least of" in tied.notes[0]


def test_undefined_and_exact_slices() -> None:
    level = levels(0.95, 4)[0]
    good = estimates(np.full(4, 0.5), np.full(4, 0.1), level)
    measure = Least(Recall(), OVER)
    missing = undefined(Target("recall(part=b)"), level, "undefined", "no positives where part=b")
    found = extreme_of(measure, TARGET, [good[0], missing], good[:2], 0.95)
    assert (found.value, found.low, found.high) == (None, 0.0, 1.0)
    assert found.reason == f"{TARGET.title} is undefined: no positives where part=b"
    exact = [census(Target("x"), value, level, "positives") for value in (0.4, 0.2)]
    known = extreme_of(measure, TARGET, exact, exact, 0.95)
    assert (known.value, known.low, known.high) == (0.2, 0.2, 0.2)
    assert (known.intervals[0].method, known.confidence) == ("census", 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("truth", [np.zeros(4), np.array([0, 0, 5, 5]), np.array([0, 5, 5, 5])])
@pytest.mark.parametrize("correlation", fast(1, [0.9, 0.0]))
def test_it_holds_the_least_also_at_ties(truth: np.ndarray, correlation: float) -> None:
    """4,000 runs; three standard errors of a coverage of .95 are .010."""
    rng = np.random.default_rng(4)
    errors = np.array([1.0, 0.7, 1.5, 0.4])
    shape = correlation + (1 - correlation) * np.eye(4)
    noise = rng.multivariate_normal(np.zeros(4), shape, 4000) * errors
    held = [
        one.low <= truth.min() <= one.high for one in (combined(truth + e, errors) for e in noise)
    ]
    assert np.mean(held) >= 0.95 - 0.01


def test_the_interval_of_the_least_estimate_misses_at_ties() -> None:
    """What is not done: of four tied slices the interval of the least estimate is too low."""
    rng = np.random.default_rng(4)
    least = rng.normal(size=(4000, 4)).min(axis=1)
    assert np.mean(least + stats.norm.ppf(0.975) >= 0) < 0.91
