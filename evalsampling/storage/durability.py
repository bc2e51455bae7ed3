"""Flushing files and folders to the disk, so that they survive a loss of power.

A file that was written is first in memory, and so is its name in its folder: `fsync` of the file
keeps the content, `fsync` of the folder keeps the name (POSIX.1-2017, `fsync`).
"""

import contextlib
import errno
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_CANNOT = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)
"""Errors of file systems without `fsync` of folders."""


@contextlib.contextmanager
def naming(path: Path, draft: Path | None = None) -> Iterator[None]:
    """Let an error of the system in a block name a file: a full disk is met without a name."""
    try:
        yield
    except OSError as error:
        said = error.filename2 or error.filename
        if said is not None and draft is not None and Path(os.fsdecode(said)).is_relative_to(draft):
            path /= Path(os.fsdecode(said)).relative_to(draft)
        elif error.errno is None or said is not None:
            raise
        raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from error


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


def sync_parents(root: Path, names: Iterable[str]) -> None:
    """Flush the folders of files and their parents, up to and including a root."""
    folders = {parent for name in names for parent in Path(name).parents}
    for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        _sync_folder(root / folder)


def make_folders(path: Path) -> None:
    """Make a folder and its parents, and flush the names of all new ones."""
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


def replace_files(contents: Mapping[Path, bytes]) -> None:
    """Write files, replacing existing ones, once there is room for all of them.

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
        _sync_folders_of(others)
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
    _sync_folders_of(contents)


def _sync_folders_of(paths: Iterable[Path]) -> None:
    for folder in {path.parent for path in paths}:
        _sync_folder(folder)
