"""The interface of a kind of tables, and the files that tables name."""

from collections.abc import Sequence
from typing import Any, Protocol

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile, find_file
from evalsampling.pool.layout import PlannedFile
from evalsampling.spec.sections import READ_FROM, Section
from evalsampling.spec.tables import TableSpec
from evalsampling.spec.where import Condition
from evalsampling.storage.filesystems import at_once


class TableKind(Protocol):
    """A kind of tables: settles which version is read, and plans the files to read.

    Attributes:
        keys: further keys that ``pool.table`` may have.
        is_path: whether a table's name is a path, relative to the folder of the spec.
    """

    keys: Sequence[str]
    is_path: bool

    def check(self, section: Section) -> None:
        """Check the values of the further keys; nothing is opened.

        Raises:
            InputError: naming the key that is wrong.
        """

    def pin(self, table: TableSpec) -> Any:
        """Return the version to read, as JSON: the spec's, else the current version.

        Raises:
            InputError: if there is no such table or version, or a package is not installed.
        """

    def plan(self, table: TableSpec, where: Condition | None) -> Sequence[PlannedFile]:
        """Return the files of the pinned version, but for those without a row that is wanted.

        Args:
            table: with the version that `pin` returned.
            where: the rows that are wanted; None for all. Files may be left out only if none of
                their rows satisfies it: rows are filtered again when they are read.

        Raises:
            InputError: if the version is gone, or has what cannot be read as it is meant.
        """


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
    if scheme in READ_FROM:
        return f"{scheme}:{rest}"
    readable = ", ".join(f"{store}:" for store in READ_FROM)
    raise InputError(
        f"{table}: has files of {scheme}:, which are not read; "
        f"files of this machine and of {readable} are"
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
