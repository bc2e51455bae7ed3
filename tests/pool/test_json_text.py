"""Values as JSON, and as text."""

from typing import Any

import pytest

from evalsampling.pool.json_text import as_text, json_text
from tests.jobs import strict_json

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(NAN, None), ([0.5, [-INFINITY]], [0.5, [None]]), ({"a": {"b": INFINITY}}, {"a": {"b": None}}),
     ("NaN", "NaN"), (1 << 70, 1 << 70), (b"x", "b'x'")],
)  # fmt: skip
def test_numbers_that_json_does_not_have_are_null(value: Any, expected: Any) -> None:
    assert strict_json(json_text(value)) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, None), ("a", "a"), (b"a\xff", "a\\xff"), (True, "true"), (1.5, "1.5"),
     (["é", NAN], '["é", null]')],
)  # fmt: skip
def test_values_as_text(value: Any, text: str | None) -> None:
    assert as_text(value) == text
