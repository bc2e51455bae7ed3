"""Numbers as a reader sees them, and their CSV."""

import csv
import io

import pytest

from evalsampling.parts.records import read_record
from evalsampling.report.numbers import (
    COLUMNS,
    Number,
    as_csv,
    compared,
    decimals,
    percent,
    pretty,
    shown,
    shown_range,
    two_digits,
)
from tests.report.contents import number, twin


@pytest.mark.parametrize(
    ("low", "high", "digits"),
    [(0.1, 0.9, 2), (0.5, 0.6, 2), (0.5, 0.55, 3), (0.5, 0.502, 4), (0.5, 0.50001, 4),
     (0.5, 0.5, 3), (-0.0013, -0.0013, 4), (0.0, 0.0, 3), (None, 1.0, 3), (0.0, 25.0, 2)],
)  # fmt: skip
def test_two_figures_of_an_interval_are_shown(
    low: float | None, high: float | None, digits: int
) -> None:
    assert decimals(low, high) == digits


def test_two_digits_without_an_exponent() -> None:
    values = [0.2613, 5.0, 5.94, 94.6, 99.7, 127.0, 0.0]
    assert [*map(two_digits, values)] == ["0.26", "5", "5.9", "95", "100", "130", "0"]


def test_a_share_below_1_is_not_said_to_be_1() -> None:
    """By the labels alone an accuracy of 0.9991 "may be 1", where it was 0.9973."""
    values = [0.985, 0.996, 0.9973, 0.99949, 1.0]
    assert [*map(two_digits, values)] == ["0.98", "0.996", "0.9973", "0.99949", "1"]


def test_numbers_are_shown_with_a_true_minus_and_never_as_minus_zero() -> None:
    assert shown(-0.25, 2) == "\N{MINUS SIGN}0.25"
    assert shown(-0.0001, 2) == "0.00"
    assert shown(12345.6, 1) == "12,345.6"
    assert shown(None) == "-"
    assert shown_range(0.1, None, 2) == "0.10 to -"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (0.00012, "0.012 %"), (0.0912, "9.1 %"), (0.456, "46 %"), (0.9949, "99.5 %"),
     (0.9996, "100 %"), (1.0, "100 %")],
)  # fmt: skip
def test_shares_are_shown_in_percent(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("method", "claims"),
    [("calibration-curve", True), ("korn-graubard", True), ("census", True),
     ("few positives", False), ("no false negative", False), ("zero variance", False),
     ("no labels", False)],
)  # fmt: skip
def test_an_interval_claims_something_unless_its_method_says_why_not(
    method: str, claims: bool
) -> None:
    assert read_record(Number, number("f1", method=method)).claims is claims


def test_names_for_sentences() -> None:
    def name(measure: str, **told: object) -> str:
        return pretty(read_record(Number, number(measure, **told)))

    assert name("f1") == "F1"
    assert name("average_precision", system="new") == "Average precision of new"
    assert name("f_beta(beta=2)") == "F_beta(beta=2)"
    assert name("recall", system="new", against="old") == "Recall of new against old"
    assert name("class_f1[a [b]]", system="new") == "F1 for a [b] of new"
    assert name("class_recall[toxic]") == "Recall for toxic"
    assert name("class_recall") == "Recall for each class"
    two = {"system": "new", "against": "old"}
    assert name("ratio(f1)", **two) == "Ratio of F1 of new against old"
    assert name("difference(dcg@5)", **two) == "Difference in DCG@5 of new against old"
    assert name("roc_auc(positive=a)") == "ROC AUC(positive=a)"
    assert name("difference(accuracy)", **two) == "Difference in accuracy of new against old"
    assert compared("mse of new_one against old") == "MSE of new_one against old"
    assert compared("class_recall[a of b]") == "Recall for a of b"
    of_recall = "Ratio of recall(g=u) by w of new against old"
    assert compared("ratio(recall(g=u) by w) of new against old") == of_recall


def test_the_first_interval_of_a_kind_is_found() -> None:
    kinds = ("model-based", "design-based", "design-based")
    ends = [{"low": place / 10, "high": 0.9, "kind": kind, "method": "any"}
            for place, kind in enumerate(kinds)]  # fmt: skip
    one = read_record(Number, number("f1", intervals=ends))
    found = one.of_kind("design-based")
    assert (found.low, found.high) == (0.1, 0.9)
    assert one.of_kind("simultaneous") is None
    assert one.band is None


def test_the_band_is_the_model_based_one_if_there_is_one() -> None:
    of_draws = {"low": 0.1, "high": 0.9, "kind": "simultaneous", "method": "bootstrap"}
    combined = {"low": 0.2, "high": 0.8, "kind": "model-based",
                "method": "calibration-curve, simultaneous"}  # fmt: skip
    for intervals, low in (([of_draws], 0.1), ([of_draws, combined], 0.2)):
        band = read_record(Number, number("pr_curve.recall", intervals=intervals)).band
        assert band.low == low


def lines_of(content: dict[str, object]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(as_csv(content))))


def test_each_number_is_a_line_with_all_its_digits() -> None:
    odd = number("f1", 1 / 3, system='a, "b"\nc', slice="city=é")
    [line, other] = lines_of(twin(odd, number("recall", None)))
    assert list(line) == list(COLUMNS)
    assert float(line["value"]) == 1 / 3
    assert (line["system"], line["slice"]) == ('a, "b"\nc', "city=é")
    assert (line["round"], line["labels"], line["latest"]) == ("2", "40", "true")
    assert (other["value"], other["low"]) == ("", "")


def test_what_a_spreadsheet_takes_for_a_formula_can_be_marked() -> None:
    odd = number("f1", -0.5, system='=HYPERLINK("x")', against="-1", slice="@a=b")
    text = as_csv(twin(odd), lambda value: "'" + value if str(value)[:1] in "=@" else value)
    [line] = csv.DictReader(io.StringIO(text))
    assert (line["system"], line["slice"]) == ('\'=HYPERLINK("x")', "'@a=b")
    assert line["value"] == "-0.5"


def test_earlier_rounds_come_first_and_the_last_is_there_once() -> None:
    rounds = [
        {"round": 1, "labels": 20, "measures": [number("f1", 0.3)]},
        {"round": 2, "labels": 40, "measures": [number("f1", 0.5)]},
    ]
    lines = lines_of(twin(number("f1", 0.5), rounds=rounds))
    told = [(one["round"], one["labels"], one["latest"], one["value"]) for one in lines]
    assert told == [("1", "20", "false", "0.3"), ("2", "40", "true", "0.5")]
