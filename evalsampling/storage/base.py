"""Stores of named files that are written as a whole or not at all, and never rewritten.

Files that belong together are a *draft* first. The marker of the draft, a JSON file, is created
last, under its final name. If a file of that name exists, the draft is lost; otherwise it counts,
and its files are put in place. Any later command puts a draft in place that counts and is not (its
command was killed). So a reader sees all of a change or nothing, and of two writers one wins and
the other gets an error, on a file system and in an object store, which has neither directories to
rename nor locks.
"""

import abc
import contextlib
import dataclasses
import json
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.storage.checksums import (
    FILES,
    Checksum,
    Checksums,
    checksums_of,
    parse_parquet,
    sealed,
    unsealed,
    write_parquet,
)
from evalsampling.storage.filesystems import locate, open_file, readable, unreadable

FORGOTTEN = "forgotten"
"""Folder of records of erased payload: the checksums of the files it was erased from."""

VERSION = "version"
"""Key of a JSON file's version."""

DRAFTS = ".drafts"
"""Folder of drafts."""

MARKER = ".marker"
"""File of a draft whose files are all held: the name of its marker."""


class AccessError(InputError):
    """The error of a store that denies access, perhaps because it is read-only."""


class Draft:
    """Files that come into a store together.

    Attributes:
        name: of the draft, unique.
        directory: of this machine, where its files are written.
        whole: whether all files are held, so that the draft may count.
    """

    def __init__(self, store: "Store", name: str, directory: Path) -> None:
        """Begin with no files."""
        self._store = store
        self.name = name
        self.directory = directory
        self.whole = False

    def path(self, name: str) -> Path:
        """Return the local path at which to write the file of a name."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def commit(
        self, marker: str, content: dict[str, Any], check: Callable[[], None] | None = None
    ) -> None:
        """Make the files of the draft count, by creating its marker in the store.

        Args:
            marker: name of the JSON file.
            content: of the marker.
            check: raises an error if the draft may not count; called when all files are held.

        Raises:
            FileExistsError: if ``marker`` exists; the store is not changed then.
            InputError: if the store fails. The draft counts then if the marker exists.
        """
        store, folder = self._store, f"{DRAFTS}/{self.name}"
        files = {**content.get(FILES, {}), **self._checksums()}
        store.hold(self.directory, folder)
        store.write_json(f"{folder}/{MARKER}", {"marker": marker})
        if check is not None:
            check()
        self.whole = True
        store.write_json(marker, {**content, FILES: files, "draft": self.name})
        # Its content shows who created it: a request that succeeded may be sent again and fail.
        won = store.read_json(marker).get("draft") == self.name
        store.settle_draft(self.name, won)
        if not won:
            raise FileExistsError(f"{store.url(marker)} exists")

    def _checksums(self) -> dict[str, dict[str, Any]]:
        """Return size and SHA-256 of the files written so far, by name."""
        return {
            path.relative_to(self.directory).as_posix(): dataclasses.asdict(Checksum.of_file(path))
            for path in sorted(self.directory.rglob("*"))
            if path.is_file()
        }


class Store(abc.ABC):
    """Files by their names, which are relative paths with ``/``; only the root is in memory.

    Attributes:
        root: path of the directory, or ``scheme://bucket/prefix``.
        shared: whether machines that cannot lock each other out may write here.
        latest_version: returns, for the name of a JSON file, the version that is written and the
            greatest that is read; None for files without a version.
    """

    root: str
    shared: bool
    latest_version: Callable[[str], int | None] = staticmethod(lambda _: None)

    @classmethod
    def at(cls, root: str) -> "Store":
        """Return the store of a URL; nothing is read yet.

        Args:
            root: ``scheme://authority``, or a folder there.

        Raises:
            InputError: if there is no such place.
        """
        raise NotImplementedError(f"{cls.__name__}.at")

    @classmethod
    def filesystem(cls, root: str) -> Any:
        """Return the Arrow file system that reads ``scheme://authority``.

        The default one asks the store for names and contents, whole files at a time.
        """
        from evalsampling.storage.stored_files import StoredFiles  # For stores of other packages.

        return pyarrow.fs.PyFileSystem(StoredFiles(cls.at(root)))

    def sizes(self, beginning: str = "") -> Mapping[str, int]:
        """Return the sizes in bytes of all files whose names begin with a text, by name."""
        folder, slash, _ = beginning.rpartition("/")
        names = [f"{folder}{slash}{name}" for name in self.below(folder)]
        return {name: self.checksum(name).size for name in names if name.startswith(beginning)}

    def url(self, name: str) -> str:
        """Return the path or URL of a file, for messages and other programs."""
        return f"{self.root.rstrip('/')}/{name}" if name else self.root

    # --- reading

    @abc.abstractmethod
    def exists(self, name: str) -> bool:
        """Return whether there is a file of that name."""

    @abc.abstractmethod
    def names(self, folder: str = "") -> list[str]:
        """Return the names of the files and folders directly in a folder, ordered.

        Names that begin with a dot are left out; a folder that does not exist is empty.
        """

    @abc.abstractmethod
    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: if it does not exist.
            InputError: if it cannot be read.
        """

    def read_json(self, name: str, keys: Collection[str] = ()) -> dict[str, Any]:
        """Return the JSON object in a file, which must have some keys.

        Raises:
            InputError: if it cannot be read, is not as it was written, is of a version that this
                package does not know, or lacks a key.
        """
        with readable(self.url(name)):
            content = self._read_object(name)
        missing = [key for key in keys if key not in content]
        if missing:
            raise InputError(f"{self.url(name)}: damaged, {missing[0]!r} is missing")
        return content

    def _read_object(self, name: str) -> dict[str, Any]:
        """Return the JSON object in a file.

        Raises:
            FileNotFoundError: if it does not exist.
            InputError: if it is not as it was written.
        """
        text = self.read(name)
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise unreadable(self.url(name), error) from error
        if not isinstance(content, dict):
            raise InputError(f"{self.url(name)}: damaged, not a JSON object")
        content = unsealed(content, self.url(name))
        self.check_version(name, content)
        return content

    def check_version(self, name: str, content: Mapping[str, Any]) -> None:
        """Check that a file is of the version that is read.

        Args:
            name: of the file.
            content: of the file, or its metadata.

        Raises:
            InputError: if it is not.
        """
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

    def read_checked(self, name: str, checksum: Checksum | None) -> bytes:
        """Return the content of a file that is as it was written, in place or still in its draft.

        Args:
            name: of the file; its draft may count and not be in place yet.
            checksum: of the file, by its marker; None if that has none.

        Raises:
            InputError: if it cannot be read, or is not as it was written.
        """
        with readable(self.url(name)):
            try:
                content = self.read(name)
            except FileNotFoundError:
                # Its marker exists, so it is being put in place, or its writer was killed.
                content = self.read(self._whereabouts([name])[0])
        if checksum is not None:
            self.check_written(name, checksum, Checksum.from_content(content))
        return content

    def is_as_written(self, name: str, checksum: Checksum, current: Checksum) -> bool:
        """Return whether a file is as it was written, or as it was left when payload was erased.

        Args:
            name: of the file.
            checksum: with which it was written.
            current: of its present content.
        """
        if current == checksum:
            return True
        records = [self.read_json(f"{FORGOTTEN}/{file}") for file in self.names(FORGOTTEN)]
        return any(checksums_of(record).get(name) == current for record in records)

    def check_written(self, name: str, checksum: Checksum, current: Checksum) -> None:
        """Check that a file is as it was written, with the arguments of `is_as_written`.

        Raises:
            InputError: naming the file, if it is not.
        """
        if not self.is_as_written(name, checksum, current):
            checksum.check(current, self.url(name))

    def read_table(self, name: str, checksums: Checksums | None = None) -> pa.Table:
        """Return the table of a Parquet file; checksums of its pages are compared.

        Args:
            name: of the file.
            checksums: of files by name, from markers. That of this file, if any, is compared first.

        Raises:
            InputError: if it cannot be read, or is not as it was written.
        """
        checksum = (checksums or {}).get(name)
        if checksum is None:
            return self.read_rows([name])
        return self.parse_table(name, self.read_checked(name, checksum))

    def read_rows(self, names: Sequence[str], **options: Any) -> pa.Table:
        """Return rows of Parquet files of one schema; checksums of the pages read are compared.

        Args:
            names: of one or more files.
            **options: columns and filters, as `pyarrow.parquet.read_table` takes them.

        Raises:
            InputError: if one cannot be read, or a page is not as it was written.
        """
        options = {"page_checksum_verification": True, **options}
        with readable(self.url(names[0] if len(names) == 1 else names[0].rpartition("/")[0])):
            try:
                return self._read_table(names, options)
            except FileNotFoundError:
                return self._read_table(self._whereabouts(names), options)

    def parse_table(self, name: str, content: bytes) -> pa.Table:
        """Return the table in the content of a Parquet file.

        Raises:
            InputError: naming the file, if its content is damaged.
        """
        with readable(self.url(name)):
            return parse_parquet(content)

    def _read_table(self, names: Sequence[str], options: dict[str, Any]) -> pa.Table:
        filesystem, _, _ = locate(self.root)
        paths = [locate(self.url(name))[1] for name in names]
        return pq.read_table(paths, filesystem=filesystem, partitioning=None, **options)

    @abc.abstractmethod
    def checksum(self, name: str) -> Checksum:
        """Return size and SHA-256 of a file.

        Raises:
            FileNotFoundError: if it does not exist.
        """

    def check_pages(self, name: str) -> None:
        """Read all of a Parquet file, a row group at a time, for the checksums of its pages.

        Raises:
            InputError: naming the file, if it cannot be read.
        """
        url = self.url(name)
        with readable(url), open_file(url) as source:
            parquet = pq.ParquetFile(source, page_checksum_verification=True)
            for number in range(parquet.num_row_groups):
                parquet.read_row_group(number)

    def _whereabouts(self, names: Sequence[str]) -> list[str]:
        """Return the names at which to read files that were not in place.

        Their drafts are put in place. If we may not write, the names are those in the drafts.
        """
        try:
            self.settle()
        except AccessError:
            held = self.not_in_place()
            return [name if self.exists(name) else held.get(name, name) for name in names]
        return list(names)

    def not_in_place(self) -> dict[str, str]:
        """Return the names in their drafts of files whose drafts count, by their final names."""
        return {
            file: f"{DRAFTS}/{draft}/{file}"
            for draft in self.drafts()
            if self._counts(draft)
            for file in self.below(f"{DRAFTS}/{draft}")
            if file != MARKER
        }

    # --- writing

    @abc.abstractmethod
    def make(self) -> None:
        """Create the place of the store if it does not exist."""

    @abc.abstractmethod
    def new_file(self, name: str) -> contextlib.AbstractContextManager[Path]:
        """Yield a local path to write to; its file gets the name when the block ends well.

        An existing file of the name stays as it is.
        """

    @abc.abstractmethod
    def write_text(self, name: str, text: str) -> None:
        """Create a file of text; an existing file stays as it is."""

    @abc.abstractmethod
    def replace(self, contents: Mapping[str, bytes]) -> None:
        """Write files by their names, replacing existing ones; never used for a workspace's files.

        On a file system nothing is replaced before there is room for all files. The last of several
        files is absent while the others are replaced.
        """

    @abc.abstractmethod
    def exchange(self, name: str, content: bytes, was: Checksum) -> None:
        """Replace the content of a file that is unchanged since it was read.

        Args:
            name: of the file.
            content: new content; nothing is done if the file has it already.
            was: checksum of the content that was read.

        Raises:
            InputError: if somebody else changed the file since; it stays as it is then.
        """

    def changed(self, name: str) -> InputError:
        """Return the error to raise if somebody else changed a file since it was read."""
        return InputError(
            f"{self.url(name)}: another command changed it meanwhile; run this one again"
        )

    def overtaken(self) -> InputError:
        """Return the error to raise if another prepare has finished since this one began."""
        return InputError(f"{self.root}: another prepare has finished there meanwhile")

    @abc.abstractmethod
    def remove(self, names: Collection[str]) -> None:
        """Remove files; those that do not exist are skipped."""

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        """Create a JSON file with version and checksum; an existing file stays as it is."""
        latest = self.latest_version(name)
        versioned = content if latest is None else {VERSION: latest, **content}
        text = json.dumps(sealed(versioned), indent=1, ensure_ascii=False, allow_nan=False)
        self.write_text(name, text + "\n")

    def write_table(
        self, name: str, table: pa.Table, row_group_size: int | None = None
    ) -> Checksum:
        """Create a Parquet file, and return its checksum; an existing file stays as it is.

        Returns:
            The checksum of the file that has the name now.
        """
        with self.new_file(name) as path:
            write_parquet(table, path, row_group_size=row_group_size)
        return self.checksum(name)

    # --- drafts

    def is_whole(self, draft: str) -> bool:
        """Return whether all files of a draft are held, so that it may count now or soon."""
        return MARKER in self.below(f"{DRAFTS}/{draft}")

    def drop(self, drafts: Collection[str]) -> None:
        """Remove drafts whose commands will give them up, if they still run."""
        for draft in drafts:
            self.settle_draft(draft, won=False)

    @contextlib.contextmanager
    def draft(self) -> Iterator[Draft]:
        """Yield a draft to fill and commit; it is removed unless it is committed."""
        name = uuid.uuid4().hex
        with self.drafting(f"{DRAFTS}/{name}") as directory:
            draft = Draft(self, name, directory)
            try:
                yield draft
            finally:
                if not draft.whole:
                    self.settle_draft(name, won=False)

    def settle(self) -> None:
        """Put in place the drafts that count, and remove those that are lost.

        Raises:
            AccessError: if a draft is not settled and we may not write.
            InputError: naming a marker that is damaged.
        """
        for name in self.drafts():
            won = self._counts(name)
            if won is not None:
                self.settle_draft(name, won)

    def settle_if_allowed(self) -> None:
        """Do what `settle` does, if we may write; a reader need not."""
        with contextlib.suppress(AccessError):
            self.settle()

    def _counts(self, draft: str) -> bool | None:
        """Return whether a draft counts; None if it is being written, or was given up."""
        try:
            marker = self._read_object(f"{DRAFTS}/{draft}/{MARKER}").get("marker")
            if not isinstance(marker, str):
                raise InputError(f"{self.url(f'{DRAFTS}/{draft}/{MARKER}')}: damaged")
            return self._read_object(marker).get("draft") == draft
        except FileNotFoundError:
            return None

    def settle_draft(self, name: str, won: bool) -> None:
        """Put the files of a draft in place if it won, and remove the draft.

        Other commands may do the same at the same time.
        """
        folder = f"{DRAFTS}/{name}"
        held = self.below(folder)
        files = [file for file in held if file != MARKER]
        for file in files if won else []:
            self.place(f"{folder}/{file}", file)
        self.sync(files if won else [])
        # The marker goes last: until then any other command can finish this.
        self.remove([f"{folder}/{file}" for file in files])
        self.remove([f"{folder}/{MARKER}"] if MARKER in held else [])

    @abc.abstractmethod
    def drafts(self) -> list[str]:
        """Return the names of all drafts."""

    @abc.abstractmethod
    def drafting(self, folder: str) -> contextlib.AbstractContextManager[Path]:
        """Yield a local directory for the files of the draft at ``folder`` of the store."""

    @abc.abstractmethod
    def hold(self, directory: Path, folder: str) -> None:
        """Copy all files of a local directory to a folder of the store, if they are not there."""

    @abc.abstractmethod
    def below(self, folder: str) -> list[str]:
        """Return the names of all files at any depth of a folder, relative to it, ordered."""

    def written(self, folders: Collection[str], which: Callable[[str], bool]) -> list[str]:
        """Return the names of the files in folders that `which` accepts, by their names there."""
        files = [(folder, name) for folder in folders for name in self.below(folder)]
        return [f"{folder}/{name}" for folder, name in files if which(name)]

    @abc.abstractmethod
    def place(self, source: str, target: str) -> None:
        """Give a file a second name; nothing is done if it has gone, or if that name exists."""

    @abc.abstractmethod
    def sync(self, names: Collection[str]) -> None:
        """Wait until placed files are flushed, so that they survive a loss of power."""

    # --- keeping out of each other's way

    @abc.abstractmethod
    def one_at_a_time(self) -> contextlib.AbstractContextManager[None]:
        """Keep other commands of this machine from changing the store, after waiting for them.

        A shared store keeps nobody out: there the second of two drafts with one marker is lost.
        """

    def check_free(self, products: Collection[str]) -> None:
        """Check that the store holds only files that a failed prepare may have left.

        Args:
            products: files and folders that are written before the marker.

        Raises:
            InputError: naming the first of all others.
        """
        self.refuse([name for name in self.names() if name not in products])

    def refuse(self, held: Sequence[str]) -> None:
        """Raise an `InputError` that names the first of the files held, if there is any."""
        if held:
            raise InputError(
                f"{self.root}: not empty and not a workspace, it holds {held[0]}; "
                "choose another directory"
            )

    @abc.abstractmethod
    def preparing(
        self, marker: str, attempt: str, products: Collection[str]
    ) -> contextlib.AbstractContextManager[None]:
        """Hold the store for a prepare; its files are removed if the block ends without the marker.

        Args:
            marker: the file whose existence makes the store prepared.
            attempt: part of the names of the files written, in a shared store.
            products: files and folders that are written before the marker.

        Raises:
            InputError: if the store holds other files, or if another prepare is seen at work.
        """
