"""Labels of any type as texts of classes."""

import math
from typing import Any

import pyarrow as pa
import pytest

from evalsampling.labels.class_texts import class_texts


@pytest.mark.parametrize(
    ("given", "codes", "expected"),
    [
        (pa.array([1, 0, None]), "01", ["1", "0", None]),
        (pa.array([1.0, 0.0, math.nan]), "01", ["1", "0", None]),
        (pa.array([1.0, 0.5]), "01", ["1.0", "0.5"]),
        (pa.array([True, None]), "01", ["1", None]),
        (pa.array([True, False]), ["False", "True"], ["True", "False"]),
        (pa.array(["1.0", "0.0", None]), "01", ["1", "0", None]),
        (pa.array(["1.00", "-1.0"]), ["-1", "1"], ["1", "-1"]),
        (pa.array(["1.0", "1"]), "01", ["1.0", "1"]),  # not the whole column
        (pa.array(["1.0", "unsure"]), "01", ["1.0", "unsure"]),
        (pa.array(["1.0", "2.0"]), ["1.0", "2.0"], ["1.0", "2.0"]),  # these are the classes
        (pa.array(["1.5", "1."]), "01", ["1.5", "1."]),
        (pa.array(["a", "b"], pa.large_string()), "ab", ["a", "b"]),
        (pa.array([], pa.null()), "01", []),
        (pa.array([" yes", "No", "YES ", "no"]), ["no", "yes"], ["yes", "no", "yes", "no"]),
        (pa.array(["No", "no", "NO", "x"]), ["no", "No"], ["No", "no", "NO", "x"]),  # ambiguous
        (pa.array(["True", "FALSE"]), ["true", "false"], ["true", "false"]),
        (pa.array([True, False, None]), ["no", "yes"], ["yes", "no", None]),
        (pa.array([" yes", "N", "no", "1"]), "01", ["1", "0", "0", "1"]),
        (pa.array(["Y", "n ", "TRUE", "0", "x"]), ["no", "yes"], ["yes", "no", "yes", "0", "x"]),
        (pa.array(["y", "n"]), ["t", "f", "n"], ["y", "n"]),  # three classes
        (pa.array(["y", "no"]), ["yes", "maybe"], ["y", "no"]),  # no yes and no
    ],
)
def test_texts(given: pa.Array, codes: Any, expected: list[str | None]) -> None:
    assert class_texts(given, list(codes)) == expected
