"""Arrow's file systems for local paths and URLs of stores, reading files by them, and errors."""

import contextlib
import datetime
import errno
import functools
import os
import stat
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.fs

from evalsampling.errors import InputError
from evalsampling.parts.registry import Registry

STORES: Registry[Any] = Registry(
    "stores", {"gs": "evalsampling.storage.gcs:GcsStore"}, "evalsampling.storage.base:Store"
)
"""Classes of the stores in which a workspace may be, by the scheme of their URLs."""

_BY_ARROW = ("gs", "s3", "hdfs", "viewfs")
"""Schemes whose files Arrow reads itself."""

_RETRY_SECONDS = 60
"""How long a failing request to Google Cloud Storage is repeated, in seconds."""

EMULATOR = "STORAGE_EMULATOR_HOST"
"""Environment variable that gives Google's clients the address of an emulator."""


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
    if scheme not in _BY_ARROW and scheme in STORES:
        root = f"{scheme}://{authority}"
        kind = STORES[scheme]
        filesystem = kind.filesystem(root) or pyarrow.fs.PyFileSystem(StoredFiles(kind.at(root)))
        return filesystem, location[len(authority) + 1 :], f"{root}/"
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
    """Read a file in a block; what is wrong with it is one line that names it."""
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


class StoredFiles(pyarrow.fs.FileSystemHandler):  # type: ignore[misc]
    """A read-only file system over the ``sizes`` and ``read`` of a store."""

    def __init__(self, store: Any) -> None:
        """Name the store."""
        self.store = store

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoredFiles) and other.store.root == self.store.root

    def __hash__(self) -> int:
        return hash(self.store.root)

    def get_type_name(self) -> str:
        """Return the name of this kind of file system."""
        return "evalsampling"

    def normalize_path(self, path: str) -> str:
        """Return a path without a slash at its ends."""
        return path.strip("/")

    def get_file_info(self, paths: Sequence[str]) -> list[Any]:
        """Return for each path whether it is a file, a folder or nothing."""
        return [self._info(self.normalize_path(path)) for path in paths]

    def _info(self, path: str) -> Any:
        sizes = self.store.sizes(path)
        if path in sizes:
            return pyarrow.fs.FileInfo(path, pyarrow.fs.FileType.File, size=sizes[path])
        is_folder = any(name.startswith(f"{path}/".lstrip("/")) for name in sizes)
        kind = pyarrow.fs.FileType.Directory if is_folder else pyarrow.fs.FileType.NotFound
        return pyarrow.fs.FileInfo(path, kind)

    def get_file_info_selector(self, selector: Any) -> list[Any]:
        """Return the files and folders that are in a folder, or below it."""
        folder = self.normalize_path(selector.base_dir)
        base = f"{folder}/".lstrip("/")
        sizes = self.store.sizes(base)
        if not sizes and not selector.allow_not_found:
            raise FileNotFoundError(f"{self.store.root}/{folder}: no such folder")
        infos: dict[str, Any] = {}
        for name, size in sizes.items():
            parts = name.removeprefix(base).split("/")
            for depth in range(1, len(parts)):
                inner = base + "/".join(parts[:depth])
                if depth == 1 or selector.recursive:
                    infos[inner] = pyarrow.fs.FileInfo(inner, pyarrow.fs.FileType.Directory)
            if len(parts) == 1 or selector.recursive:
                infos[name] = pyarrow.fs.FileInfo(name, pyarrow.fs.FileType.File, size=size)
        return list(infos.values())

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Return a file for reading at any position; all of it is read at once."""
        return pa.PythonFile(pa.BufferReader(self.store.read(self.normalize_path(path))), "r")

    open_input_stream = open_input_file

    def _refuse(self, *_: object) -> NoReturn:
        raise OSError(f"{self.store.root}: files are written by the store itself")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse
