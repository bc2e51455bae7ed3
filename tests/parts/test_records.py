"""Records that come back from JSON, and what is said of an object that is none."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.parts.records import read_record


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    low: float | None
    counts: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()


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
    with pytest.raises(InputError, match=r"^file\.json: Expected"):
        read_record(Whole, content, "file.json")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InputError, match=r"missing required field low, at parts\[0\]"):
        read_record(Whole, {"parts": [{"name": "a", "counts": {}}]})
    with pytest.raises(InputError, match="Expected object, got array"):
        read_record(Whole, [])
