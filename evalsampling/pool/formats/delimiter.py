"""What separates the cells of a CSV file, by its header."""

import re

_OTHERS = (";", "\t")
"""Delimiters that a header may show in place of the usual one."""

_QUOTED = re.compile(rb'"[^"]*"?')
_LINE_END = re.compile(rb"[\r\n]")


def delimiter_of(text: bytes, usual: str = ",") -> str:
    """Return what separates the cells of a text that begins with a header.

    That is a semicolon or a tab, as spreadsheets of many countries write, if the header has that
    and not the usual delimiter; what is within quotes does not count.
    """
    header = _LINE_END.split(_QUOTED.sub(b"", text.lstrip(b"\r\n")), maxsplit=1)[0]
    if usual.encode() in header:
        return usual
    return next((mark for mark in _OTHERS if mark.encode() in header), usual)
