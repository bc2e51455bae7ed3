"""Files written as a whole or not at all, and never rewritten."""

import contextlib
import fcntl
import functools
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from evalsampling.errors import InputError

DRAFT = ".draft-"
"""How the names of unfinished files begin."""


def write_table(path: Path, table: pa.Table, row_group_size: int | None = None) -> None:
    """Write a Parquet file as a whole or not at all; one that is there stays."""
    with new_file(path) as temporary:
        pq.write_table(table, temporary, row_group_size=row_group_size, compression="zstd")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file as a whole or not at all; one that is there stays."""
    with new_file(path) as temporary:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def replace_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file as a whole or not at all, in place of one that is there."""
    draft = path.with_name(f"{DRAFT}{path.name}")
    draft.write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")
    draft.replace(path)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a temporary name that becomes ``path`` when the block ends, unless that is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=DRAFT, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink()


@functools.cache
def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Give a directory to fill that becomes ``path`` when the block ends well.

    Raises:
        FileExistsError: if ``path`` is there by then; it stays as it is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=DRAFT, dir=path.parent))
    try:
        yield draft
        draft.chmod(0o777 & ~_umask())
        if path.exists():
            raise FileExistsError(f"{path} exists")
        draft.rename(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextlib.contextmanager
def locked(path: Path, wait: bool) -> Iterator[None]:
    """Hold a lock that other processes of this machine see, until the block or process ends.

    Args:
        path: of the lock's file, made if it is not there.
        wait: for whoever holds the lock to end; else that is an error.

    Raises:
        BlockingIOError: if the lock is held and ``wait`` is false.
    """
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def remove_drafts(directory: Path) -> None:
    """Remove what killed processes left; nobody may be writing there."""
    for draft in directory.glob(f"{DRAFT}*"):
        if draft.is_dir():
            shutil.rmtree(draft)
        else:
            draft.unlink()


def entries(directory: Path) -> Sequence[Path]:
    """Return what is in a directory, ordered, but for drafts; nothing if there is none."""
    if not directory.is_dir():
        return []
    return sorted(entry for entry in directory.iterdir() if not entry.name.startswith("."))


def read_table(path: Path, **options: Any) -> pa.Table:
    """Read a Parquet file of the workspace, or a directory of them.

    Args:
        path: of it.
        **options: columns and filters, as `pyarrow.parquet.read_table` takes them.

    Raises:
        InputError: if it cannot be read.
    """
    try:
        return pq.read_table(path, **options)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def read_json(path: Path, keys: Sequence[str]) -> dict[str, Any]:
    """Read a JSON object of the workspace that has some keys.

    Raises:
        InputError: if it cannot be read or lacks a key.
    """
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        missing = [key for key in keys if key not in content]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    if missing:
        raise InputError(f"{path}: damaged, {missing[0]!r} is missing")
    return content
