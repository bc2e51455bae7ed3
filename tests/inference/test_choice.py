"""Estimates by hand, by numpy, and at the limits of what data allow."""

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import special

from evalsampling import Evaluation
from evalsampling.inference.choice import ASSUMES, NARROW_AND_SYMMETRIC, assumed, by_weights
from evalsampling.inference.class_rates import ClassRates
from evalsampling.inference.evidence import NARROW, Evidence, Gap
from evalsampling.inference.interval_methods import OWN
from evalsampling.inference.intervals import Interval
from evalsampling.inference.results import (
    Estimate,
    Target,
    as_json,
    brief,
    census,
    is_narrow,
    is_significant,
    no_width_because,
    undefined,
    widest_half,
)
from evalsampling.inference.sample import WeightedSample
from evalsampling.inference.significance import Significance
from tests.samplers.pools import make_pool

ENOUGH = Evidence("positives")

METHODS = [name for name in OWN if name != "beta"]
"""Interval methods that are asked for."""


def lacking(positives: int) -> Evidence:
    """Evidence of too few positives."""
    words = f"only {positives} positives seen, fewer than 10"
    return Evidence("positives", Gap("few positives", words))


def make_sample(weight: np.ndarray) -> WeightedSample:
    """One draw of each row."""
    return WeightedSample.with_replacement(np.arange(len(weight)), weight, len(weight))


def estimate_one(
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
        [target],
        np.array([value]),
        influence[:, None],
        make_sample(weight),
        [evidence],
        confidence,
        METHODS,
    )
    return found


def test_standard_error_by_the_delta_method() -> None:
    """At R = (.5, 1) with Dg = (1, -.5): deviations of Dg l from their mean, over 3 x 2."""
    losses = np.array([[1.0, 1.0], [0.0, 2.0], [1.0, 2.0]])
    influence = losses @ np.array([1.0, -0.5])
    found = estimate_one(influence=influence)
    # .5, -1, 0 about -1/6: squares 4/9 + 25/36 + 1/36 = 7/6.
    assert found.standard_error == pytest.approx(math.sqrt(7 / 36), rel=1e-14)
    assert found.value == 0.5
    methods = [i.method for i in found.intervals]
    assert methods == ["korn-graubard", "logit", "wilson", "student", "wald"]
    reach = 1.959963984540054 * math.sqrt(7 / 36)
    assert found.intervals[-1].low == pytest.approx(max(0.5 - reach, 0), rel=1e-14)
    assert found.intervals[-1].high == pytest.approx(min(0.5 + reach, 1), rel=1e-14)


def test_standard_error_of_a_ratio_is_that_of_its_residuals() -> None:
    """Survey formula: the variance of the ratio is that of the mean of w (l1 - G l2) / R2."""
    rng = np.random.default_rng(1)
    weights = rng.exponential(size=80)
    losses = np.stack([rng.random(80) < 0.4, rng.random(80) + 0.5], axis=1).astype(float)
    r1, r2 = (weights[:, None] * losses).mean(axis=0)
    ratio = r1 / r2
    influence = losses @ np.array([1 / r2, -ratio / r2])
    found = estimate_one(ratio, influence, weight=weights, confidence=0.9)
    residuals = weights * (losses[:, 0] - ratio * losses[:, 1]) / r2
    assert found.standard_error == pytest.approx(np.std(residuals, ddof=1) / np.sqrt(80), rel=1e-12)


@pytest.mark.parametrize("rounding", [0.0, 1e-17, 1e-16])
def test_rounding_errors_are_no_variance(rounding: float) -> None:
    """Which last digit linear algebra leaves differs between machines."""
    found = estimate_one(value=1.0, influence=rounding * np.resize([1.0, -1.0], 100))
    assert found.standard_error == 0
    assert (found.design_effect, found.largest_share) == (None, 0.0)


def test_several_components_are_estimated_as_each_alone() -> None:
    rng = np.random.default_rng(2)
    weight, influence = rng.exponential(size=60), rng.normal(0, 0.3, (60, 3))
    targets = [Target("a"), Target("b", (-1.0, 1.0)), Target("c", threshold=0.5)]
    value = np.array([0.3, -0.2, np.nan])
    influence[:, 2] = np.nan
    found = by_weights(targets, value, influence, make_sample(weight), [ENOUGH] * 3, 0.95, METHODS)
    assert [f.target for f in found] == targets
    for i in range(2):
        alone = estimate_one(value[i], influence[:, i], weight=weight, target=targets[i])
        assert found[i].value == alone.value
        assert found[i].standard_error == pytest.approx(alone.standard_error, rel=1e-12)
        assert [i.method for i in found[i].intervals] == [i.method for i in alone.intervals]
        for one, other in zip(found[i].intervals, alone.intervals, strict=True):
            assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9)
    assert found[2].value is None
    assert "c at 0.5 is undefined" in str(found[2].reason)


def test_defaults_of_measures_with_other_bounds() -> None:
    """Fisher's z for correlations, but for a value at a bound; else Student's."""
    found = estimate_one(-0.2, target=Target("mcc", (-1.0, 1.0)))
    assert [i.method for i in found.intervals] == ["logit", "student", "wald"]
    at_bound = estimate_one(1.0, target=Target("mcc", (-1.0, 1.0)))
    assert at_bound.intervals[0].method == "student"
    loss = estimate_one(0.2, target=Target("brier", (0.0, 2.0)))
    assert [i.method for i in loss.intervals] == ["student", "logit", "wald"]
    unbounded = estimate_one(3.0, target=Target("mean", (-math.inf, math.inf)))
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


def assert_whole_range(found: Estimate, word: str) -> None:
    default = found.intervals[0]
    assert (default.low, default.high) == (0, 1)
    assert not found.claims
    assert len(found.warnings) == 1
    assert word in found.warnings[0]


def test_no_draws() -> None:
    found = estimate_one(value=math.nan, weight=np.zeros(0), influence=np.zeros(0))
    assert (found.value, found.standard_error) == (None, None)
    assert found.reason == "no labels yet"
    assert (found.intervals[0].low, found.intervals[0].high) == (0, 1)


def test_undefined_value_is_none_with_a_reason() -> None:
    found = estimate_one(value=math.nan, influence=np.full(100, math.nan))
    assert (found.value, found.standard_error) == (None, None)
    assert found.reason is not None
    assert "0/0" in found.reason
    assert "positives" in found.reason
    assert_whole_range(found, "undefined")


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_zero_variance_claims_nothing(value: float) -> None:
    found = estimate_one(value=value, influence=np.zeros(100))
    assert_whole_range(found, "zero")
    assert found.standard_error == 0
    assert found.value == value
    assert (found.intervals[1].low, found.intervals[1].high) == (value, value)


def test_variance_that_rounding_made_negative_is_zero() -> None:
    """Equal terms: the mean of their squares less the square of their mean, up to rounding."""
    for number in np.random.default_rng(1).random(50):
        found = estimate_one(influence=np.full(90, number))
        assert_whole_range(found, "zero")
        assert found.standard_error == 0


def test_variance_of_rounding_errors_is_zero() -> None:
    """Rows that all agree, each with both losses alike: l1 - G l2 is zero for any weights."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        weights = rng.exponential(size=40)
        r1 = r2 = weights.mean()
        influence = np.ones((40, 2)) @ np.array([1 / r2, -r1 / r2**2])
        found = estimate_one(r1 / r2, influence, weight=weights)
        assert found.value == 1
        assert_whole_range(found, "zero")


def test_a_gap_in_the_evidence_claims_nothing() -> None:
    found = estimate_one(evidence=lacking(3))
    assert_whole_range(found, "only 3 positives")
    assert found.intervals[0].method == "few positives"
    assert found.intervals[-1].method == "wald"
    assert found.intervals[-1].high < 1
    assert found.value == 0.5


def test_enough_evidence_claims_something() -> None:
    found = estimate_one()
    assert found.reliable
    assert found.warnings == ()
    assert 0 < found.intervals[0].low < 0.5 < found.intervals[0].high < 1


def test_whole_range_is_that_of_the_measure() -> None:
    found = estimate_one(value=-0.25, evidence=lacking(1), target=Target("mcc", (-1.0, 1.0)))
    assert (found.intervals[0].low, found.intervals[0].high) == (-1, 1)
    assert found.intervals[-1].low < -0.25


@pytest.mark.parametrize(("value", "cut"), [(1.25, 1), (-0.5, 0)])
def test_value_out_of_range_is_cut_with_a_note(value: float, cut: float) -> None:
    found = estimate_one(value=value)
    assert found.value == cut
    (words,) = found.notes
    assert f"{value:.4g} lies outside its range" in words
    assert 0 <= found.intervals[0].low <= found.intervals[0].high <= 1


def test_interval_that_is_the_whole_range_is_not_to_be_relied_on() -> None:
    """Of a loss from 0 to 2 it came out so, with a width to stop at and no word."""
    target = Target("brier", (0.0, 2.0))
    found = estimate_one(value=0.6, influence=np.tile([-30.0, 30.0], 20), target=target)
    assert (found.low, found.high) == (0, 2)
    assert not found.reliable
    assert widest_half([found]) is None
    assert "whole range of the measure" in found.warnings[0]


def test_row_that_dominates_is_told_but_not_warned_of() -> None:
    """What was met makes the interval wide; what was not is what misleads."""
    influence = np.random.default_rng(4).normal(0, 0.1, 100)
    influence[17] = 10
    found = estimate_one(influence=influence)
    deviation = (influence - influence.mean()) ** 2
    assert found.largest_share == pytest.approx(deviation.max() / deviation.sum(), rel=1e-12)
    assert found.largest_share > 0.9
    assert found.warnings == ()
    assert found.reliable


def test_error_far_below_the_expected_one_is_warned_of() -> None:
    default = estimate_one().intervals[0]
    error = (default.high - default.low) / 2 / special.ndtri(0.975)
    for share, reliable in ((0.99, False), (1.01, True)):
        expected = error / NARROW / share
        found = estimate_one(evidence=Evidence("positives", expected_error=expected))
        assert found.claims
        assert found.reliable == reliable
        assert len(found.warnings) == (not reliable)
    words = "do not rely on it"
    found = estimate_one(evidence=Evidence("positives", expected_error=1e9))
    assert words in found.warnings[0]
    nothing = estimate_one(evidence=dataclasses.replace(lacking(2), expected_error=1e9))
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
    default = estimate_one(influence=influence, target=target).intervals[0]
    assert default.method == method
    error = (default.high - default.low) / 2 / special.ndtri(0.975)
    for share, reliable in ((0.99, False), (1.01, True)):
        evidence = Evidence("labels", expected_error=error / least / share)
        found = estimate_one(influence=influence, target=target, evidence=evidence)
        assert found.reliable == reliable


def test_diagnostics_of_the_weights() -> None:
    """Kish's size, and the variance against that of as many draws with equal chances."""
    rng = np.random.default_rng(5)
    weight, influence = rng.exponential(size=70), rng.normal(0, 0.4, 70)
    found = estimate_one(influence=influence, weight=weight)
    assert found.effective_size == pytest.approx(weight.sum() ** 2 / np.sum(weight**2))
    assert found.largest_weight == pytest.approx(weight.max() / weight.sum())
    unit = np.mean(weight * influence**2) - np.mean(weight * influence) ** 2
    assert found.standard_error is not None
    assert found.design_effect == pytest.approx(found.standard_error**2 * 70 / unit)
    equal = estimate_one()
    assert equal.effective_size == pytest.approx(100)
    assert equal.design_effect == pytest.approx(100 / 99)


def test_undefined_estimates_may_be_warned_of() -> None:
    target = Target("recall", (0.0, 1.0))
    found = undefined(target, 0.9, "no support", "recall had no chance", warn=True)
    assert (found.value, found.standard_error, found.confidence) == (None, None, 0.9)
    assert found.reason == "recall had no chance"
    assert found.intervals[0].method == "no support"
    assert_whole_range(found, "no chance")
    assert undefined(target, 0.9, "no labels", "no labels yet").warnings == ()


def test_census_is_exact() -> None:
    found = census(Target("f1"), 0.25, 0.95, "positives")
    assert (found.value, found.standard_error) == (0.25, 0)
    (interval,) = found.intervals
    assert (interval.low, interval.high, interval.method) == (0.25, 0.25, "census")
    nothing = census(Target("f1", slice="a=b"), math.nan, 0.95, "positives")
    assert nothing.value is None
    assert nothing.reason == "f1 where a=b is undefined (0/0): there are no positives"


def test_title_says_what_the_number_is_about() -> None:
    target = Target("precision", system="new", threshold=0.25, slice="shop=x")
    assert target.title == "precision at 0.25 of new where shop=x"
    assert Target("f1").title == "f1"


def test_json_holds_the_default_interval_and_no_infinity() -> None:
    found = estimate_one(
        3.0, evidence=lacking(2), target=Target("mean", (-math.inf, math.inf), "new", 0.5, "shop=x")
    )
    told = as_json(found)
    json.dumps(told, allow_nan=False)
    assert told["measure"] == "mean"
    assert (told["system"], told["slice"], told["threshold"]) == ("new", "shop=x", 0.5)
    assert told["value"] == 3
    assert (told["low"], told["high"], told["method"]) == (None, None, "few positives")
    assert [i["method"] for i in told["intervals"]] == [i.method for i in found.intervals]
    assert told["intervals"][-1]["low"] == found.intervals[-1].low
    empty = as_json(undefined(Target("f1"), 0.95, "no labels", "no labels yet"))
    json.dumps(empty, allow_nan=False)
    assert (empty["value"], empty["reason"]) == (None, "no labels yet")


def curve(points: int, evidence: int = 3, system: str | None = None) -> list[Estimate]:
    """Points of a precision curve, each with a warning of its own."""
    return [
        estimate_one(
            evidence=lacking(evidence), target=Target("precision", (0.0, 1.0), system, i / 8)
        )
        for i in range(points)
    ]


def test_few_warnings_are_told_in_full() -> None:
    estimates = curve(3)
    assert brief(estimates) == [warning for one in estimates for warning in one.warnings]
    assert brief([]) == []
    assert brief([estimate_one()]) == []


def test_warnings_of_the_points_of_a_curve_are_summed_up() -> None:
    """Those of one kind in one line, whatever numbers are in them; other kinds stay."""
    many = [*curve(20, evidence=3), *curve(5, evidence=7)]
    other = estimate_one(1.25, target=Target("precision", threshold=9.0))
    lone = estimate_one(evidence=lacking(2), target=Target("recall"))
    found = brief([*many, other, lone])
    assert found == [
        many[0].warnings[0] + " (and 24 more of its kind)",
        other.warnings[0],
        lone.warnings[0],
    ]
    assert len(brief(many, most=25)) == 25


def test_a_warning_of_all_points_of_all_curves_is_told_once() -> None:
    estimates = [
        dataclasses.replace(estimate_one(target=Target(name, threshold=i / 8)), warnings=("so",))
        for name in ("precision", "recall")
        for i in range(9)
    ]
    assert brief(estimates) == ["so"]


def test_every_kind_of_warning_is_a_kind_of_its_own() -> None:
    """Undefined, out of range, zero variance, few, dominated: five lines, however many points."""
    kinds = (
        {"value": math.nan},
        {"influence": np.zeros(100)},
        {"evidence": lacking(1)},
        {"evidence": Evidence("positives", expected_error=1e9)},
    )
    estimates = [
        estimate_one(**kind, target=Target("tpr", threshold=i / 16))  # type: ignore[arg-type]
        for i in range(9)
        for kind in kinds
    ]
    found = brief(estimates)
    assert len(found) == 4
    assert all(line.endswith("(and 8 more of its kind)") for line in found)


def of_width(low: float, high: float, reliable: bool = True, slice: str | None = None) -> Estimate:
    """An estimate with an interval."""
    intervals = (Interval(low, high, "design-based", "test"),)
    return Estimate(Target("f1", slice=slice), 0.5, 0.1, 0.95, intervals, reliable=reliable)


@pytest.mark.parametrize(
    ("estimates", "half"),
    [
        ([of_width(0.5, 0.75)], 0.125),
        ([of_width(0.5, 0.75), of_width(0.25, 1.0)], 0.375),
        ([of_width(0.5, 0.75), of_width(0.0, 1.0, slice="city=Bern")], 0.125),
        ([of_width(0.5, 0.75, reliable=False)], None),
        ([of_width(0.5, 0.5)], 0.0),
        ([of_width(0.5, math.inf)], None),
        ([of_width(math.nan, math.nan)], None),
        ([of_width(0.5, 0.75), of_width(-math.inf, math.inf)], None),
    ],
)
def test_the_widest_interval_on_the_whole_pool(
    estimates: list[Estimate], half: float | None
) -> None:
    assert widest_half(estimates) == half


def compared(anytime: float | None, fixed: float | None, **changes: Any) -> Estimate:
    """A comparison with p-values."""
    one = of_width(-0.1, 0.1)
    target = dataclasses.replace(one.target, system="a", against="b", **changes)
    return dataclasses.replace(one, target=target, significance=Significance(fixed, anytime))


@pytest.mark.parametrize(
    ("estimates", "anytime", "enough"),
    [
        ([compared(0.01, 0.2)], True, True),
        ([compared(0.01, 0.2)], False, False),
        ([compared(0.2, 0.01)], False, True),
        ([compared(None, 0.01)], True, False),
        ([of_width(0, 1), compared(0.01, 0.2)], True, True),
        ([compared(0.01, 0.2), compared(0.3, 0.2)], True, False),
        ([compared(0.01, 0.2), compared(0.3, 0.2, slice="city=Bern")], True, True),
        ([compared(0.01, 0.2), compared(0.3, 0.2, measure="recall")], True, True),
        ([of_width(0, 1)], True, False),
    ],
)
def test_significant_comparisons_of_the_first_measure(
    estimates: list[Estimate], anytime: bool, enough: bool
) -> None:
    assert is_significant(estimates, 0.05, anytime) == enough
    assert not is_significant(estimates, None, anytime)


def test_comparisons_stop_no_evaluation_of_the_systems_themselves() -> None:
    assert widest_half([of_width(0.5, 0.75), compared(0.5, 0.5)]) == 0.125
    assert widest_half([compared(0.5, 0.5)]) == pytest.approx(0.1)


def test_null_values_and_titles_of_comparisons() -> None:
    target = Target("f1", (-1.0, 1.0), "new", against="old", slice="city=Bern")
    assert (target.null, Target("ratio(f1)", (0.0, math.inf), "new", against="old").null) == (0, 1)
    assert Target("f1").null is None
    assert target.title == "f1 of new against old where city=Bern"


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
            assert tested is not None
            assert tested.p_value is not None
            assert (tested.p_value < 0.05) == (default.low > null)
            assert default.method == ("student" if null == 0 else "student, logarithm")


def test_without_an_estimate_on_the_whole_pool_there_is_no_width() -> None:
    of_slice = dataclasses.replace(estimate_one(), target=Target("f1", slice="city=Ulm"))
    for estimates in ([], [of_slice]):
        assert widest_half(estimates) is None
        assert no_width_because(estimates) == "nothing is estimated on the whole pool"
        assert not is_narrow(estimates, 1.0)
    assert no_width_because([estimate_one()]) is None


@pytest.mark.parametrize("rounding", [1e-20, -1e-20, 1e-16, 0.0])
def test_a_tie_but_for_rounding_is_a_tie(rounding: float) -> None:
    """Both systems are right equally often, and every row that they differ in has a label."""
    target = Target("f1", (-1.0, 1.0), system="new", against="old")
    found = census(target, rounding, 0.95, "positives")
    assert found.value == 0.0
    assert found.significance == Significance(1.0, 1.0, 0.5)
    assert census(target, 1e-6, 0.95, "positives").significance == Significance(0.0, 0.0, 1.0)


def test_every_kind_that_an_estimate_has_says_what_it_rests_on() -> None:
    pool = make_pool(2000, 12, seed=3, positive=0.05, strength=3)
    score, label = pool.probability[:, 1], pool.label
    evaluation = Evaluation.from_frame(
        {"score": score, "says": score > 0.5}, score="score", prediction="says", seed=1
    )
    ids = evaluation.sample(100)
    evaluation.label(ids, label[ids])
    (one,) = evaluation.estimate()
    assert set(assumed(one.intervals)) == {interval.kind for interval in one.intervals}


def test_kinds_come_in_one_order_and_others_are_left_out() -> None:
    kinds = ["design-based", "simultaneous", "model-based"]
    intervals = [Interval(0, 1, kind, "any") for kind in kinds]
    assert list(assumed(intervals)) == ["model-based", "design-based"]
    assert assumed([]) == {}
    assert all(ASSUMES.values())


def test_no_score_is_named_where_there_is_none() -> None:
    of_strata = assumed([Interval(0, 1, "model-based", ClassRates.method)])["model-based"]
    assert "predicted alike" in of_strata
    assert "rises with the score" not in of_strata
