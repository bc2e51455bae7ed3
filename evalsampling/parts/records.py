"""Records and the objects of JSON that stand for them: what dataclasses say of their fields."""

import math
from typing import Any, TypeVar, get_args

import msgspec

from evalsampling.errors import InputError

Record = TypeVar("Record")


def read_record(kind: type[Record], content: Any) -> Record:
    """Return the record that an object of JSON stands for, with all records within it.

    Lists become tuples, or arrays, where the record has those; a key that is no field is passed
    over.
    """
    try:
        return msgspec.convert(content, kind, dec_hook=_array)
    except msgspec.ValidationError as error:
        problem = f"{error}".replace("`", "").replace(" - at $", ", at ").replace("at .", "at ")
        raise InputError(problem) from error


def as_plain(record: Any) -> Any:
    """Return the object of JSON that stands for a record, with its arrays as lists."""
    return msgspec.to_builtins(record, enc_hook=lambda array: array.tolist())


def finite(result: Any) -> Any:
    """Return a result of any nesting with None for every number that is not finite."""
    if isinstance(result, dict):
        return {key: finite(value) for key, value in result.items()}
    if isinstance(result, list | tuple):
        return [finite(value) for value in result]
    return None if isinstance(result, float) and not math.isfinite(result) else result


def _array(kind: type, values: Any) -> Any:
    """Return the array of a type, as `FloatArray`, that a list stands for."""
    import numpy as np  # Most records have no arrays.

    _, dtype = get_args(kind)
    return np.array(values, get_args(dtype)[0])
