"""The CSV twin."""

import csv
import io

from evalsampling.report.table import COLUMNS, as_csv
from tests.report.contents import number, twin


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
