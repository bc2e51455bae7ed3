"""Where files are kept: on this machine or in Google Cloud Storage."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from evalsampling.errors import InputError
from evalsampling.storage.base import Draft as Draft
from evalsampling.storage.base import Store as Store
from evalsampling.storage.checksums import checksums_of as checksums_of
from evalsampling.storage.checksums import parse_parquet as parse_parquet
from evalsampling.storage.checksums import write_parquet as write_parquet
from evalsampling.storage.filesystems import folder_of as folder_of
from evalsampling.storage.filesystems import is_url as is_url
from evalsampling.storage.filesystems import one_line
from evalsampling.storage.filesystems import read_file as read_file
from evalsampling.storage.local import LocalStore

if TYPE_CHECKING:
    from evalsampling.storage.gcs import GcsStore


def open_store(root: str | Path) -> Store:
    """Return the store of the files below a directory or a ``gs://bucket/prefix``.

    Raises:
        InputError: for another scheme, or if the client of the store is not installed.
    """
    return open_gcs(str(root)) if is_url(root) else LocalStore(Path(root))


def open_gcs(root: str) -> "GcsStore":
    """Return the store of a ``gs://bucket/prefix``.

    Raises:
        InputError: as `open_store` says.
    """
    try:
        from evalsampling.storage.gcs import GcsStore
    except ImportError as error:
        raise InputError(f"{root}: needs google-cloud-storage: {error}") from error
    return GcsStore.at(root)


def replace_json(path: str, content: object) -> None:
    """Write a JSON file of any store as a whole, in place of one that is there."""
    replace_file(path, (json.dumps(content, allow_nan=False) + "\n").encode())


def replace_file(path: str, content: bytes) -> None:
    """Write a file of any store as a whole, in place of one that is there.

    Raises:
        InputError: if it cannot be written; what was there stays.
    """
    replace_files({path: content})


def replace_files(contents: Mapping[str, bytes]) -> None:
    """Write files of one folder of any store, each in place of one that is there.

    On a file system none is in its place before there is room for all of them.

    Args:
        contents: by path, in the order in which they come into their places.

    Raises:
        InputError: if one cannot be written; on a file system what was there stays.
    """
    first = next(iter(contents))
    folder = first.rpartition("/")[0]
    by_name = {path.rpartition("/")[2]: content for path, content in contents.items()}
    try:
        open_store(folder or "/" * first.startswith("/") or ".").replace(by_name)
    except OSError as error:
        where = next((path for path in contents if error.filename == path), first)
        raise InputError(f"{where}: cannot be written: {one_line(error)}") from error
