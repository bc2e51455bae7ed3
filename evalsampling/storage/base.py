"""Stores of named files that are written as a whole or not at all, and never rewritten.

Files that belong together are a *draft* first. One file of the draft, its marker, is created last,
under its own name, unless that is there: then the draft is lost, else all of it counts, and is put
in place. Whoever finds a draft that counts and is not in place (its command was killed) puts it
there. So a reader sees all of a change or nothing, and of two writers one wins and the other is
told, on a file system and in an object store, which has neither directories to rename nor locks.
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
    SHA256,
    Checksum,
    Checksums,
    checksums_of,
    parse_parquet,
    sealed,
    unsealed,
    write_parquet,
)
from evalsampling.storage.filesystems import locate, one_line, open_file, unreadable

FORGOTTEN = "forgotten"
"""Folder of records: what files are like since something in them was forgotten."""

VERSION = "version"
"""Key of a JSON file."""

DRAFTS = ".drafts"
"""Folder of what does not count yet."""

MARKER = ".marker"
"""Of a draft that is whole: tells the name of its marker."""


class AccessError(InputError):
    """A store that does not let us do this, if only because nobody may write to it."""


class Draft:
    """Files that are to come into a store together.

    Attributes:
        name: of the draft, like no other.
        directory: of this machine, where its files are written.
        whole: whether it may count from now on.
    """

    def __init__(self, store: "Store", name: str, directory: Path) -> None:
        """Begin with no files."""
        self._store = store
        self.name = name
        self.directory = directory
        self.whole = False

    def path(self, name: str) -> Path:
        """Return where to write the file that will have a name in the store."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def commit(
        self, marker: str, content: dict[str, Any], check: Callable[[], None] | None = None
    ) -> None:
        """Let the files of the draft count, by creating a JSON file of the store.

        Args:
            marker: name of that file.
            content: of it.
            check: raises an error if the draft may not count; called when all of it is held.

        Raises:
            FileExistsError: if ``marker`` is there; the store is as it was then.
            InputError: if the store fails. Whether the draft counts is seen by the marker then.
        """
        store, folder = self._store, f"{DRAFTS}/{self.name}"
        files = {**content.get(FILES, {}), **self._checksums()}
        store.hold(self.directory, folder)
        store.write_json(f"{folder}/{MARKER}", {"marker": marker})
        if check is not None:
            check()
        self.whole = True
        store.write_json(marker, {**content, FILES: files, "draft": self.name})
        # Who created it is told by its content: a request that came through may be sent again.
        won = store.read_json(marker).get("draft") == self.name
        store.settle_draft(self.name, won)
        if not won:
            raise FileExistsError(f"{store.url(marker)} exists")

    def _checksums(self) -> dict[str, dict[str, Any]]:
        """Return size and SHA-256 of the files so far, by name."""
        return {
            path.relative_to(self.directory).as_posix(): dataclasses.asdict(Checksum.of_file(path))
            for path in sorted(self.directory.rglob("*"))
            if path.is_file()
        }


class Store(abc.ABC):
    """Files by their names, which are relative paths with ``/``; nothing in memory but the root.

    Attributes:
        root: path of the directory, or ``scheme://bucket/prefix``.
        shared: whether machines that cannot lock each other out may write here.
        latest_version: of the JSON files of a name, the version that is written and the greatest
            that is read; None for those that have none.
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
        """Return the file system by which Arrow reads ``scheme://authority``.

        By default it asks the store for names and contents, whole files at a time.
        """
        from evalsampling.storage.stored_files import StoredFiles  # For stores of other packages.

        return pyarrow.fs.PyFileSystem(StoredFiles(cls.at(root)))

    def sizes(self, beginning: str = "") -> Mapping[str, int]:
        """Return the bytes of all files whose names begin so, by name."""
        folder, slash, _ = beginning.rpartition("/")
        names = [f"{folder}{slash}{name}" for name in self.below(folder)]
        return {name: self.checksum(name).size for name in names if name.startswith(beginning)}

    def url(self, name: str) -> str:
        """Return what other programs call a file."""
        return f"{self.root.rstrip('/')}/{name}" if name else self.root

    # --- reading

    @abc.abstractmethod
    def exists(self, name: str) -> bool:
        """Tell whether there is a file of that name."""

    @abc.abstractmethod
    def names(self, folder: str = "") -> list[str]:
        """Return what files and folders of a folder are called there, ordered.

        Names that begin with a dot are not told; a folder that is not there is empty.
        """

    @abc.abstractmethod
    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: if it is not there.
            InputError: if it cannot be read.
        """

    def read_json(self, name: str, keys: Collection[str] = ()) -> dict[str, Any]:
        """Read a JSON object that has some keys.

        Raises:
            InputError: if it cannot be read, is not as it was written, is of a version that this
                package does not know, or lacks a key.
        """
        try:
            content = self._read_object(name)
        except OSError as error:
            raise unreadable(self.url(name), error) from error
        missing = [key for key in keys if key not in content]
        if missing:
            raise InputError(f"{self.url(name)}: damaged, {missing[0]!r} is missing")
        return content

    def _read_object(self, name: str) -> dict[str, Any]:
        """Read a JSON object.

        Raises:
            FileNotFoundError: if it is not there.
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
        """Check that a file is of a version that can be read; one without is of the first.

        Args:
            name: of the file.
            content: of it, or its metadata.

        Raises:
            InputError: if it is not.
        """
        latest, version = self.latest_version(name), content.get(VERSION, 1)
        if latest is not None and not (isinstance(version, int) and version <= latest):
            raise InputError(
                f"{self.url(name)}: version {version!r} of this kind of file; this evalsampling "
                f"reads up to version {latest}: use the one that wrote it, or a later one"
            )

    def is_sealed(self, name: str) -> bool:
        """Tell whether a JSON file has a checksum of its own."""
        return SHA256 in json.loads(self.read(name))

    def read_checked(self, name: str, checksum: Checksum | None) -> bytes:
        """Return the content of a file that is as it was written, wherever it is by now.

        Args:
            name: of the file; it may be on its way from a draft that counts.
            checksum: what its marker tells of it, None if that is of before there were any.

        Raises:
            InputError: if it cannot be read, or is not as it was written.
        """
        try:
            try:
                content = self.read(name)
            except FileNotFoundError:
                # Its marker is there, so it is on its way, or would be had its writer lived.
                content = self.read(self._whereabouts([name])[0])
        except OSError as error:
            raise unreadable(self.url(name), error) from error
        if checksum is not None:
            self.check_written(name, checksum, Checksum.from_content(content))
        return content

    def is_as_written(self, name: str, checksum: Checksum, found: Checksum) -> bool:
        """Tell whether a file is as it was written, or as it was left when something was forgotten.

        Args:
            name: of the file.
            checksum: with which it was written.
            found: of what is there now.
        """
        if found == checksum:
            return True
        records = [self.read_json(f"{FORGOTTEN}/{one}") for one in self.names(FORGOTTEN)]
        return any(checksums_of(record).get(name) == found for record in records)

    def check_written(self, name: str, checksum: Checksum, found: Checksum) -> None:
        """Check what `is_as_written` tells.

        Raises:
            InputError: naming the file, if it is not.
        """
        if not self.is_as_written(name, checksum, found):
            checksum.check(found, self.url(name))

    def read_table(self, name: str, checksums: Checksums | None = None) -> pa.Table:
        """Read a Parquet file; checksums of its pages are compared.

        Args:
            name: of the file.
            checksums: what markers tell of files. If there is one of it, it is compared first.

        Raises:
            InputError: if it cannot be read, or is not as it was written.
        """
        checksum = (checksums or {}).get(name)
        if checksum is None:
            return self.read_rows([name])
        return self.parse_table(name, self.read_checked(name, checksum))

    def read_rows(self, names: Sequence[str], **options: Any) -> pa.Table:
        """Read rows of Parquet files of one schema; checksums of the pages read are compared.

        Args:
            names: of one or several.
            **options: columns and filters, as `pyarrow.parquet.read_table` takes them.

        Raises:
            InputError: if one cannot be read, or a page is not as it was written.
        """
        listed = list(names)
        options = {"page_checksum_verification": True, **options}
        try:
            try:
                return self._read_table(listed, options)
            except FileNotFoundError:
                return self._read_table(self._whereabouts(listed), options)
        except (OSError, pa.ArrowException) as error:
            common = self.url(listed[0] if len(listed) == 1 else listed[0].rpartition("/")[0])
            raise InputError(f"{common}: cannot be read: {one_line(error)}") from error

    def parse_table(self, name: str, content: bytes) -> pa.Table:
        """Return the table of a Parquet file that was read.

        Raises:
            InputError: naming the file, if its content is damaged.
        """
        try:
            return parse_parquet(content)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise unreadable(self.url(name), error) from error

    def _read_table(self, names: Sequence[str], options: dict[str, Any]) -> pa.Table:
        filesystem, _, _ = locate(self.root)
        paths = [locate(self.url(name))[1] for name in names]
        return pq.read_table(paths, filesystem=filesystem, partitioning=None, **options)

    @abc.abstractmethod
    def checksum(self, name: str) -> Checksum:
        """Return size and SHA-256 of a file.

        Raises:
            FileNotFoundError: if it is not there.
        """

    def check_pages(self, name: str) -> None:
        """Read all of a Parquet file, a row group at a time, for the checksums of its pages.

        Raises:
            InputError: naming the file, if it cannot be read.
        """
        url = self.url(name)
        try:
            with open_file(url) as source:
                parquet = pq.ParquetFile(source, page_checksum_verification=True)
                for number in range(parquet.num_row_groups):
                    parquet.read_row_group(number)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(url, error) from error

    def _whereabouts(self, names: Sequence[str]) -> list[str]:
        """Return where files are that were not in place.

        They are put in place, unless we may not write: then they are read in their drafts.
        """
        try:
            self.settle()
        except AccessError:
            held = self.not_in_place()
            return [name if self.exists(name) else held.get(name, name) for name in names]
        return list(names)

    def not_in_place(self) -> dict[str, str]:
        """Return where the files of drafts that count are, by their own names."""
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
        """Make room for files, unless there is."""

    @abc.abstractmethod
    def new_file(self, name: str) -> contextlib.AbstractContextManager[Path]:
        """Give a local path to write to, whose file gets the name when the block ends well.

        A file that has the name stays as it is.
        """

    @abc.abstractmethod
    def write_text(self, name: str, text: str) -> None:
        """Create a file of text; one that is there stays as it is."""

    @abc.abstractmethod
    def replace(self, contents: Mapping[str, bytes]) -> None:
        """Write files by their names, each in place of one that may be there: no workspace's.

        On a file system none comes into its place before there is room for all of them. Of several
        the last is away from when the first comes until all others have come.
        """

    @abc.abstractmethod
    def exchange(self, name: str, content: bytes, was: Checksum) -> None:
        """Write a file in place of one that is as it was read; one that is so already stays.

        Raises:
            InputError: if somebody else changed it meanwhile; it stays as it is then.
        """

    def changed(self, name: str) -> InputError:
        """Return the error of a file that somebody else changed since it was read."""
        return InputError(
            f"{self.url(name)}: another command changed it meanwhile; run this one again"
        )

    @abc.abstractmethod
    def remove(self, names: Collection[str]) -> None:
        """Remove files; one that is not there is removed already."""

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        """Create a JSON file with version and checksum; one that is there stays as it is."""
        latest = self.latest_version(name)
        told = content if latest is None else {VERSION: latest, **content}
        text = json.dumps(sealed(told), indent=1, ensure_ascii=False, allow_nan=False)
        self.write_text(name, text + "\n")

    def write_table(
        self, name: str, table: pa.Table, row_group_size: int | None = None
    ) -> Checksum:
        """Write a Parquet file; one that is there stays as it is.

        Returns:
            The checksum of the file that has the name now.
        """
        with self.new_file(name) as path:
            write_parquet(table, path, row_group_size=row_group_size)
        return self.checksum(name)

    # --- drafts

    def is_whole(self, draft: str) -> bool:
        """Tell whether all files of a draft are held, so that it may count by now or soon."""
        return MARKER in self.below(f"{DRAFTS}/{draft}")

    def drop(self, drafts: Collection[str]) -> None:
        """Remove drafts whose commands, should they live, are sure to give them up."""
        for draft in drafts:
            self.settle_draft(draft, won=False)

    @contextlib.contextmanager
    def draft(self) -> Iterator[Draft]:
        """Give a draft to fill and commit; if it is not committed, nothing is left of it."""
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
            AccessError: if there is something to do and we may not write.
            InputError: naming a marker that is damaged.
        """
        for name in self.drafts():
            won = self._counts(name)
            if won is not None:
                self.settle_draft(name, won)

    def settle_if_allowed(self) -> None:
        """Do what `settle` does, unless we may not write: who only reads need not."""
        with contextlib.suppress(AccessError):
            self.settle()

    def _counts(self, draft: str) -> bool | None:
        """Tell whether a draft counts; None if it is being written, or was given up."""
        try:
            marker = self._read_object(f"{DRAFTS}/{draft}/{MARKER}").get("marker")
            if not isinstance(marker, str):
                raise InputError(f"{self.url(f'{DRAFTS}/{draft}/{MARKER}')}: damaged")
            return self._read_object(marker).get("draft") == draft
        except FileNotFoundError:
            return None

    def settle_draft(self, name: str, won: bool) -> None:
        """Put the files of a draft where they belong, or remove them; others may do the same."""
        folder = f"{DRAFTS}/{name}"
        held = self.below(folder)
        files = [file for file in held if file != MARKER]
        for file in files if won else []:
            self.place(f"{folder}/{file}", file)
        self.sync(files if won else [])
        # The marker goes last: until then whoever comes goes on with it.
        self.remove([f"{folder}/{file}" for file in files])
        self.remove([f"{folder}/{MARKER}"] if MARKER in held else [])

    @abc.abstractmethod
    def drafts(self) -> list[str]:
        """Return the names of the drafts that are there."""

    @abc.abstractmethod
    def drafting(self, folder: str) -> contextlib.AbstractContextManager[Path]:
        """Give a local directory for the files of a draft, which is at ``folder`` of the store."""

    @abc.abstractmethod
    def hold(self, directory: Path, folder: str) -> None:
        """Keep all files of a local directory in a folder of the store."""

    @abc.abstractmethod
    def below(self, folder: str) -> list[str]:
        """Return the names of all files at any depth of a folder, within it, ordered."""

    def written(self, folders: Collection[str], which: Callable[[str], bool]) -> list[str]:
        """Return the names of files in folders, of those whose names there are wanted."""
        found = [(folder, name) for folder in folders for name in self.below(folder)]
        return [f"{folder}/{name}" for folder, name in found if which(name)]

    @abc.abstractmethod
    def place(self, source: str, target: str) -> None:
        """Give a file another name too; if it has gone, or that is there, somebody else has."""

    @abc.abstractmethod
    def sync(self, names: Collection[str]) -> None:
        """Wait until files that were placed will be there after a loss of power."""

    # --- keeping out of each other's way

    @abc.abstractmethod
    def one_at_a_time(self) -> contextlib.AbstractContextManager[None]:
        """Wait until no other command of this machine is changing the store, and keep others out.

        A shared store keeps nobody out: there the second of two drafts with one marker is lost.
        """

    def check_free(self, products: Collection[str]) -> None:
        """Check that nothing is there but what is written before the marker, by someone who failed.

        Raises:
            InputError: naming the first of anything else.
        """
        self.refuse([name for name in self.names() if name not in products])

    def refuse(self, held: Sequence[str]) -> None:
        """Raise an `InputError` naming the first of what is held, if anything is."""
        if held:
            raise InputError(
                f"{self.root}: not empty and not a workspace, it holds {held[0]}; "
                "choose another directory"
            )

    @abc.abstractmethod
    def preparing(
        self, marker: str, attempt: str, products: Collection[str]
    ) -> contextlib.AbstractContextManager[None]:
        """Give the store to whoever prepares it; unless it is prepared then, what they wrote goes.

        Args:
            marker: the file by which it is prepared.
            attempt: part of the names of what is written, in a shared store.
            products: files and folders that are written before the marker.

        Raises:
            InputError: if there is something else, or, where it can be known, somebody else at it.
        """
