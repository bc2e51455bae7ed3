"""Records that come back from JSON, and what is said of an object that is none."""

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from evalsampling import InputError
from evalsampling.parts.records import as_plain, finite, read_record
from evalsampling.stats.arrays import FloatArray, IntArray


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    low: float | None
    counts: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Table:
    names: tuple[str, ...]
    counts: tuple[IntArray, ...]
    rates: FloatArray


CONTENT = {"parts": [{"name": "a", "low": None, "counts": {"x": 1}, "later": 2}]}


def test_records_within_records() -> None:
    assert read_record(Whole, CONTENT) == Whole((Part("a", None, {"x": 1}),))
    with_notes = {**CONTENT, "notes": ["b"]}
    assert read_record(Whole, with_notes).notes == ("b",)
    assert type(read_record(Part, {"name": "a", "low": 1, "counts": {}}).low) is float


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"low": "1"}, "Expected float | null, got str, at parts[0].low"),
        ({"name": None}, "Expected str, got null, at parts[0].name"),
        ({"counts": {"x": 1.5}}, "Expected int, got float, at parts[0].counts[...]"),
    ],
)
def test_the_key_and_what_was_expected_are_named(changed: dict[str, Any], problem: str) -> None:
    content = {"parts": [{**CONTENT["parts"][0], **changed}]}
    with pytest.raises(InputError) as caught:
        read_record(Whole, content)
    assert str(caught.value) == problem


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InputError, match=r"missing required field low, at parts\[0\]"):
        read_record(Whole, {"parts": [{"name": "a", "counts": {}}]})
    with pytest.raises(InputError, match="Expected object, got array"):
        read_record(Whole, [])


def test_arrays_are_lists_in_json() -> None:
    table = Table(("a",), (np.array([1, 2]),), np.array([0.1, 1e-300]))
    content = json.loads(json.dumps(as_plain(table)))
    assert content == {"names": ["a"], "counts": [[1, 2]], "rates": [0.1, 1e-300]}
    again = read_record(Table, content)
    assert again.names == ("a",)
    assert (again.counts[0].dtype, again.rates.dtype) == (np.int64, np.float64)
    assert (again.counts[0].tolist(), again.rates.tolist()) == ([1, 2], [0.1, 1e-300])
    assert read_record(Table, {**content, "rates": []}).rates.dtype == np.float64


def test_numbers_that_json_does_not_have_are_none() -> None:
    given = {"a": [1.5, math.nan, (math.inf, "x")], "b": {"c": -np.float64("inf"), "d": 2}}
    assert finite(given) == {"a": [1.5, None, [None, "x"]], "b": {"c": None, "d": 2}}
