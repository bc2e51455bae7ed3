"""A store that is a directory of this machine."""

import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path, PurePath

from evalsampling.errors import InputError
from evalsampling.storage.base import DRAFTS, Store

_PREPARING = ".preparing"
_IN_USE = ".in-use"


class LocalStore(Store):
    """Files below a directory; its file system must know hard links and `flock`."""

    shared = False

    def __init__(self, directory: Path) -> None:
        """Name a store; nothing is read yet."""
        self.directory = directory
        self.root = str(directory)

    # --- reading

    def exists(self, name: str) -> bool:
        return (self.directory / name).is_file()

    def names(self, folder: str = "") -> list[str]:
        path = self.directory / folder
        if not path.is_dir():
            return []
        return sorted(name for name in os.listdir(path) if not name.startswith("."))

    def read(self, name: str) -> bytes:
        return (self.directory / name).read_bytes()

    # --- writing

    def make(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def new_file(self, name: str) -> Iterator[Path]:
        drafts = self.directory / DRAFTS
        drafts.mkdir(exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=drafts)
        os.close(handle)
        path = Path(temporary)
        try:
            yield path
            path.chmod(0o666 & ~_umask())
            self._link(path, name)
        finally:
            path.unlink(missing_ok=True)

    def _link(self, source: Path, name: str) -> None:
        # Folders are made within the store alone: a worker that goes on after a job has failed
        # must not make anew a workspace that was removed.
        for parent in reversed(PurePath(name).parents[:-1]):
            (self.directory / parent).mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.link(source, self.directory / name)

    def write_text(self, name: str, text: str) -> None:
        with self.new_file(name) as path:
            path.write_text(text, encoding="utf-8")

    def replace_text(self, name: str, text: str) -> None:
        draft = self.directory / f".{name}-{os.getpid()}"
        draft.write_text(text, encoding="utf-8")
        draft.replace(self.directory / name)

    def remove(self, names: Collection[str]) -> None:
        for name in names:
            (self.directory / name).unlink(missing_ok=True)

    # --- drafts

    def drafts(self) -> list[str]:
        return sorted(path.name for path in (self.directory / DRAFTS).glob("*/"))

    @contextlib.contextmanager
    def drafting(self, folder: str) -> Iterator[Path]:
        path = self.directory / folder
        path.parent.mkdir(exist_ok=True)
        path.mkdir()
        try:
            yield path
        finally:
            if not self.below(folder):
                shutil.rmtree(path)

    def hold(self, directory: Path, folder: str) -> None:
        """They have been written there."""

    def below(self, folder: str) -> list[str]:
        path = self.directory / folder
        return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())

    def move(self, source: str, target: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._link(self.directory / source, target)
            (self.directory / source).unlink()

    # --- keeping out of each other's way

    @contextlib.contextmanager
    def one_at_a_time(self) -> Iterator[None]:
        with self._locked(_IN_USE, wait=True):
            self.settle()
            shutil.rmtree(self.directory / DRAFTS, ignore_errors=True)
            yield

    @contextlib.contextmanager
    def preparing(self, marker: str, attempt: str, products: Collection[str]) -> Iterator[None]:
        """As `Store.preparing` says, of one process at a time.

        What a killed one has left is removed first. It is known by its lock file, so no directory
        of anything else is ever touched.
        """
        lock = self.directory / _PREPARING
        if self.directory.exists() and not lock.exists():
            held = sorted(os.listdir(self.directory))
            if held:
                raise InputError(
                    f"{self.root}: not empty and not a workspace, it holds {held[0]}; "
                    "choose another directory"
                )
        self.make()
        try:
            with self._locked(_PREPARING, wait=False):
                if self.exists(marker):
                    lock.unlink()
                    raise InputError(f"{self.root}: another prepare has finished there meanwhile")
                self._clear(products)
                try:
                    yield
                finally:
                    prepared = self.exists(marker)
                    if not prepared:
                        self._clear(products)
                    lock.unlink()
                    if not prepared:
                        self._leave(lock)
        except BlockingIOError as error:
            raise InputError(f"{self.root}: another prepare is at work there") from error

    def _clear(self, products: Collection[str]) -> None:
        for name in [*products, DRAFTS]:
            path = self.directory / name
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def _leave(self, lock: Path) -> None:
        """Remove the directory."""
        try:
            self.directory.rmdir()
        except OSError:
            # A worker that has not heard of the end still writes: the next prepare removes that.
            lock.touch()

    @contextlib.contextmanager
    def _locked(self, name: str, wait: bool) -> Iterator[None]:
        """Hold a lock that other processes of this machine see, until the block or process ends.

        Raises:
            BlockingIOError: if the lock is held and ``wait`` is false.
        """
        with (self.directory / name).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            yield


@functools.cache
def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
