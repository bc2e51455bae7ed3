"""The file systems of Arrow that reach paths of this machine and of stores."""

import datetime
import errno
import functools
import os
import stat
import urllib.parse
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs

from evalsampling.errors import InputError

_RETRY_SECONDS = 60
"""How long a request to Google Cloud Storage is tried again."""

EMULATOR = "STORAGE_EMULATOR_HOST"
"""The variable by which Google's clients find an emulator of Google Cloud Storage."""


def is_url(path: str | Path) -> bool:
    """Tell whether a path is of another machine: ``scheme://...``."""
    return isinstance(path, str) and "://" in path


def folder_of(path: str | Path) -> str:
    """Return the directory of a file, absolute, or its URL."""
    return str(path).rpartition("/")[0] if is_url(path) else str(Path(path).resolve().parent)


def locate(path: str) -> tuple[Any, str, str]:
    """Return the file system of a path, the path there, and what stands before that.

    Raises:
        InputError: if there is no such store, this build of pyarrow does not reach it, or the path
            has a NUL.
    """
    if "\0" in path:
        raise InputError(f"{path!a}: no path has such characters")
    scheme, mark, rest = path.partition("://")
    if not mark:
        return pyarrow.fs.LocalFileSystem(), path, ""
    authority, _, _ = rest.partition("/")
    if scheme in ("hdfs", "viewfs"):
        return _store(scheme, authority), rest[len(authority) :], f"{scheme}://{authority}"
    return _store(scheme, authority), rest, f"{scheme}://"


def open_file(path: str) -> pa.NativeFile:
    """Open a file for reading anywhere in it.

    Raises:
        InputError: if it cannot be opened.
    """
    filesystem, inner, _ = locate(path)
    try:
        return filesystem.open_input_file(inner)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error


def read_file(path: str) -> bytes:
    """Return the content of a file.

    Raises:
        InputError: if it cannot be read.
    """
    try:
        with open_file(path) as file:
            content: bytes = file.read()
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error
    return content


def read_regular_file(path: str, most: int) -> bytes:
    """Return the content of a file of somebody else's, which must be one, and not too large.

    A pipe or a device of this machine is refused without waiting for it.

    Args:
        path: of the file, or its URL.
        most: bytes that it may have.

    Raises:
        InputError: if it cannot be read, is no regular file, or has more bytes.
    """
    try:
        if is_url(path):
            with open_file(path) as remote:
                size = remote.size()
                content: bytes = remote.read() if size <= most else b""
        else:
            with open(path, "rb", opener=_without_waiting) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise InputError(f"{path}: cannot be read: not a regular file")
                content = file.read(most + 1)
                size = max(len(content), os.fstat(file.fileno()).st_size)
    except InputError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:  # a name with a NUL, say
        raise unreadable(path, error) from error
    if size > most:
        raise InputError(f"{path}: has {size:,} bytes, at most {most:,} are read: divide it")
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def unreadable(path: str, error: Exception) -> InputError:
    """Return the error of a file that cannot be read, in one line."""
    return InputError(f"{path}: cannot be read: {one_line(error)}")


def one_line(error: Exception) -> str:
    """Return the message of an error without its line ends.

    Of an error of the system, what it is: Arrow says that twice, and where once more, or of a file
    that is not there nothing but its name.
    """
    if isinstance(error, FileNotFoundError):
        return os.strerror(errno.ENOENT)
    if isinstance(error, OSError) and error.errno and "[errno" in str(error).lower():
        return os.strerror(error.errno)
    return " ".join(str(error).split())


@functools.cache
def _store(scheme: str, authority: str) -> Any:
    """Return the file system of a store.

    Raises:
        InputError: as `locate` says.
    """
    try:
        if scheme == "gs":
            emulator = os.environ.get(EMULATOR)
            limit = datetime.timedelta(seconds=_RETRY_SECONDS)
            if emulator is None:
                return pyarrow.fs.GcsFileSystem(retry_time_limit=limit)
            address = urllib.parse.urlsplit(emulator if "//" in emulator else f"http://{emulator}")
            return pyarrow.fs.GcsFileSystem(
                anonymous=True,
                scheme=address.scheme,
                endpoint_override=address.netloc,
                retry_time_limit=limit,
            )
        return pyarrow.fs.FileSystem.from_uri(f"{scheme}://{authority}/")[0]
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{scheme}://{authority}: {one_line(error)}") from error
