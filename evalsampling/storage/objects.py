"""Stores of objects: names and contents, without folders to rename and without locks."""

import abc
import contextlib
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from evalsampling.errors import InputError
from evalsampling.storage.base import DRAFTS, AccessError, Store
from evalsampling.storage.checksums import Checksum


class ObjectStore(Store):
    """Objects of which one can be created only if there is none of its name.

    What else a store does is made of that. Nobody is kept out: of two commands that create the
    same marker, one is told that it lost.
    """

    shared = True

    # --- what a store of objects writes

    @classmethod
    @abc.abstractmethod
    def at(cls, root: str) -> "ObjectStore":
        """Return the store of a URL, as `Store.at` says."""

    @abc.abstractmethod
    def sizes(self, beginning: str = "") -> Mapping[str, int]:
        """Return the bytes of all objects whose names begin so, by name.

        Raises:
            InputError: if the store fails, as everywhere below.
        """

    @abc.abstractmethod
    def read(self, name: str) -> bytes:
        """Return the content of an object.

        Raises:
            FileNotFoundError: if it is not there.
        """

    @abc.abstractmethod
    def create(self, name: str, content: bytes | Path) -> None:
        """Create an object of a content, or of that of a local file; one that is there stays."""

    @abc.abstractmethod
    def overwrite(self, name: str, content: bytes) -> None:
        """Write an object, in place of one that may be there."""

    @abc.abstractmethod
    def exchange(self, name: str, content: bytes, was: Checksum) -> None:
        """Write an object in place of one that is as it was read, as `Store.exchange` says."""

    @abc.abstractmethod
    def remove(self, names: Collection[str]) -> None:
        """Remove objects; one that is not there is removed already."""

    # --- what follows from that

    def exists(self, name: str) -> bool:
        """Tell whether there is an object of that name."""
        return name in self.sizes(name)

    def names(self, folder: str = "") -> list[str]:
        """Return what objects and folders of a folder are called there, ordered."""
        found = {name.partition("/")[0] for name in self.below(folder)}
        return sorted(name for name in found if not name.startswith("."))

    def below(self, folder: str) -> list[str]:
        """Return the names of all objects of a folder, within it, ordered."""
        base = within(folder)
        return sorted(name.removeprefix(base) for name in self.sizes(base))

    def checksum(self, name: str) -> Checksum:
        """Return size and SHA-256 of an object."""
        return Checksum.from_content(self.read(name))

    def make(self) -> None:
        """Do nothing: there is room."""

    @contextlib.contextmanager
    def new_file(self, name: str) -> Iterator[Path]:
        """Give a local path to write to, whose file becomes the object when the block ends well."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / name.rpartition("/")[2]
            yield path
            self.create(name, path)

    def write_text(self, name: str, text: str) -> None:
        """Create an object of text; one that is there stays as it is."""
        self.create(name, text.encode())

    def replace(self, contents: Mapping[str, bytes]) -> None:
        """Write objects by their names, each in place of one that may be there."""
        *others, last = contents
        if others:
            with contextlib.suppress(AccessError):  # Who may not remove it may not replace it.
                self.remove([last])
        for name, content in contents.items():
            self.overwrite(name, content)

    def drafts(self) -> list[str]:
        """Return the names of the drafts that are there."""
        return sorted({name.partition("/")[0] for name in self.below(DRAFTS)})

    @contextlib.contextmanager
    def drafting(self, folder: str) -> Iterator[Path]:
        """Give a local directory for the files of a draft."""
        with tempfile.TemporaryDirectory() as directory:
            yield Path(directory)

    def hold(self, directory: Path, folder: str) -> None:
        """Create an object of each file of a local directory."""
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                self.create(f"{folder}/{path.relative_to(directory)}", path)

    def place(self, source: str, target: str) -> None:
        """Give an object another name too; if it has gone, or that is there, somebody else has."""
        with contextlib.suppress(FileNotFoundError):
            self.create(target, self.read(source))

    def sync(self, names: Collection[str]) -> None:
        """Do nothing: what was created is kept."""

    @contextlib.contextmanager
    def one_at_a_time(self) -> Iterator[None]:
        """Keep nobody out, but put in place what others have left."""
        self.settle()
        yield

    @contextlib.contextmanager
    def preparing(self, marker: str, attempt: str, products: Collection[str]) -> Iterator[None]:
        """Give the store to whoever prepares it; what one wrote who fails is removed."""
        if self.exists(marker):
            raise InputError(f"{self.root}: another prepare has finished there meanwhile")
        self.check_free(products)
        try:
            yield
        except InputError as error:
            # Of a job that has failed. One that its launcher lost sight of may go on.
            finished = self.exists(marker)
            if not finished or self.read_json(marker).get("attempt") != attempt:
                self.remove(self.written(products, lambda name: attempt in name))
                if finished:
                    # Which removed what this one had written: any step may have missed it.
                    told = f"{self.root}: another prepare has finished there meanwhile"
                    raise InputError(told) from error
            raise


def within(folder: str) -> str:
    """Return how the names of what is in a folder begin."""
    return f"{folder}/" if folder else ""
