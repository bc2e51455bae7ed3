"""Limits of deliveries of labels: size, rows, and numbers that a float no longer tells apart."""

from evalsampling.errors import InputError

MOST_BYTES = 1 << 28
"""Most bytes of a file of labels, or of gold rows; also unpacked, as far as the file says so."""

MOST_ROWS = 1 << 21
"""Most rows of a delivery."""

EXACT = ("task", "id", "label", "unique_id_l", "unique_id_r")
"""Columns whose values identify a vote, so that they must not be rounded."""


def too_large(path: str, excess: str, most: str) -> InputError:
    """Return the error of a delivery that is too large: what it has, and the most it may have."""
    return InputError(f"{path}: has {excess}; a delivery has at most {most}: divide it")


def inexact(path: str, name: str, value: str, most: int) -> InputError:
    """Return the error of a column with whole numbers that may have been rounded."""
    return InputError(
        f"{path}: column {name!r} has whole numbers as floats, and {value} is {most:,} or more, "
        "where a float stands for several of them: write them as whole numbers or as text"
    )
