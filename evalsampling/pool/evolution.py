"""How a column of a file becomes that of its table, whose schema may have changed since."""

import dataclasses
import operator
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError

FIELD_ID = b"PARQUET:field_id"
"""Key of the metadata of a field: the number that a table knows its column by."""

SHORTER = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
"""Types that are the same to a table, and differ by who wrote a file."""

_WIDENED = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_temporal)


@dataclasses.dataclass(frozen=True)
class Change:
    """What becomes of the values of a column or a field."""

    stored: pa.DataType
    wanted: pa.DataType

    def of(self, values: Any) -> Any:
        """Return values of the file as the table has them."""
        if not pa.types.is_struct(self.wanted):
            return values.cast(self.wanted)
        parts = []
        for field, place in _partners(self.stored, self.wanted):
            if place is None:
                parts.append(pa.nulls(len(values), field.type))
            else:
                change = Change(self.stored.field(place).type, field.type)
                parts.append(change.of(pc.struct_field(values, [place])))
        return pa.StructArray.from_arrays(parts, fields=list(self.wanted), mask=values.is_null())


@dataclasses.dataclass(frozen=True)
class FileField:
    """A field of a struct column of a table, as it is sought in a file.

    Attributes:
        type: in the table.
        own: what the file calls it, with dots; None if the file lacks it.
        change: what becomes of its values; None if they stay as they are.
    """

    type: pa.DataType
    own: str | None = None
    change: Change | None = None


def may_be_widened(kind: pa.DataType) -> bool:
    """Tell whether a type is one that a table may widen after files were written."""
    return any(belongs(kind) for belongs in _WIDENED)


def plain(kind: pa.DataType) -> pa.DataType:
    """Return a type as no writer changes it: short text, and fields that may be null."""
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(field) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(plain(kind.key_type), _plain_field(kind.item_field))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    return SHORTER.get(kind, kind)


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(plain(field.type)).with_nullable(True)


def change_of(stored: pa.DataType, wanted: pa.DataType, what: str) -> Change | None:
    """Return what becomes of the values of a column; None if they stay as they are."""
    return None if _is_kept(stored, wanted, what) else Change(stored, wanted)


def fields_of(
    stored: pa.DataType | None, wanted: pa.DataType, name: str, own: str
) -> Iterator[tuple[str, FileField]]:
    """Yield the fields of a struct column of a table, by their names with dots."""
    for field, place in _partners(stored, wanted) if pa.types.is_struct(wanted) else ():
        inner = f"{name}.{field.name}"
        if stored is None or place is None:
            yield inner, FileField(field.type)
            yield from fields_of(None, field.type, inner, "")
        else:
            part = stored.field(place)
            there = f"{own}.{part.name}"
            yield inner, FileField(field.type, there, change_of(part.type, field.type, there))
            yield from fields_of(part.type, field.type, inner, there)


def _partners(stored: pa.DataType | None, wanted: pa.DataType) -> list[tuple[pa.Field, int | None]]:
    """Return the fields of a table's struct, each with its place in that of a file."""
    key: Callable[[pa.Field], Any] = _number
    if not any(map(_number, wanted)):
        key = operator.attrgetter("name")
    places = {key(field): place for place, field in enumerate(stored or ())}
    return [(field, places.get(key(field))) for field in wanted]


def _number(field: pa.Field) -> bytes | None:
    return (field.metadata or {}).get(FIELD_ID)


def _is_kept(stored: pa.DataType, wanted: pa.DataType, what: str) -> bool:
    """Tell whether values of a file are those of its table as they are."""
    if pa.types.is_struct(stored) and pa.types.is_struct(wanted):
        partners = _partners(stored, wanted)
        kept = [
            _is_kept(stored.field(place).type, field.type, f"{what}.{field.name}")
            for field, place in partners
            if place is not None
        ]
        places = [place for _, place in partners]
        return stored == wanted and all(kept) and places == list(range(stored.num_fields))
    if pa.types.is_nested(wanted):
        if _fields(stored, wanted) != _fields(wanted, wanted) or not _can_be_made(stored, wanted):
            raise InputError(f"{what} has type {stored}, but {wanted} in the table")
        return stored == wanted
    if pa.types.is_dictionary(stored):
        _is_kept(stored.value_type, wanted, what)
        return False
    if plain(stored) == wanted:
        return True
    is_number = may_be_widened(wanted) and not may_be_widened(stored)
    if is_number or not _can_be_made(stored, wanted):
        raise InputError(f"{what} has type {stored}, but {wanted} in the table")
    return False


def _can_be_made(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Tell whether Arrow makes values of one type to another."""
    try:
        pa.array([], stored).cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _fields(kind: pa.DataType, wanted: pa.DataType) -> list[Any]:
    """Return names of the fields of structs in a type, however deep, and numbers if they count."""
    numbered = any(map(_number, _inside(wanted)))
    return [(field.name, _number(field) if numbered else None) for field in _inside(kind)]


def _inside(kind: pa.DataType) -> list[pa.Field]:
    if pa.types.is_map(kind):
        return [*_inside(kind.key_type), *_inside(kind.item_type)]
    if not pa.types.is_struct(kind):
        return _inside(kind.value_type) if pa.types.is_nested(kind) else []
    return [inner for field in kind for inner in (field, *_inside(field.type))]
