"""Estimates from weights: by hand, by numpy, at the limits of data, and of Poisson samples."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import special
from sklearn.metrics import f1_score

from evalsampling.inference.estimates import (
    NARROW_AND_SYMMETRIC,
    by_weights,
    estimate_from_inclusion,
)
from evalsampling.inference.evidence import NARROW, Evidence, Gap
from evalsampling.inference.interval_methods import BY_NAME
from evalsampling.inference.results import Estimate, Target, widest_half
from evalsampling.inference.sample import WeightedSample
from evalsampling.label_spaces.sets import Sets
from evalsampling.measures import Accuracy, FBeta, MacroF, Measure, MicroF
from evalsampling.stats.outputs import Outputs
from tests.samplers.pools import make_pool

ENOUGH = Evidence("positives")

METHODS = [name for name in BY_NAME if name != "beta"]
"""Interval methods that are asked for."""


def make_sample(weight: np.ndarray) -> WeightedSample:
    """One draw of each row."""
    return WeightedSample.with_replacement(np.arange(len(weight)), weight, len(weight))


def lacking(positives: int) -> Evidence:
    """Evidence of too few positives."""
    words = f"only {positives} positives seen, fewer than 10"
    return Evidence("positives", Gap("few positives", words))


def by_hand(
    value: float = 0.5,
    influence: np.ndarray | None = None,
    evidence: Evidence = ENOUGH,
    weight: np.ndarray | None = None,
    target: Target = Target("f1"),  # noqa: B008
    confidence: float = 0.95,
) -> Estimate:
    """An estimate from 100 draws, with influences of both signs unless given."""
    if weight is None:
        weight = np.ones(100 if influence is None else len(influence))
    if influence is None:
        influence = np.random.default_rng(0).normal(0, 0.5, len(weight))
    (found,) = by_weights(
        [target], np.array([value]), influence[:, None], make_sample(weight), [evidence],
        confidence, METHODS,
    )  # fmt: skip
    return found


def assert_whole_range(found: Estimate, word: str) -> None:
    default = found.intervals[0]
    assert (default.low, default.high) == (0, 1)
    assert not found.claims
    assert len(found.warnings) == 1
    assert word in found.warnings[0]


def test_standard_error_by_the_delta_method() -> None:
    """At R = (.5, 1) with Dg = (1, -.5): deviations of Dg l from their mean, over 3 x 2."""
    losses = np.array([[1.0, 1.0], [0.0, 2.0], [1.0, 2.0]])
    influence = losses @ np.array([1.0, -0.5])
    found = by_hand(influence=influence)
    # .5, -1, 0 about -1/6: squares 4/9 + 25/36 + 1/36 = 7/6.
    assert found.standard_error == pytest.approx(math.sqrt(7 / 36), rel=1e-14)
    assert found.value == 0.5
    methods = [i.method for i in found.intervals]
    assert methods == ["korn-graubard", "logit", "wilson", "student", "wald"]
    reach = 1.959963984540054 * math.sqrt(7 / 36)
    assert found.intervals[-1].low == pytest.approx(max(0.5 - reach, 0), rel=1e-14)
    assert found.intervals[-1].high == pytest.approx(min(0.5 + reach, 1), rel=1e-14)


def test_several_components_are_estimated_as_each_alone() -> None:
    rng = np.random.default_rng(2)
    weight, influence = rng.exponential(size=60), rng.normal(0, 0.3, (60, 3))
    targets = [Target("a"), Target("b", (-1.0, 1.0)), Target("c", threshold=0.5)]
    value = np.array([0.3, -0.2, np.nan])
    influence[:, 2] = np.nan
    found = by_weights(targets, value, influence, make_sample(weight), [ENOUGH] * 3, 0.95, METHODS)
    assert [f.target for f in found] == targets
    for i in range(2):
        alone = by_hand(value[i], influence[:, i], weight=weight, target=targets[i])
        assert found[i].value == alone.value
        assert found[i].standard_error == pytest.approx(alone.standard_error, rel=1e-12)
        assert [i.method for i in found[i].intervals] == [i.method for i in alone.intervals]
        for one, other in zip(found[i].intervals, alone.intervals, strict=True):
            assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9)
    assert found[2].value is None
    assert "c at 0.5 is undefined" in str(found[2].reason)


def test_defaults_of_measures_with_other_bounds() -> None:
    """Fisher's z for correlations, but for a value at a bound; else Student's."""
    found = by_hand(-0.2, target=Target("mcc", (-1.0, 1.0)))
    assert [i.method for i in found.intervals] == ["logit", "student", "wald"]
    at_bound = by_hand(1.0, target=Target("mcc", (-1.0, 1.0)))
    assert at_bound.intervals[0].method == "student"
    loss = by_hand(0.2, target=Target("brier", (0.0, 2.0)))
    assert [i.method for i in loss.intervals] == ["student", "logit", "wald"]
    unbounded = by_hand(3.0, target=Target("mean", (-math.inf, math.inf)))
    assert [i.method for i in unbounded.intervals] == ["student", "wald"]
    assert unbounded.value == 3
    assert unbounded.warnings == ()


def test_interval_of_the_latest_proposal_stands_beside_the_others() -> None:
    """Half of all weights under the latest proposal: about half the variance."""
    influence = np.random.default_rng(0).normal(0, 0.5, 100)
    sample = make_sample(np.ones(100)).with_latest(np.full(100, 0.5))
    (found,) = by_weights(
        [Target("f1")], np.array([0.5]), influence[:, None], sample, [ENOUGH], 0.9, METHODS
    )
    assert [i.method for i in found.intervals][-2:] == ["wald", "wald-latest-proposal"]
    latest = np.sqrt((0.5 * np.mean(influence**2) - influence.mean() ** 2) / 100)
    reach = special.ndtri(0.95) * latest
    assert found.intervals[-1].low == pytest.approx(0.5 - reach, rel=1e-12)
    assert found.intervals[-1].high == pytest.approx(0.5 + reach, rel=1e-12)


def test_no_draws() -> None:
    found = by_hand(value=math.nan, weight=np.zeros(0), influence=np.zeros(0))
    assert (found.value, found.standard_error) == (None, None)
    assert found.reason == "no labels yet"
    assert (found.intervals[0].low, found.intervals[0].high) == (0, 1)


def test_undefined_value_is_none_with_a_reason() -> None:
    found = by_hand(value=math.nan, influence=np.full(100, math.nan))
    assert (found.value, found.standard_error) == (None, None)
    assert "0/0" in found.reason
    assert "positives" in found.reason
    assert_whole_range(found, "undefined")


@pytest.mark.parametrize(
    ("value", "influence"),
    [
        (0.0, np.zeros(100)),
        (0.5, np.zeros(100)),
        (1.0, np.zeros(100)),
        (1.0, 1e-17 * np.resize([1.0, -1.0], 100)),
        (1.0, 1e-16 * np.resize([1.0, -1.0], 100)),
        *((0.5, np.full(90, number)) for number in np.random.default_rng(1).random(20)),
    ],
)
def test_variance_of_zero_but_for_rounding_claims_nothing(
    value: float, influence: np.ndarray
) -> None:
    """Which last digit linear algebra leaves differs between machines."""
    found = by_hand(value=value, influence=influence)
    assert_whole_range(found, "zero")
    assert (found.standard_error, found.value) == (0, value)
    assert (found.design_effect, found.largest_share) == (None, 0.0)
    assert (found.intervals[1].low, found.intervals[1].high) == (value, value)


def test_variance_of_rounding_errors_is_zero() -> None:
    """Rows that all agree, each with both losses alike: l1 - G l2 is zero for any weights."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        weights = rng.exponential(size=40)
        r1 = r2 = weights.mean()
        influence = np.ones((40, 2)) @ np.array([1 / r2, -r1 / r2**2])
        found = by_hand(r1 / r2, influence, weight=weights)
        assert found.value == 1
        assert_whole_range(found, "zero")


def test_a_gap_in_the_evidence_claims_nothing() -> None:
    found = by_hand(evidence=lacking(3))
    assert_whole_range(found, "only 3 positives")
    assert found.intervals[0].method == "few positives"
    assert found.intervals[-1].method == "wald"
    assert found.intervals[-1].high < 1
    assert found.value == 0.5
    of_measure = by_hand(value=-0.25, evidence=lacking(1), target=Target("mcc", (-1.0, 1.0)))
    assert (of_measure.low, of_measure.high) == (-1, 1)
    assert of_measure.intervals[-1].low < -0.25


@pytest.mark.parametrize(("value", "cut"), [(1.25, 1), (-0.5, 0)])
def test_value_out_of_range_is_cut_with_a_note(value: float, cut: float) -> None:
    found = by_hand(value=value)
    assert found.value == cut
    (words,) = found.notes
    assert f"{value:.4g} lies outside its range" in words
    assert 0 <= found.intervals[0].low <= found.intervals[0].high <= 1


def test_interval_that_is_the_whole_range_is_not_to_be_relied_on() -> None:
    """Of a loss from 0 to 2 it came out so, with a width to stop at and no word."""
    target = Target("brier", (0.0, 2.0))
    found = by_hand(value=0.6, influence=np.tile([-30.0, 30.0], 20), target=target)
    assert (found.low, found.high) == (0, 2)
    assert not found.reliable
    assert widest_half([found]) is None
    assert "whole range of the measure" in found.warnings[0]


def test_row_that_dominates_is_told_but_not_warned_of() -> None:
    """What was met makes the interval wide; what was not is what misleads."""
    influence = np.random.default_rng(4).normal(0, 0.1, 100)
    influence[17] = 10
    found = by_hand(influence=influence)
    deviation = (influence - influence.mean()) ** 2
    assert found.largest_share == pytest.approx(deviation.max() / deviation.sum(), rel=1e-12)
    assert found.largest_share > 0.9
    assert found.warnings == ()
    assert found.reliable


def test_error_far_below_the_expected_one_is_warned_of() -> None:
    default = by_hand().intervals[0]
    error = (default.high - default.low) / 2 / special.ndtri(0.975)
    for share, reliable in ((0.99, False), (1.01, True)):
        expected = error / NARROW / share
        found = by_hand(evidence=Evidence("positives", expected_error=expected))
        assert found.claims
        assert found.reliable == reliable
        assert len(found.warnings) == (not reliable)
    words = "do not rely on it"
    found = by_hand(evidence=Evidence("positives", expected_error=1e9))
    assert words in found.warnings[0]
    assert "where scores and labels make 1 likely" in found.warnings[0]  # No share is wider.
    nothing = by_hand(evidence=dataclasses.replace(lacking(2), expected_error=1e9))
    assert_whole_range(nothing, "only 2")


@pytest.mark.parametrize(
    ("heaviest", "most", "method", "least"),
    [
        (1.0, 2, "student", NARROW_AND_SYMMETRIC),
        (1.0, 1, "korn-graubard", NARROW),
        (0.1, 2, "student", NARROW),
    ],
)
def test_symmetric_interval_that_hangs_on_one_row_has_to_be_nearer_the_expected_width(
    heaviest: float, most: int, method: str, least: float
) -> None:
    influence = np.random.default_rng(4).normal(0, 0.1, 100)
    influence[17] = heaviest
    target = Target("a mean loss", (0.0, float(most)))
    default = by_hand(influence=influence, target=target).intervals[0]
    assert default.method == method
    error = (default.high - default.low) / 2 / special.ndtri(0.975)
    for share, reliable in ((0.99, False), (1.01, True)):
        evidence = Evidence("labels", expected_error=error / least / share)
        found = by_hand(influence=influence, target=target, evidence=evidence)
        assert found.reliable == reliable


def test_diagnostics_of_the_weights() -> None:
    """Kish's size, and the variance against that of as many draws with equal chances."""
    rng = np.random.default_rng(5)
    weight, influence = rng.exponential(size=70), rng.normal(0, 0.4, 70)
    found = by_hand(influence=influence, weight=weight)
    assert found.effective_size == pytest.approx(weight.sum() ** 2 / np.sum(weight**2))
    assert found.largest_weight == pytest.approx(weight.max() / weight.sum())
    unit = np.mean(weight * influence**2) - np.mean(weight * influence) ** 2
    assert found.design_effect == pytest.approx(found.standard_error**2 * 70 / unit)
    equal = by_hand()
    assert equal.effective_size == pytest.approx(100)
    assert equal.design_effect == pytest.approx(100 / 99)


def test_the_p_value_goes_with_the_interval() -> None:
    """It is below 5 % if and only if the 95 % interval leaves out what alike systems have."""
    rng = np.random.default_rng(3)
    sample = make_sample(np.ones(40))
    for shift in (0.2, 0.3, 0.36, 0.5):
        influence = rng.normal(size=40)
        influence -= influence.mean()
        for bounds, null in (((-9.0, 9.0), 0.0), ((0.0, math.inf), 1.0)):
            value = null + shift
            target = Target("x", bounds, "a", against="b")
            (found,) = by_weights([target], np.array([value]), influence[:, None], sample,
                                [ENOUGH], 0.95)  # fmt: skip
            default, tested = found.intervals[0], found.significance
            assert (tested.p_value < 0.05) == (default.low > null)
            assert default.method == ("student" if null == 0 else "student, logarithm")


POOL = make_pool(3000, 30, seed=4, positive=0.1, strength=3)


@pytest.mark.parametrize("measure", [FBeta(), Accuracy()], ids=lambda m: m.name)
def test_estimates_are_right_on_average(measure: Measure) -> None:
    """200 samples of rows that have each its own probability: to 4 standard errors."""
    p, rng = POOL.probability[:, 1], np.random.default_rng(1)
    b = np.clip(0.03 + 0.4 * np.sqrt(p * (1 - p)), 0, 1)
    values, errors, held = [], [], 0
    true = POOL.value(measure)
    for _ in range(200):
        rows = np.flatnonzero(rng.random(len(b)) < b)
        (one,) = estimate_from_inclusion(
            measure, POOL.outputs.take(rows), POOL.label[rows], b[rows], 0.9
        )
        values.append(one.value)
        errors.append(one.standard_error)
        held += one.intervals[-1].low <= true <= one.intervals[-1].high
    assert np.mean(values) == pytest.approx(true, abs=4 * np.std(values) / np.sqrt(200))
    assert np.std(values) == pytest.approx(np.mean(errors), rel=0.25)
    assert 0.82 < held / 200 < 0.97


def test_whole_pool_is_exact_and_says_so() -> None:
    certain = np.ones(len(POOL))
    (one,) = estimate_from_inclusion(FBeta(), POOL.outputs, POOL.label, certain)
    assert one.value == pytest.approx(POOL.value(FBeta()))
    assert one.standard_error == 0


def test_correction_subtracts_the_bias() -> None:
    rows = np.arange(0, len(POOL), 7)
    given = POOL.outputs.take(rows), POOL.label[rows], np.full(len(rows), 1 / 7)
    (plain,) = estimate_from_inclusion(FBeta(), *given)
    (corrected,) = estimate_from_inclusion(FBeta(), *given, correct_bias=True)
    assert corrected.value == pytest.approx(plain.value - plain.bias.total)


def test_variance_of_a_stochastic_oracle_counts_rows_that_are_certain() -> None:
    """[Y] eq. 27 without its second term: sum (f - F g)^2 / b^2 over the square of sum g / b."""
    rows = np.arange(0, len(POOL), 5)
    b = np.where(rows % 2, 0.3, 1.0)
    given = POOL.outputs.take(rows), POOL.label[rows], b
    (one,) = estimate_from_inclusion(FBeta(), *given, stochastic=True)
    loss = FBeta().loss(*given[:2])
    residual = (loss[:, 0] - one.value * loss[:, 1]) / b
    wanted = np.sqrt(np.sum(residual**2)) / np.sum(loss[:, 1] / b)
    assert one.standard_error == pytest.approx(wanted)
    (plain,) = estimate_from_inclusion(FBeta(), *given)
    assert plain.standard_error < one.standard_error


@pytest.mark.parametrize(("measure", "average"), [(MacroF, "macro"), (MicroF, "micro")])
def test_twenty_labels_a_row(measure: type[Measure], average: str) -> None:
    """More than an evaluation takes, whose classes are the sets: codes are sums of 2^i."""
    rng = np.random.default_rng(2)
    p = rng.beta(0.4, 1.5, (500, 20))
    f, y = p > 0.35, rng.random((500, 20)) < p
    predicted, label = (flags @ (1 << np.arange(20)) for flags in (f, y))
    outputs = Outputs(predicted[:, None], np.zeros((500, 1)), np.zeros((500, 1, 0)))
    b = rng.uniform(0.2, 1, 500)
    (one,) = estimate_from_inclusion(
        measure(20, sets=Sets(tuple("abcdefghijklmnopqrst"))),
        outputs,
        label,
        b,
        0.9,
        methods=["beta"],
    )
    assert one.value == pytest.approx(f1_score(y, f, average=average, sample_weight=1 / b))
    beta = next(each for each in one.intervals if each.method == "beta")
    assert 0 < one.value - beta.low < 0.1
