"""Flushing files and folders to the disk, so that they are there after a loss of power.

A file that was written is in the memory of the machine first, and so is its name in its folder:
`fsync` of the file keeps the content, `fsync` of the folder keeps the name (POSIX.1-2017, `fsync`).
"""

import contextlib
import errno
import os
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path

_CANNOT = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)
"""What file systems say that have no `fsync` of folders."""


def sync_file(path: Path) -> None:
    """Flush the content of a file.

    Raises:
        OSError: if it cannot be kept; nothing that rests on the file may be written then.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """Flush the names in a folder; a file system that cannot do that is taken at its word.

    Raises:
        OSError: if they cannot be kept.
    """
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Flush all files below a folder, then the folders, the innermost first."""
    for at, _, files in os.walk(folder, topdown=False):
        for name in files:
            sync_file(Path(at, name))
        sync_folder(Path(at))


def sync_parents(root: Path, names: Iterable[str]) -> None:
    """Flush the folders that files are in, up to a root and with it.

    Args:
        root: of the names.
        names: of files, relative to the root.
    """
    folders = {parent for name in names for parent in Path(name).parents}
    for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        sync_folder(root / folder)


def make_folders(path: Path) -> None:
    """Make a folder and those above it, and flush the names of all that are new.

    Raises:
        OSError: if that cannot be done; folders that are new are gone then.
    """
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        for folder in new:
            sync_folder(folder.parent)
    except OSError:
        for folder in new:
            # One that somebody has put something into meanwhile stays.
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def replace_file(path: Path, content: bytes, drafts: Path | None = None) -> None:
    """Write a file, in place of one that may be there: as a whole, or not at all.

    Args:
        path: of the file.
        content: of it.
        drafts: folder of the same file system for what is not whole yet; by default that of the
            file.

    Raises:
        OSError: if it cannot be written; what was there stays.
    """
    replace_files({path: content}, drafts)


def replace_files(contents: Mapping[Path, bytes], drafts: Path | None = None) -> None:
    """Write files in place of those that may be there, when there is room for all of them.

    All are written and flushed under other names before the first gets its own, in their order. Of
    several the last is taken away first: so it is there beside those it came with, or not at all.

    Args:
        contents: by path.
        drafts: see `replace_file`.

    Raises:
        OSError: naming the file, if one cannot be written; what was there stays, unless a file may
            not be replaced whose folder may be written to: then the last may be away.
    """
    # Like no other name, and new: nobody can have put a link there.
    told = {path: (drafts or path.parent) / f".{path.name}-{uuid.uuid4().hex}" for path in contents}
    *others, last = told
    at, aside = next(iter(contents)), told[last].with_name(f"{told[last].name}-old")
    try:
        for at, draft in told.items():
            if at.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            with draft.open("xb") as file:
                file.write(contents[at])
            sync_file(draft)
        if others:
            _take_away(at, aside)
        for at in others:
            told[at].replace(at)
        _sync_folders_of(others)
        at = last
        told[at].replace(at)
    except OSError as error:
        if aside.exists() and told[others[0]].exists():  # None of the others has come.
            aside.replace(last)
        # Nobody but us knows the names of the drafts.
        raise OSError(error.errno, error.strerror, str(at)) from error
    finally:
        for draft in (*told.values(), aside):
            draft.unlink(missing_ok=True)
    _sync_folders_of(contents)


def _take_away(path: Path, aside: Path) -> None:
    """Give a file another name, if it is there, so that it is away after a loss of power too."""
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
        sync_folder(path.parent)


def _sync_folders_of(paths: Iterable[Path]) -> None:
    """Flush the names of files in their folders."""
    for folder in {path.parent for path in paths}:
        sync_folder(folder)
