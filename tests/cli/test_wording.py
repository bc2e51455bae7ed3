"""Words and tables for terminals."""

import re
from typing import Any

import pytest

from evalsampling.cli import wording


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_tables_fit(monkeypatch: Any, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = [["a name that is far too long for a narrow column of a table", "1.5", "x" * 20]]
    lines = wording.table(["name", "value", "more"], rows)
    assert all(len(line) <= max(columns, 60) for line in lines)
    assert ("…" in lines[1]) == (columns < 100)
    assert lines[1].startswith("a name")
    assert lines[1].endswith("  1.5  " + "x" * 20)
    assert [len(lines[0])] == [len(line) for line in lines[1:]]
    wrapped = wording.wrapped("word " * 60, "  ")
    assert all(len(line) <= min(columns, 120) for line in wrapped)
    assert " ".join(" ".join(wrapped).split()) == ("word " * 60).strip()


@pytest.mark.parametrize(
    ("terminal", "no_color", "stands_out"),
    [(True, None, True), (True, "1", False), (True, "", True), (False, None, False)],
)
def test_nothing_is_coloured_but_on_a_terminal(
    monkeypatch: Any, terminal: bool, no_color: str | None, stands_out: bool
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    head, row = wording.table(["name", "value"], [["a", "1"]])
    assert ("\033" in head) == stands_out
    assert re.sub(r"\033\[\d+m", "", head) == "name  value"
    assert row == "a         1"
