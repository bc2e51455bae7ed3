"""Promises, and the tests that are said to show them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["docs/operations.md", "docs/scheduling.md", "SECURITY.md"])
def test_tests_that_it_names_are_there(page: str) -> None:
    named = re.findall(r"`(tests/[^`]+\.py)`", (ROOT / page).read_text("utf-8"))
    assert len(named) > 3
    assert [name for name in named if not (ROOT / name).exists()] == []
