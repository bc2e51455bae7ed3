"""Counts with their nouns."""

from evalsampling.stats.counted import counted


def test_only_one_has_no_plural() -> None:
    assert [counted(n, "row") for n in (0, 1, 2, 1200)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "1,200 rows",
    ]
