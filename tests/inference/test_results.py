"""Estimates in words and JSON, brought together, and what they rest on."""

import dataclasses
import json
import math
from typing import Any

import pytest

from evalsampling import Evaluation
from evalsampling.inference.intervals import STRATUM_RATES, Interval, whole_range
from evalsampling.inference.results import (
    ASSUMES,
    Estimate,
    Target,
    as_json,
    assumed,
    brief,
    census,
    is_narrow,
    is_significant,
    no_width_because,
    place_of,
    undefined,
    widest_half,
)
from evalsampling.inference.significance import Significance
from tests.samplers.pools import make_pool


def of_width(low: float, high: float, reliable: bool = True, **of: Any) -> Estimate:
    """An estimate with an interval."""
    intervals = (Interval(low, high, "design-based", "test"),)
    return Estimate(Target("f1", **of), 0.5, 0.1, 0.95, intervals, reliable=reliable)


def compared(anytime: float | None, fixed: float | None, **of: Any) -> Estimate:
    """A comparison with p-values."""
    target = Target(**{"measure": "f1", "system": "a", "against": "b", **of})
    tested = Significance(fixed, anytime)
    return dataclasses.replace(of_width(-0.1, 0.1), target=target, significance=tested)


def test_titles_and_null_values() -> None:
    precision = Target("precision", system="new", threshold=0.25, slice="shop=x")
    assert precision.title == "precision at 0.25 of new where shop=x"
    f1 = Target("f1", (-1.0, 1.0), "new", against="old", slice="city=Bern")
    assert f1.title == "f1 of new against old where city=Bern"
    assert (Target("f1").title, Target("f1").null, f1.null) == ("f1", None, 0)
    assert Target("ratio(f1)", (0.0, math.inf), "new", against="old").null == 1


def test_undefined_estimates_may_be_warned_of() -> None:
    found = undefined(Target("recall"), 0.9, "no support", "recall had no chance", warn=True)
    assert (found.value, found.standard_error, found.confidence) == (None, None, 0.9)
    assert (found.reason, found.warnings) == ("recall had no chance", ("recall had no chance",))
    assert found.intervals == (whole_range((0.0, 1.0), "no support"),)
    assert not found.claims
    assert undefined(Target("recall"), 0.9, "no labels", "no labels yet").warnings == ()


@pytest.mark.parametrize("rounding", [1e-20, -1e-20, 1e-16, 0.0])
def test_a_tie_but_for_rounding_is_a_tie(rounding: float) -> None:
    """Both systems are right equally often, and every row that they differ in has a label."""
    target = Target("f1", (-1.0, 1.0), system="new", against="old")
    found = census(target, rounding, 0.95, "positives")
    assert found.value == 0.0
    assert found.significance == Significance(1.0, 1.0, 0.5)
    assert census(target, 1e-6, 0.95, "positives").significance == Significance(0.0, 0.0, 1.0)


def test_census_is_exact() -> None:
    found = census(Target("f1"), 0.25, 0.95, "positives")
    assert (found.value, found.standard_error) == (0.25, 0)
    (interval,) = found.intervals
    assert (interval.low, interval.high, interval.method) == (0.25, 0.25, "census")
    nothing = census(Target("f1", slice="a=b"), math.nan, 0.95, "positives")
    assert nothing.value is None
    assert nothing.reason == "f1 where a=b is undefined (0/0): there are no positives"


def test_json_holds_the_default_interval_and_no_infinity() -> None:
    target = Target("mean", (-math.inf, math.inf), "new", 0.5, "shop=x")
    beside = Interval(1.0, 5.0, "design-based", "wald")
    told = as_json(
        Estimate(target, 3.0, 1.0, 0.95, (whole_range(target.bounds, "few positives"), beside))
    )
    json.dumps(told, allow_nan=False)
    assert told["measure"] == "mean"
    assert (told["system"], told["slice"], told["threshold"]) == ("new", "shop=x", 0.5)
    assert told["value"] == 3
    assert (told["low"], told["high"], told["method"]) == (None, None, "few positives")
    assert [i["method"] for i in told["intervals"]] == ["few positives", "wald"]
    assert told["intervals"][-1]["low"] == 1.0
    empty = as_json(undefined(Target("f1"), 0.95, "no labels", "no labels yet"))
    json.dumps(empty, allow_nan=False)
    assert (empty["value"], empty["reason"]) == (None, "no labels yet")


def warned(words: str, **of: Any) -> Estimate:
    """An estimate with a warning that begins with its title."""
    one = of_width(0.0, 1.0, reliable=False, **of)
    return dataclasses.replace(one, warnings=(f"{one.target.title}: {words}",))


def test_few_warnings_are_told_in_full() -> None:
    estimates = [warned("only 3 positives", threshold=i / 8) for i in range(3)]
    assert brief(estimates) == [warning for one in estimates for warning in one.warnings]
    assert brief([of_width(0.2, 0.4)]) == brief([]) == []


def test_warnings_of_the_points_of_a_curve_are_summed_up() -> None:
    """Those of one kind in one line, whatever numbers are in them; other kinds stay."""
    many = [warned(f"only {3 + i % 5} positives", threshold=i / 8) for i in range(25)]
    other, lone = warned("its interval is 0.1 wide", threshold=9.0), warned("only 2 positives")
    lone = dataclasses.replace(lone, target=Target("recall"))
    assert brief([*many, other, lone]) == [
        many[0].warnings[0] + " (and 24 more of its kind)",
        other.warnings[0],
        lone.warnings[0],
    ]
    assert len(brief(many, most=25)) == 25


NOTHING = (([], None), ([of_width(0.2, 0.4, slice="city=Ulm")], None))


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
        *NOTHING,
    ],
)
def test_the_widest_interval_on_the_whole_pool(
    estimates: list[Estimate], half: float | None
) -> None:
    assert widest_half(estimates) == half
    assert (no_width_because(estimates) is None) == (half is not None)
    assert is_narrow(estimates, 0.3) == (half is not None and half <= 0.3)
    if (estimates, half) in NOTHING:
        assert no_width_because(estimates) == "nothing is estimated on the whole pool"


def test_comparisons_stop_no_evaluation_of_the_systems_themselves() -> None:
    assert widest_half([of_width(0.5, 0.75), compared(0.5, 0.5)]) == 0.125
    assert widest_half([compared(0.5, 0.5)]) == pytest.approx(0.1)


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
    of_strata = assumed([Interval(0, 1, "model-based", STRATUM_RATES)])["model-based"]
    assert "predicted alike" in of_strata
    assert "rises with the score" not in of_strata


def test_a_warning_of_all_points_of_all_curves_is_told_once() -> None:
    one = dataclasses.replace(of_width(0.0, 1.0), warnings=("so",))
    names = [Target(name, threshold=i / 8) for name in ("precision", "recall") for i in range(9)]
    assert brief([dataclasses.replace(one, target=target) for target in names]) == ["so"]


def test_a_number_is_found_by_what_sentences_call_it() -> None:
    """Case and blanks matter only where they tell numbers apart."""
    targets = [
        Target("roc_auc", (0, 1)),
        Target("f1", (0, 1), system="new"),
        Target("f1", (0, 1), system="new", slice="city=DE"),
        Target("f1", (0, 1), system="new", slice="city=de"),
    ]
    names = ["ROC AUC", "F1 of new", "F1", "f1 of new where city=de"]
    assert [place_of(name, targets) for name in names] == [0, 1, 1, 3]
    with pytest.raises(KeyError, match="2 estimates are called 'F1 of new where city=De'"):
        place_of("F1 of new where city=De", targets)
