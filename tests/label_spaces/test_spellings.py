"""Labels of any type as texts of classes."""

import math
from typing import Any

import pytest

from evalsampling.label_spaces.spellings import label_texts, yes_and_no


@pytest.mark.parametrize(
    ("given", "codes", "expected"),
    [
        ([1, 0, None], "01", ["1", "0", None]),
        ([1.0, 0.0, math.nan], "01", ["1", "0", None]),
        ([1.0, 0.5], "01", ["1.0", "0.5"]),
        ([2, 1.0], "12", ["2", "1"]),
        ([2, 1.5], "12", ["2.0", "1.5"]),
        (["1", 1.0], "01", ["1", "1"]),
        ([True, None], "01", ["1", None]),
        ([True, False], ["False", "True"], ["True", "False"]),
        (["1.0", "0.0", None], "01", ["1", "0", None]),
        (["1.00", "-1.0"], ["-1", "1"], ["1", "-1"]),
        (["1.0", "1"], "01", ["1", "1"]),  # of two tables, one of which had empty cells
        (["1.0", "1", "0.5"], "01", ["1.0", "1", "0.5"]),  # scores
        (["1.0", "unsure"], "01", ["1.0", "unsure"]),
        (["1.0", "2.0"], ["1.0", "2.0"], ["1.0", "2.0"]),  # these are the classes
        (["1.5", "1."], "01", ["1.5", "1."]),
        (["a", "b"], "ab", ["a", "b"]),
        ([], "01", []),
        ([" yes", "No", "YES ", "no"], ["no", "yes"], ["yes", "no", "yes", "no"]),
        (["No", "no", "NO", "x"], ["no", "No"], ["No", "no", "NO", "x"]),  # ambiguous
        (["True", "FALSE"], ["true", "false"], ["true", "false"]),
        ([True, False, None], ["no", "yes"], ["yes", "no", None]),
        ([" yes", "N", "no", "1"], "01", ["1", "0", "0", "1"]),
        (["Y", "n ", "TRUE", "0", "x"], ["no", "yes"], ["yes", "no", "yes", "0", "x"]),
        (["y", "n"], ["t", "f", "n"], ["y", "n"]),  # three classes
        (["y", "no"], ["yes", "maybe"], ["y", "no"]),  # no yes and no
    ],
)
def test_texts(given: list[Any], codes: Any, expected: list[str | None]) -> None:
    assert label_texts(given, list(codes)) == expected


@pytest.mark.parametrize(
    ("classes", "yes", "no"),
    [(["0", "1"], "1", "0"), (["yes", "no"], "yes", "no"), ([" N", "Y"], "Y", " N"),
     (["True", "False"], "True", "False")],
)  # fmt: skip
def test_words_of_two_classes(classes: list[str], yes: str, no: str) -> None:
    words = yes_and_no(classes)
    assert [words[word] for word in ("yes", "y", "true")] == [yes] * 3
    assert [words[word] for word in ("no", "n", "false")] == [no] * 3


@pytest.mark.parametrize(
    "classes", [["0", "1", "2"], ["yes", "maybe"], ["yes", "y"], ["other", "car"], ["yes"]]
)
def test_other_classes_have_no_such_words(classes: list[str]) -> None:
    assert yes_and_no(classes) == {}
