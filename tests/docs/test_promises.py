"""The table of promises in docs/operations.md."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_tests_that_it_names_are_there() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    named = re.findall(r"`(tests/[^`]+\.py)`", page)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []
