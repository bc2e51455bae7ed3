"""Questions about Arrow's types and values that several readers of pools ask."""

import bisect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_UUID_BYTES, _UUID_DASHES = 16, (8, 13, 18, 23)
"""Of a UUID: its bytes, and the dashes in its text of 36 characters."""

_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Tell whether a type is bytes."""
    belongs = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(is_kind(kind) for is_kind in belongs)


def is_list(kind: pa.DataType) -> bool:
    """Tell whether a type is a list of any length."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def without_views(column: pa.Array) -> pa.Array:
    """Return a column with views, also within lists, as plain values: few functions take views."""
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
    """Return a column without a dictionary, an extension or views; a UUID is its usual text."""
    if pa.types.is_dictionary(column.type):
        column = without_views(column.dictionary).take(column.indices)
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


def characters(texts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return the bytes of large strings, and where in them each begins and the last ends."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return bounds, np.frombuffer(data or b"", np.uint8)


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a type is a number, whole or not."""
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


_PATH = b"evalsampling.path"
"""Key of the metadata of a field that is part of a column."""


def path_field(path: Sequence[str], kind: pa.DataType) -> pa.Field:
    """Return the Arrow field that is reached by names of structs, from the outermost in."""
    within = {_PATH: json.dumps(list(path))} if len(path) > 1 else None
    return pa.field(".".join(path), kind, metadata=within)


def path_of(field: pa.Field) -> tuple[str, ...]:
    """Return the names that lead to a field, from its column down; one name for a column."""
    path = (field.metadata or {}).get(_PATH)
    return (field.name,) if path is None else tuple(json.loads(path))


def value_in(record: Mapping[str, Any], field: pa.Field) -> Any:
    """Return the value of a field in a record; None, or what is no object where one belongs."""
    value: Any = record.get(field.name)
    if value is not None or field.name in record:
        return value
    value = record
    for name in path_of(field):
        if not isinstance(value, Mapping):
            return value
        value = value.get(name)
    return value


def schema_of(paths: Iterable[tuple[Sequence[str], pa.DataType]]) -> pa.Schema:
    """Return fields by the names that lead to them, of equal names with dots the last."""
    return pa.schema({".".join(path): path_field(path, kind) for path, kind in paths}.values())


def nested_fields(columns: pa.Schema) -> pa.Schema:
    """Return all fields of struct columns, by their names with dots."""
    return schema_of(inner for field in columns for inner in _inside((field.name,), field.type))


def with_fields(columns: pa.Schema) -> pa.Schema:
    """Return a schema and the fields of its struct columns; a column of the same name wins."""
    fields = [field for field in nested_fields(columns) if field.name not in columns.names]
    return pa.schema([*columns, *fields])


def _inside(
    path: tuple[str, ...], kind: pa.DataType
) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    for field in kind if pa.types.is_struct(kind) else ():
        inner = (*path, field.name)
        yield inner, plain_type(field.type)
        yield from _inside(inner, field.type)


def column_of(rows: pa.RecordBatch | pa.Table, name: str) -> Any:
    """Return a column of a table or a field, null where what it is part of is; None without."""
    place = rows.schema.get_field_index(name)
    if place >= 0:
        return rows.column(place)
    path = _path_in(rows.schema, name)
    if path is None:
        return None
    return pc.struct_field(rows.column(rows.schema.get_field_index(path[0])), list(path[1:]))


def _path_in(columns: Any, name: str) -> tuple[str, ...] | None:
    """Return the names by which a field is reached in a schema or a struct type."""
    if columns.get_field_index(name) >= 0:
        return (name,)
    for head in beginnings(name):
        if columns.get_field_index(head) >= 0 and pa.types.is_struct(columns.field(head).type):
            inner = _path_in(columns.field(head).type, name[len(head) + 1 :])
            if inner is not None:
                return (head, *inner)
    return None


def beginnings(name: str) -> list[str]:
    """Return the names of columns that may hold a field: its name up to each of its dots."""
    return [name[:place] for place, letter in enumerate(name) if letter == "."]


def there_are(name: str, columns: Sequence[str], fields: Sequence[str]) -> str:
    """Return the names of the columns, or of the fields beside a missing field: for a message."""
    parent = str(name).rpartition(".")[0]
    own = [field for field in fields if field.rpartition(".")[0] == parent] if parent else []
    return f"there are: {', '.join(map(str, own or columns))}"
