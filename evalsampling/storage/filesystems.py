"""Arrow's file systems for local paths and URLs of stores, reading files by them, and errors."""

import contextlib
import datetime
import errno
import functools
import os
import stat
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.fs

from evalsampling.errors import InputError

_RETRY_SECONDS = 60
"""How long a failing request to Google Cloud Storage is repeated, in seconds."""

EMULATOR = "STORAGE_EMULATOR_HOST"
"""Environment variable that gives Google's clients the address of an emulator."""

_REQUESTS = 8
"""Files looked at at once."""

_File = TypeVar("_File")
_Seen = TypeVar("_Seen")


def at_once(look: Callable[[_File], _Seen], files: Iterable[_File]) -> list[_Seen]:
    """Return the results of a function for each file, several at a time: stores answer slowly."""
    listed = list(files)
    if len(listed) < 2:
        return list(map(look, listed))
    with ThreadPoolExecutor(_REQUESTS) as requests:
        return list(requests.map(look, listed))


def is_url(path: str | Path) -> bool:
    """Return whether a path is a URL: ``scheme://...``."""
    return isinstance(path, str) and "://" in path


def folder_of(path: str | Path) -> str:
    """Return the directory of a file, absolute, or its URL."""
    return str(path).rpartition("/")[0] if is_url(path) else str(Path(path).resolve().parent)


def locate(path: str) -> tuple[Any, str, str]:
    """Return the Arrow file system of a path, the path within it, and the prefix cut off."""
    if "\0" in path:
        raise InputError(f"{path!a}: no path has such characters")
    scheme, mark, location = path.partition("://")
    if not mark:
        return pyarrow.fs.LocalFileSystem(), path, ""
    authority, _, _ = location.partition("/")
    if scheme in ("hdfs", "viewfs"):
        return _store(scheme, authority), location[len(authority) :], f"{scheme}://{authority}"
    return _store(scheme, authority), location, f"{scheme}://"


def open_file(path: str) -> pa.NativeFile:
    """Return a file opened for reading at any position."""
    filesystem, inner, _ = locate(path)
    with readable(path):
        return filesystem.open_input_file(inner)


def read_file(path: str) -> bytes:
    """Return the content of a file."""
    with readable(path), open_file(path) as file:
        content: bytes = file.read()
    return content


def read_regular_file(path: str, most: int, follow: bool = True) -> bytes:
    """Return the content of a file that somebody else delivers: a regular file, not too large.

    A pipe or a device of this machine is refused without waiting for it. If the file is written
    meanwhile, the result is its old content or a beginning of the new one, never a mixture.
    """
    with readable(path):
        size, content = (
            _of_store(path, most) if is_url(path) else _of_this_machine(path, most, follow)
        )
    if size > most:
        raise InputError(f"{path}: has {size:,} bytes, at most {most:,} are read: divide it")
    return content


def _of_this_machine(path: str, most: int, follow: bool) -> tuple[int, bytes]:
    """Return size and content of a local file; of a file above `most`, only a beginning."""
    further = os.O_NONBLOCK if follow else os.O_NONBLOCK | os.O_NOFOLLOW
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | further)) as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise InputError(f"{path}: cannot be read: not a regular file")
        content = file.read(most + 1)
        after = os.fstat(file.fileno())
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            file.seek(0)
            # A file that was only appended to still begins with what was read.
            if not file.read(most + 1).startswith(content):
                raise _overwritten(path)
    return max(len(content), after.st_size), content


def _of_store(path: str, most: int) -> tuple[int, bytes]:
    """Return size and content of an object; the content is empty if it is above `most`."""
    filesystem, inner, _ = locate(path)
    before = filesystem.get_file_info(inner)
    with open_file(path) as file:
        try:
            size = file.size()
            content: bytes = file.read() if size <= most else b""
        except (OSError, ValueError, pa.ArrowException) as error:
            # Google Cloud Storage reads one generation of an object, which may have been replaced.
            if _version(filesystem.get_file_info(inner)) != _version(before):
                raise _overwritten(path) from error
            raise
    # Other stores read what is there at the moment, so the version is compared.
    if _version(filesystem.get_file_info(inner)) != _version(before) or size != before.size:
        raise _overwritten(path)
    return size, content


def _version(info: Any) -> tuple[Any, ...]:
    return info.type, info.size, info.mtime


def _overwritten(path: str) -> InputError:
    return InputError(f"{path}: was overwritten or removed while it was read; run this one again")


@contextlib.contextmanager
def readable(path: str) -> Iterator[None]:
    """Turn the errors of reading a file in a block into one line that names it."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:  # a name with a NUL, say
        raise unreadable(path, error) from error


def unreadable(path: str, error: Exception) -> InputError:
    """Return the error of a file that cannot be read, in one line."""
    return InputError(f"{path}: cannot be read: {one_line(error)}")


def one_line(error: Exception) -> str:
    """Return the message of an error in one line.

    For an error of the operating system it is the text of its number: Arrow repeats that text and
    the path, or gives nothing except the name of a missing file.
    """
    if isinstance(error, FileNotFoundError):
        return os.strerror(errno.ENOENT)
    if isinstance(error, OSError) and error.errno and "[errno" in str(error).lower():
        return os.strerror(error.errno)
    return " ".join(str(error).split())


@functools.cache
def _store(scheme: str, authority: str) -> Any:
    """Return the file system of a store."""
    try:
        if scheme == "gs":
            emulator = os.environ.get(EMULATOR)
            limit = datetime.timedelta(seconds=_RETRY_SECONDS)
            options: dict[str, Any] = {}
            if emulator is not None:
                url = urllib.parse.urlsplit(emulator if "//" in emulator else f"http://{emulator}")
                options = {"anonymous": True, "scheme": url.scheme, "endpoint_override": url.netloc}
            return pyarrow.fs.GcsFileSystem(retry_time_limit=limit, **options)
        return pyarrow.fs.FileSystem.from_uri(f"{scheme}://{authority}/")[0]
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{scheme}://{authority}: {one_line(error)}") from error


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
