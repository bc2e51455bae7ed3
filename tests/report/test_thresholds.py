"""Thresholds to pick from."""

import pytest

from evalsampling.parts.records import read_record
from evalsampling.report.numbers import Number
from evalsampling.report.thresholds import cheapest, curves_of
from tests.report.contents import number

POINTS = {
    # threshold: true positives and false positives among 10 positives.
    0.2: (10, 30),
    0.5: (9, 6),
    0.8: (6, 0),
}


def pr_curve(points: dict[float, tuple[int, int]] = POINTS, **told: object) -> list[Number]:
    return [
        read_record(Number, number(f"pr_curve.{word}", value, threshold=threshold, **told))
        for threshold, (hits, false) in points.items()
        for word, value in [
            ("precision", hits / (hits + false) if hits + false else None),
            ("recall", hits / 10),
        ]
    ]


@pytest.mark.parametrize("cost", [0.1, 0.5, 1, 3, 5, 10, 50])
def test_the_cheapest_is_that_of_counting_errors(cost: float) -> None:
    [curve] = curves_of(pr_curve())
    [choice] = cheapest(curve, costs=[cost])
    counted = {t: (false + cost * (10 - hits)) / 10 for t, (hits, false) in POINTS.items()}
    assert choice.point.threshold == min(counted, key=counted.__getitem__)
    assert choice.cost == pytest.approx(min(counted.values()))


@pytest.mark.parametrize("cost", [0.1, 1, 5, 50])
def test_roc_curves_count_errors_by_the_share_of_positives(cost: float) -> None:
    """The same 10 positives among 200 rows: the same thresholds, at the same cost."""
    rates = {"true_positive_rate": 10, "false_positive_rate": 190}
    numbers = [
        read_record(Number, number(f"roc_curve.{word}", count / of, threshold=threshold))
        for threshold, pair in POINTS.items()
        for count, (word, of) in zip(pair, rates.items(), strict=True)
    ]
    [roc], [pr] = curves_of(numbers), curves_of(pr_curve())
    [by_roc], [by_pr] = cheapest(roc, 10 / 200, [cost]), cheapest(pr, costs=[cost])
    assert by_roc.point.threshold == by_pr.point.threshold
    assert by_roc.cost == pytest.approx(by_pr.cost)
    assert cheapest(roc) == cheapest(roc, 0.0) == [], "nothing is known without the share"


def test_the_dearer_a_miss_the_lower_the_threshold() -> None:
    [curve] = curves_of(pr_curve())
    picked = [one.point.threshold for one in cheapest(curve)]
    assert picked == sorted(picked, reverse=True)
    assert picked[0] == 0.8
    assert picked[-1] == 0.2


def test_of_equal_ones_the_highest_is_taken() -> None:
    [curve] = curves_of(pr_curve({0.1: (9, 6), 0.5: (9, 6)}))
    assert {one.point.threshold for one in cheapest(curve)} == {0.5}


def test_points_without_a_value_or_a_hit_are_passed_over() -> None:
    [curve] = curves_of(pr_curve({0.5: (9, 6), 0.8: (0, 0), 0.9: (0, 5)}))
    assert {one.point.threshold for one in cheapest(curve, costs=[0.01])} == {0.5}
    [curve] = curves_of(pr_curve({0.9: (0, 5)}))
    assert cheapest(curve) == []


def test_curves_are_told_apart_by_system_and_those_of_slices_left_out() -> None:
    numbers = [*pr_curve(system="b"), *pr_curve(system="a"), *pr_curve(slice="city=Bern"),
               read_record(Number, number("f1"))]  # fmt: skip
    curves = curves_of(numbers)
    assert [(one.name, one.system) for one in curves] == [("pr_curve", "b"), ("pr_curve", "a")]
    assert [point.threshold for point in curves[0].points] == [0.2, 0.5, 0.8]


def test_half_a_curve_is_none() -> None:
    assert curves_of([one for one in pr_curve() if one.measure.endswith("recall")]) == []
