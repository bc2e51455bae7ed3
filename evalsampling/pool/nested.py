"""Fields of struct columns, named with dots: ``result.score``. A column of that very name wins.

Formats that read nested values as text say by `path_field` of what a field is part of.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.arrow import plain_type

_PATH = b"evalsampling.path"
"""Key of the metadata of a field that is part of a column."""


def path_field(path: Sequence[str], kind: pa.DataType) -> pa.Field:
    """Return the field of a column that is reached by some names, one within the other."""
    within = {_PATH: json.dumps(list(path))} if len(path) > 1 else None
    return pa.field(".".join(path), kind, metadata=within)


def path_of(field: pa.Field) -> tuple[str, ...]:
    """Return the names by which a field is reached; its own alone if it is a column."""
    path = (field.metadata or {}).get(_PATH)
    return (field.name,) if path is None else tuple(json.loads(path))


def value_in(record: Mapping[str, Any], field: pa.Field) -> Any:
    """Return the value of a field in a record, None if there is none.

    What is no object where one is expected is returned itself: it is of another type.
    """
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
    named = {".".join(path): path_field(path, kind) for path, kind in paths}
    return pa.schema(named.values())


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
    """Return a column of a table, or a field of one; None if there is neither.

    A field is null where what it is part of is null.
    """
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
    """Return what columns a field may be of: what stands before each of its dots."""
    return [name[:place] for place, letter in enumerate(name) if letter == "."]


def there_are(name: str, columns: Sequence[str], fields: Sequence[str]) -> str:
    """Return what there is where a column or a field is missing, for a message."""
    parent = str(name).rpartition(".")[0]
    own = [field for field in fields if field.rpartition(".")[0] == parent] if parent else []
    return f"there are: {', '.join(map(str, own or columns))}"
