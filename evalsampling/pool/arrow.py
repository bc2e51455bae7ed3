"""Questions about Arrow's types and values that several readers of pools ask."""

import bisect
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_UUID_BYTES, _UUID_DASHES = 16, (8, 13, 18, 23)
"""Of a UUID: its bytes, and the dashes in its text of 36 characters."""

_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a type is that of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Tell whether a type is that of bytes."""
    belongs = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(is_kind(kind) for is_kind in belongs)


def is_list(kind: pa.DataType) -> bool:
    """Tell whether a type is that of lists of any length."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def without_views(column: pa.Array) -> pa.Array:
    """Return a column that is no view, nor a list of views: few functions of Arrow's know them."""
    kind = column.type
    if is_list(kind) and kind.value_type in _VIEWS:
        kind = pa.large_list(_VIEWS[kind.value_type])
    kind = _VIEWS.get(kind, kind)
    return column if kind == column.type else column.cast(kind)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that `plain` makes of a column."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return pa.string() if kind == pa.uuid() else plain_type(kind.storage_type)
    return _VIEWS.get(kind, kind)


def plain(column: pa.Array) -> pa.Array:
    """Return a column without a dictionary, an extension of Arrow's types, or views.

    A UUID is its text in lower case, with dashes, as every program writes it.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if isinstance(column.type, pa.BaseExtensionType):
        is_uuid = column.type == pa.uuid()
        return _uuid_texts(column.storage) if is_uuid else plain(column.storage)
    return without_views(column)


def _uuid_texts(column: pa.Array) -> pa.Array:
    data = column.buffers()[1].slice(column.offset * _UUID_BYTES, len(column) * _UUID_BYTES)
    texts = np.frombuffer(data.to_pybytes().hex().encode(), np.uint8)
    at = [place - number for number, place in enumerate(_UUID_DASHES)]
    texts = np.insert(texts.reshape(len(column), 2 * _UUID_BYTES), at, ord("-"), axis=1)
    ends = np.arange(len(column) + 1, dtype=np.int32) * texts.shape[1]
    buffers = [pa.py_buffer(part.tobytes()) for part in (ends, texts)]
    made = pa.StringArray.from_buffers(len(column), *buffers)
    return pc.if_else(column.is_valid(), made, pa.scalar(None, pa.string()))


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a type is that of numbers, whole or not."""
    belongs = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(is_kind(kind) for is_kind in belongs)


def are_alike(first: pa.DataType, second: pa.DataType) -> bool:
    """Tell whether values of two types mean the same wherever they are equal."""
    kinds = plain_type(first), plain_type(second)
    if kinds[0] == kinds[1] or any(map(pa.types.is_null, kinds)):
        return True
    return all(map(is_number, kinds)) or all(map(is_text, kinds))


def unified(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """Return the type that holds the values of two types, None if there is none."""
    schemas = [pa.schema([("column", plain_type(kind))]) for kind in (first, second)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None


def first_unreadable(
    read: Callable[[int], object],
    rows: int,
    errors: type[Exception] | tuple[type[Exception], ...] = pa.ArrowInvalid,
) -> int:
    """Return the first row that cannot be read, found by halving; some row cannot."""

    def fails(end: int) -> bool:
        try:
            read(end)
        except errors:
            return True
        return False

    return bisect.bisect_left(range(1, rows + 1), True, key=fails)
