"""Where the rows of a pool are: the files of a pattern, or those of a table at one version."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

from evalsampling.errors import InputError
from evalsampling.pool.files import (
    StoredFile,
    at_once,
    changed_while_read,
    find_file,
    find_files,
)
from evalsampling.pool.layout import PlannedFile
from evalsampling.pool.tables.hive import partitioned
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.pool import PoolSpec
from evalsampling.spec.where import KEY


def pinned(spec: EvaluationSpec) -> EvaluationSpec:
    """Return a spec whose pool, if it is a table, is read at one version from now on."""
    table = spec.pool.table
    if table is None or table.pinned is not None:
        return spec
    return spec.at_version(table.find_kind().pin(table))


def planned_files(pool: PoolSpec) -> list[PlannedFile]:
    """Return the files of a pool, ordered by path, but for those without a row that is wanted."""
    if pool.table is None:
        files = partitioned(find_files(pool.path), pool.condition)
    else:
        table, kind = pool.table, pool.table.find_kind()
        if table.pinned is None:
            table = dataclasses.replace(table, pinned=kind.pin(table))
        files = sorted(kind.plan(table, pool.condition), key=lambda file: file.stored.path)
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
        for file, now in zip(before, at_once(_as_it_is, before), strict=True):
            if now != file:
                raise changed_while_read(file.path)
        return
    files = {file.stored.path: file.stored for file in planned_files(pool)}
    for file in before:
        if files.pop(file.path, None) != file:
            raise changed_while_read(file.path)
    if files:
        raise InputError(f"{next(iter(files))}: has come while the pool was read")


def _as_it_is(file: StoredFile) -> StoredFile | None:
    try:
        return find_file(file.path)
    except InputError:
        return None


@contextlib.contextmanager
def unchanged(pool: PoolSpec) -> Iterator[None]:
    """Let a block read the files of a pool, however often, and fail if they changed meanwhile."""
    before = [file.stored for file in planned_files(pool)]
    yield
    check_same(before, pool)
