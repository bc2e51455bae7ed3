"""What separates the cells of a CSV file."""

import pytest

from evalsampling.pool.formats.delimiter import delimiter_of


@pytest.mark.parametrize(
    ("header", "usual", "delimiter"),
    [(b"a,b;c\nd;e", ",", ","), (b"a\n1;2", ",", ","), (b'"a;b"\n', ",", ","), (b"a;b", ",", ";"),
     (b'\n"a,b";c\n', ",", ";"), (b"a\tb", ",", "\t"), (b"a\tb;c", "\t", "\t"), (b"", ",", ","),
     (b"a;b\r1,5;2", ",", ";"), (b'"two\nlines, or";"b"\r\n1,5;2', ",", ";")],
)  # fmt: skip
def test_delimiter_of_a_header(header: bytes, usual: str, delimiter: str) -> None:
    assert delimiter_of(header, usual) == delimiter
