"""Flushing files and folders to the disk, so that they are there after a loss of power.

A file that was written is in the memory of the machine first, and so is its name in its folder:
`fsync` of the file keeps the content, `fsync` of the folder keeps the name (POSIX.1-2017, `fsync`).
"""

import contextlib
import errno
import os
import uuid
from collections.abc import Iterable
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


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, in place of one that may be there: as a whole, or not at all.

    Raises:
        OSError: if it cannot be written; what was there stays.
    """
    # Like no other name, and new: nobody can have put a link there.
    draft = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    try:
        with draft.open("xb") as file:
            file.write(content)
        sync_file(draft)
        draft.replace(path)
    except OSError as error:
        # Nobody but us knows the name of the draft.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)
