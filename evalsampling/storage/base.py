"""Stores of named files: five calls, and everything that is written once over them.

A store reads, creates a file if there is none of its name, overwrites, lists and removes. Files
that belong together come in by a commit (`storage.commits`), so a file system and an object store,
which has neither directories to rename nor locks, need no other way.
"""

import abc
import contextlib
import json
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.storage.checksums import Checksum, Checksums, parse_parquet, sealed, unsealed
from evalsampling.storage.filesystems import locate, readable, unreadable

VERSION = "version"
"""Key of a JSON file's version."""


class AccessError(InputError):
    """The error of a store that denies access, perhaps because it is read-only."""


class Store(abc.ABC):
    """Files by their names, which are relative paths with ``/``; only the root is in memory.

    A class below defines `read`, `create`, `overwrite`, `sizes` and `remove`. All raise
    `InputError` if the store fails.
    """

    root: str  # path of the directory, or ``gs://bucket/prefix``
    shared: bool = True  # whether machines that cannot lock each other out may write here
    # returns, for the name of a JSON file, the version that is written and the greatest that is
    # read; None for files without a version
    latest_version: Callable[[str], int | None] = staticmethod(lambda _: None)

    # --- the five calls

    @abc.abstractmethod
    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: if it does not exist.
        """

    @abc.abstractmethod
    def create(self, name: str, content: bytes | Path) -> bool:
        """Create a file if there is none of its name; return whether it was created.

        A request that is sent twice may say no. A path is a file with the content, in `scratch`.
        """

    @abc.abstractmethod
    def overwrite(self, name: str, content: bytes) -> None:
        """Write a file, replacing a file of its name."""

    @abc.abstractmethod
    def sizes(self, beginning: str = "") -> Mapping[str, int]:
        """Return the sizes in bytes of all files whose names begin with a text, by name."""

    @abc.abstractmethod
    def remove(self, names: Collection[str]) -> None:
        """Remove files; those that do not exist are skipped."""

    # --- written once over them

    def url(self, name: str) -> str:
        """Return the path or URL of a file, for messages and other programs."""
        return f"{self.root.rstrip('/')}/{name}" if name else self.root

    def exists(self, name: str) -> bool:
        """Return whether there is a file of that name."""
        return name in self.sizes(name)

    def names(self, folder: str = "") -> list[str]:
        """Return the names of the files and folders directly in a folder, ordered.

        Names that begin with a dot are left out; a folder that does not exist is empty.
        """
        base = within(folder)
        names = {name.removeprefix(base).partition("/")[0] for name in self.sizes(base)}
        return sorted(name for name in names if not name.startswith("."))

    def checksum(self, name: str) -> Checksum:
        """Return size and SHA-256 of a file, which must exist."""
        return Checksum.from_content(self.read(name))

    @contextlib.contextmanager
    def scratch(self, folder: str = "") -> Iterator[Path]:
        """Yield a new directory of this machine for files that `create` takes into a folder."""
        with tempfile.TemporaryDirectory() as directory:
            yield Path(directory)

    @contextlib.contextmanager
    def new_file(self, name: str) -> Iterator[Path]:
        """Yield a local path to write to; its file gets the name when the block ends well.

        An existing file of the name stays as it is.
        """
        with self.scratch() as directory:
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            yield path
            self.create(name, path)

    # --- JSON

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Create a JSON file with version and checksum; an existing file stays as it is."""
        latest = self.latest_version(name)
        versioned = content if latest is None else {VERSION: latest, **content}
        text = json.dumps(sealed(versioned), ensure_ascii=False, allow_nan=False)
        # `json` encodes in C only what it does not indent.
        self.create(name, (msgspec.json.format(text, indent=1) + "\n").encode())

    def read_json(self, name: str, keys: Collection[str] = ()) -> dict[str, Any]:
        """Return the JSON object in a file, which must be as it was written and have some keys."""
        with readable(self.url(name)):
            text = self.read(name)
            try:
                content = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise unreadable(self.url(name), error) from error
            if not isinstance(content, dict):
                raise InputError(f"{self.url(name)}: damaged, not a JSON object")
            content = unsealed(content, self.url(name))
            self.check_version(name, content)
        missing = [key for key in keys if key not in content]
        if missing:
            raise InputError(f"{self.url(name)}: damaged, {missing[0]!r} is missing")
        return content

    def find_json(self, name: str) -> dict[str, Any]:
        """Return the JSON object in a file, an empty one if there is no file."""
        return self.read_json(name) if self.exists(name) else {}

    def check_version(self, name: str, content: Mapping[str, Any]) -> None:
        """Check that a file, given its content or its metadata, has the version that is read."""
        latest = self.latest_version(name)
        if latest is None:
            return
        if VERSION not in content:
            raise InputError(f"{self.url(name)}: damaged, {VERSION!r} is missing")
        version = content[VERSION]
        if version != latest:
            raise InputError(
                f"{self.url(name)}: version {version!r} of this kind of file; this evalsampling "
                f"reads version {latest}: use the one that wrote it"
            )

    # --- tables

    def read_table(self, name: str, checksums: Checksums | None = None) -> pa.Table:
        """Return the table of a Parquet file, which must be as it was written.

        Its own checksum is compared if it is among those given, else the checksums of its pages.
        """
        checksum = (checksums or {}).get(name)
        if checksum is None:
            return self.read_rows([name])
        with readable(self.url(name)):
            content = self.read(name)
            checksum.check(Checksum.from_content(content), self.url(name))
            return parse_parquet(content)

    def read_rows(self, names: Sequence[str], **options: Any) -> pa.Table:
        """Return rows of Parquet files of one schema; checksums of the pages read are compared.

        Options are columns and filters, as `pyarrow.parquet.read_table` takes them.
        """
        with readable(self.url(names[0] if len(names) == 1 else names[0].rpartition("/")[0])):
            filesystem, _, _ = locate(self.root)
            paths = [locate(self.url(name))[1] for name in names]
            options = {"page_checksum_verification": True, "partitioning": None, **options}
            return pq.read_table(paths, filesystem=filesystem, **options)

    # --- keeping out of each other's way

    def make(self) -> None:
        """Create the place of the store if it does not exist; a bucket does."""
        return

    @contextlib.contextmanager
    def one_at_a_time(self) -> Iterator[None]:
        """Keep other commands of this machine from changing the store, after waiting for them.

        A shared store keeps nobody out: there the second of two equal commits is lost.
        """
        yield


def within(folder: str) -> str:
    """Return the beginning of the names of all files in a folder."""
    return f"{folder}/" if folder else ""
