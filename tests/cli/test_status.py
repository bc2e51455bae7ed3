"""`status` in words."""

from evalsampling.cli import status


def test_a_long_version_of_a_table_is_cut() -> None:
    """A kind of tables may have a list of files for its version; a condition is shown whole."""
    assert len(status._shown([f"a/{number}.parquet" for number in range(999)])) == 200
    assert status._shown("a" * 300) == "a" * 300
