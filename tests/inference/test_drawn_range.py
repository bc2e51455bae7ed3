"""Intervals and bands of draws: closed forms, shares that they hold."""

import numpy as np
import pytest

from evalsampling.inference.drawn_range import DrawnRange, shortest_interval, simultaneous


def test_shortest_interval_of_an_exponential_begins_at_zero() -> None:
    """Of 10,000 evenly spread quantiles; -log(.05) at the other end."""
    values = -np.log1p(-(np.arange(10_000) + 0.5) / 10_000)
    low, high = shortest_interval(np.random.default_rng(1).permutation(values), 0.95)
    assert low == values[0]
    assert high == pytest.approx(-np.log(0.05), rel=1e-3)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("count", [1, 2, 19, 20, 21, 100])
def test_shortest_interval_holds_its_share_and_none_is_shorter(
    confidence: float, count: int
) -> None:
    values = np.random.default_rng(count).normal(size=count)
    low, high = shortest_interval(values, confidence)
    assert np.mean((low <= values) & (values <= high)) >= confidence - 1e-12
    ordered, held = np.sort(values), int(np.ceil(confidence * count - 1e-9))
    widths = ordered[held - 1 :] - ordered[: count - held + 1]
    if count == 2 and confidence == 0.5:  # Either draw would do, so it is both.
        assert (low, high) == tuple(ordered)
    else:
        assert high - low == pytest.approx(widths.min())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("values_of", ["few values", "even steps", "any values"])
def test_the_interval_of_turned_draws_is_turned(values_of: str, seed: int) -> None:
    """A difference of two systems is the same in both orders, also where intervals are tied."""
    rng = np.random.default_rng(seed)
    draws = {
        "few values": rng.integers(0, 4, 41) / 7,
        "even steps": rng.permutation(40) / 13,
        "any values": rng.normal(size=40),
    }[values_of]
    weight = None if seed % 2 else rng.integers(1, 4, len(draws)).astype(np.float64)
    for confidence in (0.5, 0.8, 0.95):
        low, high = shortest_interval(draws, confidence, weight)
        turned = shortest_interval(-draws, confidence, weight)
        assert turned == pytest.approx((-high, -low), abs=1e-12)


def test_draw_of_weight_k_is_k_draws() -> None:
    rng = np.random.default_rng(2)
    values, weight = rng.gamma(2, size=60), rng.integers(0, 5, 60)
    repeated = np.repeat(values, weight)
    for confidence in (0.5, 0.8, 0.95):
        weighted = shortest_interval(values, confidence, weight * 0.37)
        assert weighted == shortest_interval(repeated, confidence)


@pytest.mark.parametrize("seed", range(2))
def test_of_equally_short_intervals_rounding_does_not_choose(seed: int) -> None:
    """Whole numbers by 173: the interval holds most of all that are as short."""
    rng = np.random.default_rng(seed)
    count = rng.integers(0, 20, 4000)
    held = {(a, b): np.mean((a <= count) & (count <= b)) for b in range(20) for a in range(b + 1)}
    wide_enough = [ends for ends, share in held.items() if share >= 0.48]
    least = min(b - a for a, b in wide_enough)
    shortest = [(a, b) for a, b in wide_enough if b - a == least]
    assert len(shortest) > 1
    a, b = max(shortest, key=held.__getitem__)
    for _ in range(20):
        values = count / 173 * (1 + rng.choice([-2e-16, 0, 2e-16], len(count)))
        assert shortest_interval(values, 0.48) == pytest.approx((a / 173, b / 173))


def curves(draws: int, seed: int) -> np.ndarray:
    """Random walks of forty points."""
    return np.cumsum(np.random.default_rng(seed).normal(size=(draws, 40)), axis=1)


def test_bands_hold_the_share_of_curves_whole() -> None:
    """At least the share of the draws themselves, and of as many others to .02."""
    values = curves(4000, 1)
    low, high = simultaneous(values, 0.9)

    def held(values: np.ndarray) -> float:
        return float(np.mean(np.all((low <= values) & (values <= high), axis=1)))

    assert 0.9 <= held(values) < 0.905
    assert held(curves(4000, 2)) == pytest.approx(0.9, abs=0.02)
    assert np.all(low < np.quantile(values, 0.05, axis=0))
    assert np.all(high > np.quantile(values, 0.95, axis=0))


def test_bands_of_rough_curves_reach_beyond_their_draws() -> None:
    """Of 512 draws of a hundred numbers that hardly hang together the outermost are no band.

    They hold all of the draws, and .65 of new ones; a step further out holds .73.
    """
    values, others = np.random.default_rng(5).normal(size=(2, 512, 100))
    low, high = simultaneous(values, 0.95)
    ends = np.sort(values, axis=0)
    np.testing.assert_allclose(low, 2 * ends[0] - ends[1])
    np.testing.assert_allclose(high, 2 * ends[-1] - ends[-2])

    def held(low: np.ndarray, high: np.ndarray) -> float:
        return float(np.mean(np.all((low <= others) & (others <= high), axis=1)))

    assert held(low, high) > held(ends[0], ends[-1]) + 0.05


def test_bands_leave_out_what_is_undefined() -> None:
    values = curves(1000, 4)
    values[:, 3] = np.nan
    values[:900, 7] = np.nan
    low, high = simultaneous(values, 0.95)
    assert np.isnan([low[3], high[3]]).all()
    inside = (low <= values) & (values <= high) | np.isnan(values)
    assert np.mean(np.all(inside, axis=1)) >= 0.95


@pytest.mark.parametrize("undefined", [500, 970, 999])
def test_draws_that_are_nowhere_defined_are_no_curves(undefined: int) -> None:
    """The band is that of the others, however few: above all scores, say, with no positive left."""
    values = curves(1000, 4)
    values[:undefined] = np.nan
    for end, of_others in zip(
        simultaneous(values, 0.95), simultaneous(values[undefined:], 0.95), strict=True
    ):
        np.testing.assert_array_equal(end, of_others)
    assert np.isnan(simultaneous(values[:undefined], 0.95)).all()


def drawn_of(*values: float) -> DrawnRange:
    return DrawnRange(np.array(values), np.array(values))


def test_weighted_median_is_that_of_repeated_draws() -> None:
    values, weight = np.array([0.4, 0.1, 0.9, 0.2]), np.array([1.0, 3.0, 2.0, 2.0])
    repeated = np.median(np.repeat(values, weight.astype(int)))
    assert DrawnRange(values, values, weight).median == pytest.approx(repeated)
    assert drawn_of(*values).median == pytest.approx(np.median(values))


def test_interval_reaches_from_the_lower_ends_to_the_upper_ones() -> None:
    ends = np.linspace(0.1, 0.2, 101)
    low, high = DrawnRange(ends, ends + 0.5).interval(0.9)
    assert (low, high) == pytest.approx((0.105, 0.695), abs=1e-9)
    assert np.isnan(DrawnRange(ends, ends, np.zeros(101)).interval(0.9)).all()


def test_a_logarithm_of_zero_is_undefined_and_brings_no_warning() -> None:
    """So of a ratio of which some draws are 0 one hears nothing but its interval."""
    low, high = np.array([-np.inf, -1.0, -2.0, -3.0]), np.array([-np.inf, -1.0, -1.5, -3.0])
    drawn = DrawnRange(low, high)
    assert (drawn.gap, drawn.median) == (0.0, -1.75)
    assert drawn.variance == pytest.approx(np.var([-1, -1.75, -3]) + 0.5**2 / 3 / 12)
