"""What logs tell of slices: their column, not their values."""

import pytest

from evalsampling.telemetry.redaction import without_values


@pytest.mark.parametrize("value", ["Bern", "a: b", "where x=1", "it's", "", "two\nlines", "a=b: c"])
@pytest.mark.parametrize(
    ("message", "logged"),
    [
        ("f1 of a where city={}: only 2 rows", "f1 of a where city=...: only 2 rows"),
        ("f1 where city={} is undefined (0/0): no rows", "f1 where city=...: no rows"),
        ("no labelled row where city={}", "no labelled row where city=..."),
        ("f1 where city={}: one (and 3 more)", "f1 where city=...: one (and 3 more)"),
    ],
)  # fmt: skip
def test_values_of_slices_are_hidden(value: str, message: str, logged: str) -> None:
    assert without_values(message.format(value)) == logged
