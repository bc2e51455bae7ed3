"""Limits of deliveries of labels: bytes and rows."""

from evalsampling.errors import InputError

MOST_BYTES = 1 << 28
"""Most bytes of a file of labels, or of gold rows; also unpacked, as far as the file says so."""

MOST_ROWS = 1 << 21
"""Most rows of a delivery."""

MOST_CHARACTERS = 1 << 24
"""Most characters of a cell of CSV, and of a line of JSON Lines."""


def too_large(path: str, excess: str, most: str) -> InputError:
    """Return the error of a delivery that is too large: what it has, and the most it may have."""
    return InputError(f"{path}: has {excess}; a delivery has at most {most}: divide it")
