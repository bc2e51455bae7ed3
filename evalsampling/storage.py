"""Files written as a whole or not at all, and never rewritten."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from evalsampling.errors import InputError


def write_table(path: Path, table: pa.Table, row_group_size: int | None = None) -> None:
    """Write a Parquet file as a whole or not at all; one that is there stays."""
    with new_file(path) as temporary:
        pq.write_table(table, temporary, row_group_size=row_group_size, compression="zstd")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file as a whole or not at all; one that is there stays."""
    with new_file(path) as temporary:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a temporary name that becomes ``path`` when the block ends, unless that is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".draft-", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink()


def entries(directory: Path) -> Sequence[Path]:
    """Return what is in a directory, ordered, but for drafts; nothing if there is none."""
    if not directory.is_dir():
        return []
    return sorted(entry for entry in directory.iterdir() if not entry.name.startswith("."))


def read_table(path: Path) -> pa.Table:
    """Read a Parquet file of the workspace.

    Raises:
        InputError: if it cannot be read.
    """
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file of the workspace.

    Raises:
        InputError: if it cannot be read.
    """
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    return content
