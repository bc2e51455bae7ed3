"""A store: pools, deliveries and workspaces at ``sqlite://NAME/FOLDER`` are in one file."""

import contextlib
import os
import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from evalsampling.errors import InputError
from evalsampling.storage import Store

FOLDER = "SQLITE_STORES"
"""The variable that names the folder of the files; by default it is the current one."""


class SqliteStore(Store):
    """Objects in a table of an SQLite file, whose transactions keep commands apart."""

    def __init__(self, file: Path, prefix: str, root: str) -> None:
        """Name a store; nothing is read yet.

        Args:
            file: of the table.
            prefix: of the names in it, ends with ``/`` unless it is empty.
            root: the URL.
        """
        self.file, self.prefix, self.root = file, prefix, root

    @classmethod
    def at(cls, root: str) -> "SqliteStore":
        """Return the store of ``sqlite://NAME/FOLDER``, in the file ``NAME.sqlite``."""
        name, _, folder = root.removeprefix("sqlite://").partition("/")
        if not re.fullmatch(r"[\w-]+", name):
            raise InputError(f"{root}: must be sqlite://NAME or sqlite://NAME/FOLDER")
        file = Path(os.environ.get(FOLDER, ".")).absolute() / f"{name}.sqlite"
        return cls(file, f"{folder}/" if folder else "", root)

    @contextlib.contextmanager
    def _table(self) -> Iterator[sqlite3.Connection]:
        """Give the file for one transaction, alone."""
        try:
            with contextlib.closing(sqlite3.connect(self.file, 60, isolation_level=None)) as file:
                file.execute("BEGIN IMMEDIATE")
                file.execute("CREATE TABLE IF NOT EXISTS objects (name PRIMARY KEY, content BLOB)")
                yield file
                file.execute("COMMIT")
        except sqlite3.Error as error:
            raise InputError(f"{self.root}: {self.file}: {error}") from error

    def sizes(self, beginning: str = "") -> Mapping[str, int]:
        """Return the bytes of all objects whose names begin so, by name."""
        if not self.file.exists():
            return {}
        begin = self.prefix + beginning
        query = "SELECT name, length(content) FROM objects WHERE substr(name, 1, ?) = ?"
        with self._table() as table:
            found = table.execute(query, (len(begin), begin)).fetchall()
        return {name.removeprefix(self.prefix): size for name, size in found}

    def read(self, name: str) -> bytes:
        """Return the content of an object."""
        row = None
        if self.file.exists():
            with self._table() as table:
                query = "SELECT content FROM objects WHERE name = ?"
                row = table.execute(query, (self.prefix + name,)).fetchone()
        if row is None:
            raise FileNotFoundError(f"{self.url(name)}: no such object")
        return bytes(row[0])

    def create(self, name: str, content: bytes | Path) -> bool:
        """Create an object, and return whether it was; one that is there stays."""
        held = content.read_bytes() if isinstance(content, Path) else content
        query = "INSERT OR IGNORE INTO objects VALUES (?, ?)"
        with self._table() as table:
            return table.execute(query, (self.prefix + name, held)).rowcount == 1

    def overwrite(self, name: str, content: bytes) -> None:
        """Write an object, in place of one that may be there."""
        with self._table() as table:
            table.execute("REPLACE INTO objects VALUES (?, ?)", (self.prefix + name, content))

    def remove(self, names: Collection[str]) -> None:
        """Remove objects; one that is not there is removed already."""
        with self._table() as table:
            rows = [(self.prefix + name,) for name in names]
            table.executemany("DELETE FROM objects WHERE name = ?", rows)
