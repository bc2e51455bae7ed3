"""Partitions in the style of Hive: parts ``key=value`` of the folders of a path, as columns."""

import urllib.parse
from collections.abc import Mapping, Sequence

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.layout import PlannedFile, may_hold, row_of
from evalsampling.spec.where import Condition
from evalsampling.storage.filesystems import one_line


def partitioned(files: Sequence[StoredFile], where: Condition | None) -> list[PlannedFile]:
    """Return files with the columns that their paths have, but for those without a wanted row.

    A column has the type that Arrow infers over all files: whole numbers of 32 bits, else text.
    """
    values = _values([file.path for file in files])
    names = dict.fromkeys(name for texts in values for name in texts)
    columns = {name: _typed([texts.get(name) for texts in values]) for name in names}
    planned = [
        PlannedFile(
            file, row_of({name: columns[name].slice(row, 1) for name in texts}), where=where
        )
        for row, (file, texts) in enumerate(zip(files, values, strict=True))
    ]
    return [file for file in planned if where is None or may_hold(where, file.constants)]


def _values(paths: Sequence[str]) -> list[Mapping[str, str | None]]:
    """Return the values in paths as text, by name; the first of a name counts."""
    parts = (part.partition("=") for path in paths for part in path.split("/")[:-1])
    names = dict.fromkeys(urllib.parse.unquote(name) for name, mark, _ in parts if mark and name)
    if not names:
        return [{}] * len(paths)
    from pyarrow import dataset  # Few pools are in such folders.

    arrow = dataset.HivePartitioning(pa.schema(dict.fromkeys(names, pa.string())))
    values = []
    for path in paths:
        try:
            values.append(dataset.get_partition_keys(arrow.parse(path)))
        except pa.ArrowInvalid as error:
            raise InputError(f"{path}: {one_line(error)}") from error
    return values


def _typed(texts: Sequence[str | None]) -> pa.Array:
    column = pa.array(texts, pa.string())
    try:
        return column if column.null_count == len(column) else column.cast(pa.int32())
    except pa.ArrowInvalid:
        return column
