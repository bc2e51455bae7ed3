"""A store that is a directory of this machine."""

import contextlib
import errno
import fcntl
import os
import shutil
import uuid
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from evalsampling.errors import InputError
from evalsampling.storage.base import DRAFTS, MARKER, AccessError, Store
from evalsampling.storage.checksums import Checksum
from evalsampling.storage.durability import (
    make_folders,
    naming,
    replace_files,
    sync_file,
    sync_parents,
    sync_tree,
)

_NOT_ALLOWED = (errno.EROFS, errno.EACCES, errno.EPERM)

_ASIDE = ".aside-"
"""Beginning of a draft's name while it is decided whether it may count."""

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
        # An empty folder does not count, as in a bucket: writing its first file may have failed.
        return sorted(
            entry.name
            for entry in os.scandir(path)
            if not entry.name.startswith(".") and (entry.is_file() or os.listdir(entry.path))
        )

    def read(self, name: str) -> bytes:
        return (self.directory / name).read_bytes()

    def checksum(self, name: str) -> Checksum:
        return Checksum.of_file(self.directory / name)

    # --- writing

    def make(self) -> None:
        make_folders(self.directory)

    @contextlib.contextmanager
    def new_file(self, name: str) -> Iterator[Path]:
        drafts = self.directory / DRAFTS
        drafts.mkdir(exist_ok=True)
        path = drafts / uuid.uuid4().hex
        with naming(self.directory / name, path):
            # The system applies the umask to the permissions: only it can without a race.
            path.touch(exist_ok=False)
            try:
                yield path
                sync_file(path)
                self._link(path, name)
                # If the name was there, its folder may not have been flushed yet.
                self.sync([name])
            finally:
                path.unlink(missing_ok=True)

    def _link(self, source: Path, name: str) -> None:
        # Folders are made within the store only: a worker that goes on after its job has failed
        # must not recreate a workspace that was removed, nor a draft that was taken for one of a
        # killed command.
        parents = [] if name.startswith(DRAFTS) else PurePath(name).parents[:-1]
        for parent in reversed(parents):
            (self.directory / parent).mkdir(exist_ok=True)
        try:
            os.link(source, self.directory / name)
        except FileExistsError:
            pass
        except OSError as error:
            if error.errno == errno.EPERM and source.stat().st_uid != os.geteuid():
                raise  # Linux links no file of others that may not be written to.
            if error.errno in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                raise InputError(
                    f"{self.root}: its file system makes no hard links, which a workspace needs: "
                    f"{error.strerror}"
                ) from error
            raise

    def write_text(self, name: str, text: str) -> None:
        with self.new_file(name) as path:
            path.write_text(text, encoding="utf-8")

    def replace(self, contents: Mapping[str, bytes]) -> None:
        replace_files({self.directory / name: content for name, content in contents.items()})

    def exchange(self, name: str, content: bytes, was: Checksum) -> None:
        path = self.directory / name
        current = Checksum.of_file(path) if path.exists() else None
        if current == Checksum.from_content(content):
            return
        if current != was:
            raise self.changed(name)
        # If it is killed half-way, the next command finds its draft there and removes it.
        drafts = self.directory / DRAFTS
        drafts.mkdir(exist_ok=True)
        replace_files({path: content}, drafts)

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
            with naming(self.directory, path):
                yield path
        finally:
            if not self.below(folder):
                shutil.rmtree(path, ignore_errors=True)

    def hold(self, directory: Path, folder: str) -> None:
        """Flush the files, which `drafting` has put there already."""
        sync_tree(directory)
        self.sync([folder])

    def sync(self, names: Collection[str]) -> None:
        sync_parents(self.directory, names)

    def settle(self) -> None:
        with self._allowed():
            # Drafts that a killed `_sweep` put aside.
            for aside in sorted(self.directory.glob(f"{_ASIDE}*")):
                if (aside / MARKER).exists():
                    aside.rename(self.directory / DRAFTS / aside.name.removeprefix(_ASIDE))
            super().settle()

    def below(self, folder: str) -> list[str]:
        path = self.directory / folder

        def pass_over(error: OSError) -> None:
            # Somebody removed a folder meanwhile. What is in one that may not be read matters.
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                raise error

        walk = os.walk(path, onerror=pass_over)
        paths = (Path(at, file) for at, _, files in walk for file in files)
        return sorted(str(file.relative_to(path)) for file in paths)

    def place(self, source: str, target: str) -> None:
        with contextlib.suppress(FileNotFoundError), naming(self.directory / target):
            self._link(self.directory / source, target)

    @contextlib.contextmanager
    def _allowed(self) -> Iterator[None]:
        """Raise an `AccessError` if we may not write a file or change its folder in the block."""
        try:
            yield
        except OSError as error:
            if error.errno not in _NOT_ALLOWED:
                raise
            where = error.filename2 or error.filename or self.root
            raise AccessError(f"{where}: cannot be written: {error.strerror}") from error

    # --- keeping out of each other's way

    def check_free(self, products: Collection[str]) -> None:
        self._check_no_file()
        super().check_free(products)

    def _check_no_file(self) -> None:
        """Check that neither the directory nor one of its parents is a file."""
        for path in (self.directory, *self.directory.parents):
            if path.is_file():
                raise InputError(f"{path}: a file, where a directory is wanted; choose another")

    @contextlib.contextmanager
    def one_at_a_time(self) -> Iterator[None]:
        with self._locked(_IN_USE, wait=True):
            self.settle()
            self._sweep()
            yield

    def _sweep(self) -> None:
        """Remove the drafts and files that killed commands left.

        A machine that does not see our lock may still be writing a draft, so the draft is renamed
        first. If it has no marker's name by then, it cannot get one any more.
        """
        drafts = self.directory / DRAFTS
        for path in [*self.directory.glob(f"{_ASIDE}*"), *drafts.glob("*")]:
            if not path.is_dir():
                path.unlink(missing_ok=True)
                continue
            name = path.name.removeprefix(_ASIDE)
            aside = self.directory / f"{_ASIDE}{name}"
            with contextlib.suppress(OSError):
                path.rename(aside)
                if (aside / MARKER).exists():
                    aside.rename(drafts / name)
                else:
                    shutil.rmtree(aside)

    @contextlib.contextmanager
    def preparing(self, marker: str, attempt: str, products: Collection[str]) -> Iterator[None]:
        """Hold the store as `Store.preparing` says, for one process at a time.

        Files that a killed prepare left are removed first. They are recognised by its lock file,
        so a directory of anything else is never touched.
        """
        self._check_no_file()
        lock = self.directory / _PREPARING
        if self.directory.exists() and not lock.exists() and not self.exists(marker):
            self.refuse(sorted(os.listdir(self.directory)))
        self.make()
        with contextlib.ExitStack() as stack:
            try:
                held = stack.enter_context(self._locked(_PREPARING, wait=False))
                removed = not os.path.samestat(os.fstat(held), lock.stat())
            except BlockingIOError as error:
                raise InputError(f"{self.root}: another prepare is at work there") from error
            except FileNotFoundError:
                removed = True
            if self.exists(marker):
                lock.unlink(missing_ok=True)
                raise self.overtaken()
            if removed:
                raise InputError(
                    f"{self.root}: another prepare has failed there meanwhile; run this one again"
                )
            self._clear(products)
            try:
                yield
            finally:
                if self.exists(marker):
                    lock.unlink()
                else:
                    self._abandon(products)

    def _clear(self, products: Collection[str]) -> None:
        for name in [*products, DRAFTS]:
            path = self.directory / name
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def _abandon(self, products: Collection[str]) -> None:
        """Remove the directory, unless it holds files of somebody else.

        If it does, the lock file stays, by which the next prepare recognises the directory.
        """
        self._clear(products)
        if {*os.listdir(self.directory)} <= {*products, DRAFTS, _PREPARING}:
            # A worker that still runs cannot write into a folder that was renamed.
            aside = self.directory.with_name(f".{self.directory.name}-{uuid.uuid4().hex}")
            with contextlib.suppress(OSError):
                self.directory.rename(aside)
                # A call that was under way may still put one more file there.
                while aside.exists():
                    shutil.rmtree(aside, onerror=_unless_new)

    @contextlib.contextmanager
    def _locked(self, name: str, wait: bool) -> Iterator[int]:
        """Hold a lock that other processes of this machine see, until the block or process ends.

        Yields the descriptor of the lock file, which may have been removed before it was locked.
        """
        with self._allowed():
            opened = (self.directory / name).open("a")
        with opened as file:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            yield file.fileno()


def _unless_new(_: Any, path: str, error_info: Any) -> None:
    """Ignore that a folder was not empty or that a file had gone; raise any other error."""
    if error_info[1].errno not in (errno.ENOTEMPTY, errno.ENOENT):
        raise error_info[1]
