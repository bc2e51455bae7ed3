"""A store that is a directory of this machine, whose files survive a loss of power.

A file that was written is first in memory, and so is its name in its folder: `fsync` of the file
keeps the content, `fsync` of the folder keeps the name (POSIX.1-2017, `fsync`).
"""

import contextlib
import errno
import fcntl
import os
import shutil
import uuid
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePath

from evalsampling.errors import InputError
from evalsampling.storage.base import AccessError, Store
from evalsampling.storage.checksums import Checksum
from evalsampling.storage.commits import UNFINISHED, sweep
from evalsampling.storage.filesystems import naming

_NOT_ALLOWED = (errno.EROFS, errno.EACCES, errno.EPERM)

_CANNOT = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)
"""Errors of file systems without `fsync` of folders."""

_IN_USE = ".in-use"


class LocalStore(Store):
    """Files below a directory; its file system must know hard links and `flock`."""

    shared = False

    def __init__(self, directory: Path) -> None:
        """Name a store; nothing is read yet."""
        self.directory = directory
        self.root = str(directory)

    # --- the five calls

    def read(self, name: str) -> bytes:
        return (self.directory / name).read_bytes()

    def create(self, name: str, content: bytes | Path) -> bool:
        if isinstance(content, Path):
            return self._name(content, name)
        with self.scratch() as scratch, naming(self.directory / name, scratch / "file"):
            (scratch / "file").write_bytes(content)
            return self._name(scratch / "file", name)

    def _name(self, file: Path, name: str) -> bool:
        """Give a flushed file its name, and return whether nobody had it."""
        with naming(self.directory / name):
            sync_file(file)
            created = self._link(file, name)
            # If the name was there, its folder may not have been flushed yet.
            for folder in PurePath(name).parents:
                _sync_folder(self.directory / folder)
        return created

    def _link(self, source: Path, name: str) -> bool:
        # Folders are made within the store only: a worker that goes on after its job has failed
        # must not recreate a workspace that was removed.
        for parent in reversed(PurePath(name).parents[:-1]):
            (self.directory / parent).mkdir(exist_ok=True)
        try:
            os.link(source, self.directory / name)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno == errno.EPERM and source.stat().st_uid != os.geteuid():
                raise  # Linux links no file of others that may not be written to.
            if error.errno in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                raise InputError(
                    f"{self.root}: its file system makes no hard links, which a workspace needs: "
                    f"{error.strerror}"
                ) from error
            raise
        return True

    def overwrite(self, name: str, content: bytes) -> None:
        replace_files({self.directory / name: content})

    def sizes(self, beginning: str = "") -> dict[str, int]:
        def pass_over(error: OSError) -> None:
            # Somebody removed a folder meanwhile. What is in one that may not be read matters.
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                raise error

        sizes = {}
        for at, _, files in os.walk(
            self.directory / beginning.rpartition("/")[0], onerror=pass_over
        ):
            for file in files:
                path = Path(at, file)
                name = path.relative_to(self.directory).as_posix()
                if name.startswith(beginning):
                    with contextlib.suppress(FileNotFoundError):
                        sizes[name] = path.lstat().st_size
        return sizes

    def remove(self, names: Collection[str]) -> None:
        for name in names:
            (self.directory / name).unlink(missing_ok=True)

    # --- what a directory does better

    def exists(self, name: str) -> bool:
        return (self.directory / name).is_file()

    def checksum(self, name: str) -> Checksum:
        return Checksum.of_file(self.directory / name)

    def make(self) -> None:
        path = self.directory
        new = [folder for folder in (path, *path.parents) if not folder.exists()]
        try:
            path.mkdir(parents=True, exist_ok=True)
            for folder in new:
                _sync_folder(folder.parent)
        except OSError:
            for folder in new:
                # A folder into which somebody has put a file meanwhile stays.
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise

    @contextlib.contextmanager
    def scratch(self, folder: str = "") -> Iterator[Path]:
        """Yield a directory on the same disk, so that its files need only a second name.

        Errors name files of the folder, not of the directory.
        """
        path = self.directory / UNFINISHED / uuid.uuid4().hex
        path.parent.mkdir(exist_ok=True)
        path.mkdir()
        try:
            with naming(self.directory / folder, path):
                yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

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

    @contextlib.contextmanager
    def one_at_a_time(self) -> Iterator[None]:
        with self.locked(_IN_USE, wait=True):
            with self._allowed():
                sweep(self)
                # What no note names: of files that had no name in the store yet.
                for path in (self.directory / UNFINISHED).glob("*/"):
                    shutil.rmtree(path, ignore_errors=True)
            yield

    @contextlib.contextmanager
    def locked(self, name: str, wait: bool) -> Iterator[int]:
        """Hold a lock that other processes of this machine see, until the block or process ends.

        Yields the descriptor of the lock file, which may have been removed before it was locked.
        """
        with self._allowed():
            opened = (self.directory / name).open("a")
        with opened as file:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            yield file.fileno()


def sync_file(path: Path) -> None:
    """Flush the content of a file."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with naming(path):
            os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(path: Path) -> None:
    """Flush the names in a folder; a file system that has no such operation is trusted."""
    try:
        sync_file(path)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise


def replace_files(contents: Mapping[Path, bytes]) -> None:
    """Write files of one folder, replacing existing ones, once there is room for all of them.

    All are written and flushed under other names before the first gets its own, in their order. The
    last of several files is removed first, so that it is never there beside other files than the
    new ones.
    """
    # Unique and new names: nobody can have put a link there.
    unfinished = {path: path.with_name(f".{path.name}-{uuid.uuid4().hex}") for path in contents}
    *others, last = unfinished
    at, aside = next(iter(contents)), unfinished[last].with_name(f"{unfinished[last].name}-old")
    try:
        for at, draft in unfinished.items():
            if at.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if at.exists() and not at.is_file():  # A device or a pipe, which others use.
                raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
            with draft.open("xb") as file:
                file.write(contents[at])
            sync_file(draft)
        if others:
            with contextlib.suppress(FileNotFoundError):
                last.rename(aside)
                _sync_folder(last.parent)
        for at in others:
            unfinished[at].replace(at)
            _sync_folder(last.parent)
        at = last
        unfinished[at].replace(at)
    except OSError as error:
        if aside.exists() and unfinished[others[0]].exists():  # None of the others is replaced.
            aside.replace(last)
        # The error names the file, not its draft, whose name nobody else knows.
        raise OSError(error.errno, error.strerror, str(at)) from error
    finally:
        for draft in (*unfinished.values(), aside):
            draft.unlink(missing_ok=True)
    _sync_folder(last.parent)
