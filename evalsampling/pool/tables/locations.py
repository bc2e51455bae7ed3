"""Where the files of a table are, as our own storage reads them."""

from collections.abc import Sequence

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile, at_once, find_file
from evalsampling.spec.sections import READ_FROM
from evalsampling.storage import STORES

_OTHER_NAMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
"""Schemes that Hadoop's file systems have for stores of another name."""


def location(path: str, table: str) -> str:
    """Return the path of a file that a table names, as our own storage reads it."""
    scheme, has_scheme, rest = path.partition(":")
    if not has_scheme or "/" in scheme:
        return path
    if scheme == "file":
        return "/" + rest.lstrip("/")
    scheme = _OTHER_NAMES.get(scheme, scheme)
    if scheme in READ_FROM or scheme in STORES:
        return f"{scheme}:{rest}"
    raise InputError(
        f"{table}: has files of {scheme}:, which are not read; files of this machine and of "
        f"{', '.join(f'{store}:' for store in READ_FROM)} are"
    )


def stored_files(paths: Sequence[str], table: str) -> list[StoredFile]:
    """Return the files of a table, as they are."""

    def find(path: str) -> StoredFile:
        try:
            return find_file(path)
        except InputError as error:
            raise InputError(
                f"{error}; {table} has it, so it was removed since: choose a later version"
            ) from error

    return at_once(find, paths)
