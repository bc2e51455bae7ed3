"""What pictures show: marks where the numbers are, figures in words."""

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from evalsampling.parts.records import read_record
from evalsampling.report.charts import (
    MOST_PANELS,
    band_name,
    calibration_chart,
    convergence_chart,
    curve_chart,
    effort_chart,
    interval_rows,
)
from evalsampling.report.facts import Facts
from evalsampling.report.numbers import Number
from evalsampling.report.score_curves import curves_of
from evalsampling.report.svg import Picture
from tests.report.contents import band, number, twin


def elements(picture: Picture, name: str, kind: str = "") -> list[dict[str, str]]:
    root = ET.fromstring(picture.svg)
    found = [one.attrib for one in root.iter(f"{{http://www.w3.org/2000/svg}}{name}")]
    return [one for one in found if kind in one.get("class", "")]


def texts(picture: Picture) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture.element())


def of(*args: Any, **told: Any) -> Number:
    return read_record(Number, number(*args, **told))


def rows_of(*numbers: Number, neutral: float | None = None) -> Picture:
    return interval_rows([(one.title, one) for one in numbers], "Title", neutral)


def test_marks_are_where_the_numbers_are() -> None:
    """Places are in proportion: beside a number whose interval is all of the axis."""
    ends = ((0.0, 1.0), (0.25, 0.75))
    picture = rows_of(*(of("f1", 0.5, low=low, high=high) for low, high in ends))
    [all_of_it, bar] = elements(picture, "rect", "f-accent")
    [_, dot] = elements(picture, "circle")
    first, width = float(all_of_it["x"]), float(all_of_it["width"])
    assert float(bar["x"]) == pytest.approx(first + width / 4, abs=0.1)
    assert float(bar["width"]) == pytest.approx(width / 2, abs=0.1)
    assert float(dot["cx"]) == pytest.approx(first + width / 2, abs=0.1)
    assert "0.50 (0.25 to 0.75)" in texts(picture)


def test_rows_say_what_they_cannot_show() -> None:
    shown = texts(
        rows_of(
            of("f1", 0.8, low=0.0, high=1.0, method="few positives"),
            of("recall", None, reason="0/0"),
            of("accuracy", 0.75, low=0.75, high=0.75, method="census"),
        )
    )
    assert {"0.800, no claim", "undefined", "0.750, exact"} <= set(shown)


def test_long_names_take_two_lines() -> None:
    names = ("Difference in recall of gbm against rf", "F1 of gbm")
    shown = texts(interval_rows([(name, of("f1", 0.8)) for name in names], "Title"))
    assert {"Difference in recall of", "gbm against rf", "F1 of gbm"} <= set(shown)


def test_what_is_undefined_stretches_no_axis() -> None:
    picture = rows_of(of("f1"), of("log_loss", None, low=0.0, high=20.0))
    assert "1" in texts(picture)
    assert "20" not in texts(picture)


def test_differences_have_a_line_at_zero() -> None:
    picture = rows_of(of("f1", 0.05, low=-0.02, high=0.12, system="a", against="b"), neutral=0.0)
    [zero] = elements(picture, "line", "s-ink")
    [dot] = elements(picture, "circle")
    assert float(zero["x1"]) < float(dot["cx"])
    lines = elements(picture, "line")
    assert len({(one["y1"], one["y2"]) for one in lines}) == 1, "as long as those of the axis"


def test_convergence_goes_from_left_to_right_with_a_panel_for_each_number() -> None:
    numbers = [[of("f1", v), of("recall", None), of("precision", v)] for v in (0.3, 0.6, 0.5)]
    picture = convergence_chart([10, 20, 40], numbers)
    dots = elements(picture, "circle")
    assert len(dots) == 6
    across = [float(one["cx"]) for one in dots[:3]]
    assert across[2] - across[1] == pytest.approx(2 * (across[1] - across[0]), abs=0.2)
    down = [float(one["cy"]) for one in dots[:3]]
    assert down[1] < down[2] < down[0]
    assert "Recall" not in texts(picture)
    many = [[of("f1", system=str(place)) for place in range(20)]]
    assert len(elements(convergence_chart([10], many), "circle")) == MOST_PANELS


def bands(**told: Any) -> Facts:
    four = [band(place, **told) for place in range(4)]
    return Facts.from_json(twin(bands=[{"label": "1", "bands": four}]))


def test_bands_are_drawn_in_proportion_the_highest_scores_on_top() -> None:
    told = [band(0, rows=300, labelled=10), band(1, rows=100, labelled=30)]
    [labelled] = Facts.from_json(twin(bands=[{"label": "1", "bands": told}])).bands
    picture = effort_chart(labelled.bands)
    _legend, *pool = [float(one["width"]) for one in elements(picture, "rect", "f-grey")]
    _legend, *spent = [float(one["width"]) for one in elements(picture, "rect", "f-accent")]
    assert pool[1] == pytest.approx(3 * pool[0], abs=0.2)
    assert spent[0] == pytest.approx(3 * spent[1], abs=0.2)
    assert spent[0] == pytest.approx(pool[1], abs=0.2)
    assert {"30 labels, 75 %", "100 rows, 25 %"} <= set(texts(picture))


def test_calibration_shows_score_labels_and_model() -> None:
    [labelled] = bands().bands
    picture = calibration_chart(labelled)
    assert len(elements(picture, "circle")) == 1 + 4
    assert len(elements(picture, "rect", "f-tint")) == 1 + 4
    assert "3 of 10" in texts(picture)
    [labelled] = bands(observed=None, labelled=0, model=None).bands
    picture = calibration_chart(labelled)
    assert len(elements(picture, "circle")) == 1
    assert elements(picture, "rect", "f-tint") == []
    assert texts(picture).count("no labels") == 4
    assert "score says" in texts(picture)


def test_an_order_says_nothing_of_rates() -> None:
    [labelled] = bands(prior=None).bands
    picture = calibration_chart(labelled)
    assert len(elements(picture, "circle")) == 1 + 4
    assert "score says" not in texts(picture)
    assert "expected" not in picture.description


@pytest.mark.parametrize(
    ("told", "name"),
    [({}, "2 to 3"), ({"low": None}, "below 3"), ({"high": None}, "2 and above"),
     ({"low": -2.5}, "\N{MINUS SIGN}2.5 to 3"),
     ({"low": None, "high": None}, "leaves 20 to 29"),
     ({"low": None, "high": None, "last_leaf": 20}, "leaf 20")],
)  # fmt: skip
def test_bands_are_called_by_their_scores_if_these_are_known(
    told: dict[str, Any], name: str
) -> None:
    [one] = Facts.from_json(twin(bands=[{"label": "1", "bands": [band(2, **told)]}])).bands
    assert band_name(one.bands[0]) == name


def curve_of(name: str, values: list[tuple[float | None, float | None]], **told: Any) -> Any:
    along, up = {
        "pr_curve": ("recall", "precision"),
        "roc_curve": ("false_positive_rate", "true_positive_rate"),
    }[name]
    [curve] = curves_of(
        [
            of(f"{name}.{word}", value, threshold=float(place), **told)
            for place, pair in enumerate(values)
            for word, value in zip((along, up), pair, strict=True)
        ]
    )
    return curve


def test_curves_have_an_area_and_a_line() -> None:
    curve = curve_of("pr_curve", [(1.0, 0.2), (0.9, 0.6), (0.5, 0.95), (None, None)])
    picture = curve_chart(curve)
    assert len(elements(picture, "path", "f-tint")) == 1
    assert len(elements(picture, "path", "s-accent")) == 3
    assert "Precision-recall" in picture.title


def test_roc_curves_and_those_defined_nowhere_are_drawn() -> None:
    assert "ROC" in curve_chart(curve_of("roc_curve", [(1.0, 1.0), (0.1, 0.8)])).title
    nowhere = curve_chart(curve_of("pr_curve", [(None, None)], reason="no labels"))
    assert nowhere.description == "undefined everywhere"
