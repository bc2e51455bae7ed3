"""Stores of files: on this machine, or in Google Cloud Storage."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

from evalsampling.errors import InputError, from_extra
from evalsampling.storage import local
from evalsampling.storage.base import AccessError, within
from evalsampling.storage.base import Store as Store
from evalsampling.storage.checksums import checksums_of as checksums_of
from evalsampling.storage.checksums import parse_parquet as parse_parquet
from evalsampling.storage.checksums import write_parquet as write_parquet
from evalsampling.storage.filesystems import folder_of as folder_of
from evalsampling.storage.filesystems import is_url as is_url
from evalsampling.storage.filesystems import one_line
from evalsampling.storage.filesystems import read_file as read_file
from evalsampling.storage.local import LocalStore


def open_store(root: str | Path) -> Store:
    """Return the store of the files below a directory or ``gs://bucket/prefix``."""
    if not is_url(root):
        return LocalStore(Path(root))
    scheme, _, place = str(root).partition("://")
    bucket, _, folder = place.partition("/")
    if scheme != "gs" or not bucket:
        raise InputError(f"{root}: must be a path of this machine or gs://BUCKET/PREFIX")
    with from_extra("gcp", "google-cloud-storage", str(root)):
        from evalsampling.storage.gcs import GcsStore
    return GcsStore(bucket, within(folder.strip("/")))


def replace_json(path: str, content: object) -> None:
    """Write a JSON file of any store as a whole; an existing file is replaced."""
    replace_file(path, (json.dumps(content, allow_nan=False) + "\n").encode())


def replace_file(path: str, content: bytes) -> None:
    """Write a file of any store as a whole; an existing file is replaced, or stays if it fails."""
    replace_files({path: content})


def replace_files(contents: Mapping[str, bytes]) -> None:
    """Write files of one folder of any store; existing files are replaced.

    On a file system nothing is replaced before there is room for all files. The last of several
    files is absent while the others are replaced: after a kill it is there together with the new
    others, or not at all.
    """
    first = next(iter(contents))
    try:
        if not is_url(first):
            local.replace_files({Path(path): content for path, content in contents.items()})
            return
        store = open_store(folder_of(first))
        by_name = {path.rpartition("/")[2]: content for path, content in contents.items()}
        *others, last = by_name
        if others:
            with contextlib.suppress(AccessError):  # Who may not remove it may not replace it.
                store.remove([last])
        for name, content in by_name.items():
            store.overwrite(name, content)
    except OSError as error:
        where = next((path for path in contents if error.filename == path), first)
        raise InputError(f"{where}: cannot be written: {one_line(error)}") from error
