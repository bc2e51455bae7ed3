"""Partitions in the style of Hive: parts ``key=value`` of the folders of a path, as columns."""

import re
import urllib.parse
from collections.abc import Mapping, Sequence

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.layout import PlannedFile, may_hold, row_of
from evalsampling.spec.where import Condition

NULL = "__HIVE_DEFAULT_PARTITION__"
"""What stands in a path for a null."""

_WHOLE, _LARGEST = re.compile(r"-?[0-9]+"), 1 << 31


def partitioned(files: Sequence[StoredFile], where: Condition | None) -> list[PlannedFile]:
    """Return files with the columns that their paths have, but for those without a wanted row.

    A column has the type that Arrow infers over all files: whole numbers of 32 bits, else text.
    """
    values = [_values(file.path) for file in files]
    types = {name: _type(name, values) for name in dict.fromkeys(n for v in values for n in v)}
    planned = [
        PlannedFile(file, _constants(texts, types), where=where)
        for file, texts in zip(files, values, strict=True)
    ]
    return [file for file in planned if where is None or may_hold(where, file.constants)]


def _values(path: str) -> dict[str, str | None]:
    """Return the values in a path as text, by name; the first of a name counts."""
    values: dict[str, str | None] = {}
    for part in path.split("/")[:-1]:
        name, is_partition, text = part.partition("=")
        if is_partition and name:
            values.setdefault(_decoded(name, path), None if text == NULL else _decoded(text, path))
    return values


def _decoded(text: str, path: str) -> str:
    try:
        return urllib.parse.unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {text!r} in the path is not UTF-8") from error


def _type(name: str, values: Sequence[Mapping[str, str | None]]) -> pa.DataType:
    """Return the type of a column, by its values in all paths."""
    texts = [text for texts in values if (text := texts.get(name)) is not None]
    whole = (_WHOLE.fullmatch(text) and -_LARGEST <= int(text) < _LARGEST for text in texts)
    return pa.int32() if texts and all(whole) else pa.string()


def _constants(
    texts: Mapping[str, str | None], types: Mapping[str, pa.DataType]
) -> pa.RecordBatch | None:
    return row_of(
        {name: pa.array([text], pa.string()).cast(types[name]) for name, text in texts.items()}
    )
