"""Records and the objects of JSON that stand for them: what dataclasses say of their fields."""

from typing import Any, TypeVar

import msgspec

from evalsampling.errors import InputError

Record = TypeVar("Record")


def read_record(kind: type[Record], content: Any, where: str = "") -> Record:
    """Return the record that an object of JSON stands for, with all records within it.

    Lists become tuples where the record has those; a key that is no field is passed over.
    """
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        problem = f"{error}".replace("`", "").replace(" - at $", ", at ").replace("at .", "at ")
        raise InputError(f"{where}: {problem}" if where else problem) from error
