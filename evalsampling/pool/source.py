"""Where the rows of a pool are: the files of a pattern, or those of a table at one version."""

import contextlib
import json
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile, changed_while_read, find_files, has_changed
from evalsampling.pool.layout import PlannedFile, may_hold
from evalsampling.spec.pool import PoolSpec
from evalsampling.spec.where import KEY, Condition
from evalsampling.storage.filesystems import at_once, one_line


def pinned(pool: PoolSpec) -> PoolSpec:
    """Return a pool that, if it is a table, is read at one version from now on."""
    table = pool.table
    if table is None or table.pinned is not None:
        return pool
    version = table.find_kind().pin(table)
    try:
        json.dumps(version)
    except (TypeError, ValueError) as error:
        raise InputError(f"pool.table.{table.kind}: pin must return JSON: {error}") from error
    return pool.at_version(version)


def planned_files(pool: PoolSpec) -> list[PlannedFile]:
    """Return the files of a pool, ordered by path, but for those without a row that is wanted."""
    if pool.table is None:
        files = partitioned(find_files(pool.path), pool.condition)
    else:
        table = pinned(pool).table
        assert table is not None
        planned = list(table.find_kind().plan(table, pool.condition))
        for file in planned:
            if not isinstance(file, PlannedFile):
                raise InputError(f"pool.table.{table.kind}: plan returned {file!r}, no PlannedFile")
        files = sorted(planned, key=lambda file: file.stored.path)
    if not files:
        raise keeps_nothing(pool)
    return files


def keeps_nothing(pool: PoolSpec) -> InputError:
    """Return the error of a pool without rows, which a condition may have left out."""
    if pool.where is not None:
        return InputError(f"{KEY}: no row of {pool.path} satisfies {pool.where}")
    if pool.weight is not None:
        return InputError(f"pool.weight: no row of {pool.path} counts: all have a weight of 0")
    return InputError(f"{pool.path}: the pool is empty")


def check_same(before: Sequence[StoredFile], pool: PoolSpec) -> None:
    """Check that a pool has the files that it had before, as they were then."""
    if pool.table is not None:
        for file, changed in zip(before, at_once(has_changed, before), strict=True):
            if changed:
                raise changed_while_read(file.path)
        return
    files = {file.stored.path: file.stored for file in planned_files(pool)}
    for file in before:
        if files.pop(file.path, None) != file:
            raise changed_while_read(file.path)
    if files:
        raise InputError(f"{next(iter(files))}: has come while the pool was read")


@contextlib.contextmanager
def unchanged(pool: PoolSpec) -> Iterator[None]:
    """Let a block read the files of a pool, however often, and fail if they changed meanwhile."""
    before = [file.stored for file in planned_files(pool)]
    yield
    check_same(before, pool)


def partitioned(files: Sequence[StoredFile], where: Condition | None) -> list[PlannedFile]:
    """Return files that may have a wanted row, with columns of their paths, typed as by Arrow."""
    values = _values([file.path for file in files])
    names = dict.fromkeys(name for texts in values for name in texts)
    columns = {name: _typed([texts.get(name) for texts in values]) for name in names}
    planned = [
        PlannedFile(file, {name: columns[name][row] for name in texts}, where=where)
        for row, (file, texts) in enumerate(zip(files, values, strict=True))
    ]
    return [file for file in planned if may_hold(where, file.constants)]


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
