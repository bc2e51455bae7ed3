"""Many systems against published figures, scipy, and simulated null pools."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import stats

from evalsampling.inference.intervals import Interval
from evalsampling.inference.many_systems import (
    Contest,
    critical_range,
    hold_contest,
    range_tail,
    tukey_range_test,
)
from evalsampling.inference.results import Estimate, Target, undefined
from evalsampling.inference.significance import Significance, two_sided_p_value
from evalsampling.parts.records import read_record

NAMES = ("a", "b", "c", "d")
PAIRS = [(i, j) for i in range(4) for j in range(i + 1, 4)]


def pair(i: int, j: int, value: float, error: float, degrees: float = np.inf) -> Estimate:
    p_value = two_sided_p_value(value / error, degrees)
    nowhere = (Interval(-1, 1, "design-based", "student"),)
    target = Target("accuracy", (-1.0, 1.0), NAMES[i], against=NAMES[j])
    tested = Significance(p_value, degrees=degrees)
    return Estimate(target, value, error, 0.95, nowhere, significance=tested)


def test_studentized_range_is_that_of_a_scaled_chi() -> None:
    """Omega(3; 4, 60) = .8419, which the thesis's formula gives with the root of chi^2 / nu."""
    assert 1 - range_tail(3, 4, 60) == pytest.approx(0.8419, abs=5e-5)
    assert range_tail(critical_range(0.95, 4, 60), 4, 60) == pytest.approx(0.05, abs=1e-6)
    assert critical_range(0.95, 2, 12.5) / np.sqrt(2) == pytest.approx(stats.t.ppf(0.975, 12.5))


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
    values = {(0, 1): 0.2, (0, 2): 0.05, (0, 3): -0.01, (1, 2): -0.15, (1, 3): -0.21, (2, 3): -0.06}
    contest = hold_contest([pair(i, j, values[i, j], 0.05) for i, j in PAIRS], 500)
    assert contest.systems == NAMES
    assert contest.beaten_by("a") == ("b",)
    assert contest.beaten_by("d") == ("b",)
    assert contest.beaten_by("b") == ()
    reach = critical_range(0.95, 4, np.inf) / np.sqrt(2) * 0.05
    first = contest.pairs[0]
    assert (first.low, first.high) == pytest.approx((0.2 - reach, 0.2 + reach))
    assert first.bonferroni == pytest.approx(6 * first.p_value)
    for one in contest.pairs:
        assert one.p_value <= one.tukey <= min(1, one.bonferroni) + 1e-12
        assert (one.tukey < 0.05) == (one.low > 0 or one.high < 0)
    assert contest.range_p_value == pytest.approx(
        tukey_range_test(np.array([*values.values()]), np.full(6, 0.05), 4, 500)
    )


def test_simultaneous_intervals_hold_together() -> None:
    """Of 1,500 null pools of four systems, 5 % have an interval that misses, to three errors."""
    rng = np.random.default_rng(4)
    means = rng.multivariate_normal(np.zeros(4), np.eye(4) + 0.5, 1500)
    gaps = np.stack([means[:, i] - means[:, j] for i, j in PAIRS], axis=1)
    reach = critical_range(0.95, 4, np.inf) / np.sqrt(2) * np.sqrt(2)
    missed = (np.abs(gaps) > reach).any(axis=1).mean()
    assert missed == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 1500))


def test_a_pair_without_evidence_claims_nothing() -> None:
    nothing = undefined(
        Target("accuracy", (-1.0, 1.0), "a", against="c"), 0.95, "no support", "none drawn"
    )
    contest = hold_contest([pair(0, 1, 0.3, 0.01), nothing, pair(1, 2, 0.2, 0.01)], 100)
    assert contest.range_p_value is None
    assert (contest.pairs[1].low, contest.pairs[1].high) == (-1, 1)
    assert contest.pairs[1].tukey is None
    assert contest.beaten_by("a") == ("b",)


def test_a_contest_comes_back_from_its_object() -> None:
    contest = hold_contest([pair(0, 1, 0.3, 0.01), pair(0, 2, 0.2, 0.1), pair(1, 2, 0.2, 0.01)], 9)
    content = json.loads(json.dumps(dataclasses.asdict(contest)))
    assert read_record(Contest, content) == contest
    content["pairs"][0] |= {"low": None, "high": None}
    unbounded = read_record(Contest, content)
    assert (unbounded.pairs[0].low, unbounded.pairs[0].high) == (None, None)
    assert not unbounded.pairs[0].is_above
    assert not unbounded.pairs[0].is_below
