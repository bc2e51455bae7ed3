"""Estimates in plain words."""

import math
import re

import pytest

from evalsampling.evaluation.statement import stated, statement
from evalsampling.inference.assumption_light import AssumptionLight
from evalsampling.inference.breakdown import Breakdown
from evalsampling.inference.intervals import Interval
from evalsampling.inference.outlook import Outlook
from evalsampling.inference.results import Estimate, Target, census, undefined
from evalsampling.inference.significance import Significance

MODEL, DESIGN = ("model-based", "calibration-curve"), ("design-based", "korn-graubard")
PART = Breakdown(0.5874, 0.1, 971_234, 310, 24_321, 0.95)


def of(  # type: ignore[no-untyped-def]
    value: float, low: float, high: float, kind=MODEL, target: Target | None = None, **keys
) -> Estimate:
    return Estimate(
        target or Target("f1"), value, 0.05, 0.95, (Interval(low, high, *kind),), **keys
    )


def test_positives_that_were_not_met_are_named_where_they_make_the_width() -> None:
    estimate = of(
        0.704,
        0.384,
        0.801,
        without_unmet=Interval(0.612, 0.808, *MODEL),
        outlook=Outlook(0.05, 4987),
        light=AssumptionLight(Interval(0.1, 0.9, "assumption-light", "betting"), breakdown=PART),
    )
    assert statement(estimate) == (
        "F1 0.70 (0.38 to 0.80). The low end allows for positives that score lower than every "
        "labelled positive; without them it is 0.61 to 0.81. For ± 0.05 expect about 5,000 "
        "labels. With 95 % confidence it is at least 0.58, unless more than 10 % of all positives "
        "are among the "
        "971,234 rows that score lower (310 have a label). To rule that out takes about 24,000 "
        "labels there."
    )


def test_nothing_is_said_of_them_where_they_do_not() -> None:
    estimate = of(
        0.704,
        0.604,
        0.801,
        without_unmet=Interval(0.65, 0.808, *MODEL),
        outlook=Outlook(0.05, 1987),
        light=AssumptionLight(Interval(0.1, 0.9, "assumption-light", "betting"), breakdown=PART),
    )
    assert statement(estimate) == "F1 0.70 (0.60 to 0.80). For ± 0.05 expect about 2,000 labels."


def test_a_breakdown_that_says_no_more_than_the_interval_is_left_out() -> None:
    light = AssumptionLight(Interval(0.1, 0.9, "assumption-light", "betting"), breakdown=PART)
    aside = Interval(0.75, 0.808, *MODEL)
    assert "unless" not in statement(of(0.7, 0.588, 0.8, without_unmet=aside, light=light))
    assert "unless" in statement(of(0.7, 0.5, 0.8, without_unmet=aside, light=light))


def test_where_no_affordable_number_of_labels_helps_it_says_what_would() -> None:
    estimate = stated(of(0.7, 0.5, 0.9), 500, 10**6, goal=0.01)
    assert estimate.outlook == Outlook(0.01, None)
    assert "No affordable number of labels makes it ± 0.01" in estimate.statement
    assert "a second score or a machine's labels would" in estimate.statement


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (census(Target("recall"), 0.9125, 0.95, "positives"), "Recall is exactly 0.912: every row"),
        (
            undefined(Target("recall"), 0.95, "no labels", "no labelled row where a=b"),
            "Recall cannot be estimated: no labelled row where a=b.",
        ),
        (
            of(1.5, 0.9, math.inf, DESIGN, Target("log_loss", (0.0, math.inf))),
            "Log loss 1.500; how far off it is, is not known.",
        ),
        (of(0.8, 0.0, 1.0, DESIGN), "F1 0.80, but the labels allow no claim yet"),
        (
            of(0.8, 0.7, 0.9, DESIGN, Target("f1", system="new", slice="country=DE")),
            "F1 of new where country=DE 0.80 (0.70 to 0.90).",
        ),
        (
            of(-3.25, -5.0, -1.5, DESIGN, Target("mean_error", (-math.inf, math.inf))),
            "Mean error \N{MINUS SIGN}3.25 (\N{MINUS SIGN}5.00 to \N{MINUS SIGN}1.50).",
        ),
    ],
)
def test_other_estimates(estimate: Estimate, words: str) -> None:
    assert statement(estimate).startswith(words)


def test_a_comparison_has_its_test_and_its_chance() -> None:
    target = Target("difference(f1)", (-1.0, 1.0), system="new", against="old")
    tested = Significance(0.0123, chance_above=0.987)
    estimate = of(0.052, 0.011, 0.093, DESIGN, target, significance=tested)
    assert statement(estimate) == (
        "Difference in F1 of new against old 0.052 (0.011 to 0.093). The chance that new is higher "
        "is 0.99. The p-value of no difference is 0.012."
    )


def test_chances_and_p_values_near_their_ends_are_not_called_certain() -> None:
    target = Target("accuracy", (-1.0, 1.0), system="new", against="old")
    tested = Significance(1e-12, chance_above=0.99998)
    estimate = of(0.052, 0.011, 0.093, DESIGN, target, significance=tested)
    assert statement(estimate) == (
        "Difference in accuracy of new against old 0.052 (0.011 to 0.093). The chance that new is "
        "higher is above 0.99. The p-value of no difference is below 0.0001."
    )


def test_intervals_that_are_not_reliable_have_no_outlook() -> None:
    assert stated(of(0.7, 0.6, 0.8), 500, 10**6, None).outlook is not None
    assert stated(of(0.7, 0.6, 0.8, reliable=False), 500, 10**6, None).outlook is None
    point = of(0.7, 0.6, 0.8, target=Target("precision", threshold=1.0))
    assert stated(point, 500, 10**6, None).outlook is None


def test_numbers_of_a_statement_are_fields() -> None:
    """Every number in a sentence is one of the estimate's, rounded."""
    estimate = of(
        0.704, 0.384, 0.801, without_unmet=Interval(0.612, 0.808, *MODEL),
        outlook=Outlook(0.05, 4987),
    )  # fmt: skip
    numbers = re.findall(r"\d+\.\d+|\d[\d,]*", statement(estimate).replace("F1", "", 1))
    fields = {0.70, 0.38, 0.80, 0.61, 0.81, 0.05, 5000.0}
    assert {float(number.replace(",", "")) for number in numbers} == fields
