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
    """A store that can create an object only if there is none of its name.

    All that a store does is made of that and a few more methods, which a class below defines. No
    command is kept out: of two that create the same marker, one gets an error.
    """

    shared = True

    # --- methods that a store of objects defines beside `read`, `exchange` and `remove`

    @classmethod
    @abc.abstractmethod
    def at(cls, root: str) -> "ObjectStore":
        """Return the store of a URL, as `Store.at` says."""

    @abc.abstractmethod
    def sizes(self, beginning: str = "") -> Mapping[str, int]:
        """Return the sizes in bytes of all objects whose names begin with a text, by name.

        Raises:
            InputError: if the store fails, as everywhere below.
        """

    @abc.abstractmethod
    def create(self, name: str, content: bytes | Path) -> None:
        """Create an object with a content, or with that of a local file; an existing one stays."""

    @abc.abstractmethod
    def overwrite(self, name: str, content: bytes) -> None:
        """Write an object; an existing one is replaced."""

    # --- methods made of those

    def exists(self, name: str) -> bool:
        return name in self.sizes(name)

    def names(self, folder: str = "") -> list[str]:
        names = {name.partition("/")[0] for name in self.below(folder)}
        return sorted(name for name in names if not name.startswith("."))

    def below(self, folder: str) -> list[str]:
        base = within(folder)
        return sorted(name.removeprefix(base) for name in self.sizes(base))

    def checksum(self, name: str) -> Checksum:
        return Checksum.from_content(self.read(name))

    def make(self) -> None:
        """Do nothing: a bucket exists before its objects."""

    @contextlib.contextmanager
    def new_file(self, name: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / name.rpartition("/")[2]
            yield path
            self.create(name, path)

    def write_text(self, name: str, text: str) -> None:
        self.create(name, text.encode())

    def replace(self, contents: Mapping[str, bytes]) -> None:
        *others, last = contents
        if others:
            with contextlib.suppress(AccessError):  # Who may not remove it may not replace it.
                self.remove([last])
        for name, content in contents.items():
            self.overwrite(name, content)

    def drafts(self) -> list[str]:
        return sorted({name.partition("/")[0] for name in self.below(DRAFTS)})

    @contextlib.contextmanager
    def drafting(self, folder: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as directory:
            yield Path(directory)

    def hold(self, directory: Path, folder: str) -> None:
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                self.create(f"{folder}/{path.relative_to(directory)}", path)

    def place(self, source: str, target: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.create(target, self.read(source))

    def sync(self, names: Collection[str]) -> None:
        """Do nothing: objects are kept once they are created."""

    @contextlib.contextmanager
    def one_at_a_time(self) -> Iterator[None]:
        """Settle the drafts that others have left; no command is kept out."""
        self.settle()
        yield

    @contextlib.contextmanager
    def preparing(self, marker: str, attempt: str, products: Collection[str]) -> Iterator[None]:
        """Hold the store for a prepare; the files of one that fails are removed."""
        if self.exists(marker):
            raise self.overtaken()
        self.check_free(products)
        try:
            yield
        except InputError as error:
            # An `InputError` means that the job has failed: after other errors it may still run.
            finished = self.exists(marker)
            if not finished or self.read_json(marker).get("attempt") != attempt:
                self.remove(self.written(products, lambda name: attempt in name))
                if finished:
                    # It removed the files of this one, on which any step may have failed.
                    raise self.overtaken() from error
            raise


def within(folder: str) -> str:
    """Return the beginning of the names of all objects in a folder."""
    return f"{folder}/" if folder else ""
