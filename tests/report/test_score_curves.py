"""Curves put together from the numbers of their points."""

from evalsampling.parts.records import read_record
from evalsampling.report.numbers import Number
from evalsampling.report.score_curves import curves_of
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


def test_curves_are_told_apart_by_system_and_those_of_slices_left_out() -> None:
    numbers = [*pr_curve(system="b"), *pr_curve(system="a"), *pr_curve(slice="city=Bern"),
               read_record(Number, number("f1"))]  # fmt: skip
    curves = curves_of(numbers)
    assert [(one.name, one.system) for one in curves] == [("pr_curve", "b"), ("pr_curve", "a")]
    assert [point.threshold for point in curves[0].points] == [0.2, 0.5, 0.8]


def test_half_a_curve_is_none() -> None:
    assert curves_of([one for one in pr_curve() if one.measure.endswith("recall")]) == []
