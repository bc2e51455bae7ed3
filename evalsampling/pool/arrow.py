"""Questions about Arrow's types and values that several readers of pools ask."""

import bisect
from collections.abc import Callable

import pyarrow as pa


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a type is that of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_list(kind: pa.DataType) -> bool:
    """Tell whether a type is that of lists of any length."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def plain(column: pa.Array) -> pa.Array:
    """Return the values of a column that may be encoded by a dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def first_unreadable(
    read: Callable[[int], object],
    rows: int,
    errors: type[Exception] | tuple[type[Exception], ...] = pa.ArrowInvalid,
) -> int:
    """Return the first row that cannot be read, found by halving; some row cannot.

    Args:
        read: reads a given number of rows, from the first; it raises if one of them cannot be read.
        rows: how many there are.
        errors: what it raises.
    """

    def fails(end: int) -> bool:
        try:
            read(end)
        except errors:
            return True
        return False

    return bisect.bisect_left(range(1, rows + 1), True, key=fails)
