"""Questions about Arrow's types and values that several readers of pools ask."""

import bisect
from collections.abc import Callable

import pyarrow as pa

_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a type is that of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_list(kind: pa.DataType) -> bool:
    """Tell whether a type is that of lists of any length."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def without_views(column: pa.Array) -> pa.Array:
    """Return a column that is no view, nor a list of views: few functions of Arrow's know them."""
    kind = column.type
    if is_list(kind) and kind.value_type in _VIEWS:
        kind = pa.large_list(_VIEWS[kind.value_type])
    return column.cast(_VIEWS.get(kind, kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column that may be encoded by a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


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
