"""The files of a pool, wherever they are: on this machine or in an object store."""

import contextlib
import dataclasses
import datetime
import fnmatch
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.fs

from evalsampling.errors import InputError
from evalsampling.storage import open_store
from evalsampling.storage.filesystems import (
    is_url,
    locate,
    one_line,
    open_file,
    readable,
    unreadable,
)

_FLAT = "s3://"
"""Scheme of a store without folders: all objects with a common prefix are listed."""

TEXT = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
"""Ends of the names of files that may be compressed as a whole, and may be empty."""


@dataclasses.dataclass(frozen=True)
class StoredFile:
    """Path, size and version of a file, as a listing shows them."""

    path: str  # absolute, or with the scheme of its store: ``gs://bucket/object``
    size: int  # bytes
    # when an object of a store was last written, in UTC; None for files of this machine, whose
    # times change when they are copied
    modified: str | None = None
    # of an object in Google Cloud Storage, instead: another one if it is written again
    generation: int | None = None
    # when a file of this machine was last written, in nanoseconds since 1970. It tells whether a
    # file changes while a command reads it, and nothing beyond that.
    written: int | None = None


def find_files(pattern: str) -> list[StoredFile]:
    """Return the files that a path or a pattern names, by path; of a folder all files in it."""
    files = _found(pattern)
    if not files and not _is_pattern(pattern):
        files = _found(f"{pattern.rstrip('/')}/**")
    if not files:
        raise InputError(f"{pattern}: no such file")
    filled = [file for file in files if file.size or not file.path.lower().endswith(TEXT)]
    return sorted(filled or files, key=lambda file: file.path)


def would_find(pattern: str, path: str) -> bool:
    """Return whether a pattern would match a file that may not exist yet, or one in a folder."""
    place = path if is_url(path) else os.path.abspath(path)
    patterns = [pattern] if _is_pattern(pattern) else [pattern, f"{pattern.rstrip('/')}/**"]
    files = place.split("/"), f"{place}/new.parquet".split("/")
    return any(_matches(names, each.split("/")) for names in files for each in patterns)


def _found(pattern: str) -> list[StoredFile]:
    if pattern.startswith("gs://"):
        bucket, _, path = pattern.removeprefix("gs://").partition("/")
        begin, patterns = len(f"gs://{bucket}/"), path.split("/")
        below = _below(re.split(r"[*?[]", pattern)[0])
        return [file for file in below if _matches(file.path[begin:].split("/"), patterns)]
    filesystem, path, prefix = locate(pattern)
    if _is_pattern(path.partition("/")[0]) and not prefix:
        path = f"./{path}"  # Arrow knows the current folder by its name alone.
    try:
        entries = list(_expand(filesystem, "", path.split("/"), pattern.startswith(_FLAT)))
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{pattern}: cannot be listed: {one_line(error)}") from error
    return _stored(entries, prefix)


def find_file(path: str) -> StoredFile:
    """Return the file of a path that is no pattern: each character stands for itself."""
    if path.startswith("gs://"):
        files = [file for file in _below(path) if file.path == path]
    else:
        filesystem, inner, prefix = locate(path)
        with readable(path):
            files = _stored([filesystem.get_file_info(inner)], prefix)
    if not files:
        raise InputError(f"{path}: no such file")
    return files[0]


def has_changed(file: StoredFile, if_gone: bool = True) -> bool:
    """Tell whether a file has changed since it was listed; ``if_gone`` answers for a lost file."""
    try:
        return find_file(file.path) != file
    except InputError:
        return if_gone


def error_of_reading(file: StoredFile | None, error: InputError) -> InputError:
    """Return the error of reading a file: that it has changed, if it has, else a given one."""
    if file is None or not has_changed(file, if_gone=False):  # That it is gone the error says.
        return error
    return changed_while_read(file.path)


@contextlib.contextmanager
def decodable(path: str) -> Iterator[None]:
    """Turn any exception of another package over a file into an `InputError` naming the file."""
    try:
        yield
    except InputError:
        raise
    except EOFError as error:
        raise InputError(f"{path}: is cut short") from error
    except Exception as error:
        raise unreadable(path, error) from error


def changed_while_read(path: str) -> InputError:
    """Return the error of a file that is not as it was when the command found it."""
    return InputError(f"{path}: has changed while it was read")


def _below(url: str) -> list[StoredFile]:
    """Return the objects of Google Cloud Storage whose addresses begin with a URL."""
    bucket, _, path = url.removeprefix("gs://").partition("/")
    store: Any = open_store(f"gs://{bucket}")  # a `GcsStore`, which knows generations
    return [
        StoredFile(f"gs://{bucket}/{name}", size, generation=generation)
        for name, size, generation in store.objects(path)
        if not name.endswith("/")
    ]


def _stored(entries: Iterable[Any], prefix: str) -> list[StoredFile]:
    """Return the files among the entries that a file system of Arrow's has found."""
    files = [info for info in entries if info.type == pyarrow.fs.FileType.File]
    if not prefix:
        return [StoredFile(info.path, info.size, written=info.mtime_ns) for info in files]
    times = [info.mtime and info.mtime.astimezone(datetime.UTC).isoformat() for info in files]
    return [
        StoredFile(prefix + info.path, info.size, modified=modified)
        for info, modified in zip(files, times, strict=True)
    ]


def _expand(filesystem: Any, base: str, patterns: Sequence[str], flat: bool) -> Iterator[Any]:
    """Yield the files below a folder that the parts of a pattern name.

    Level by level, but for ``**`` and in flat stores, which have no folders.
    """
    fixed = next((i for i, part in enumerate(patterns) if _is_pattern(part)), len(patterns))
    base = "/".join([base, *patterns[:fixed]] if base else patterns[:fixed])
    patterns = patterns[fixed:]
    if not patterns:
        yield filesystem.get_file_info(base)
        return
    deep = flat or patterns[0] == "**"
    selector = pyarrow.fs.FileSelector(base or "/", allow_not_found=True, recursive=deep)
    skipped = len(base.split("/")) if base else 0
    for info in filesystem.get_file_info(selector):
        names = info.path.split("/")[skipped:]
        if deep or len(patterns) == 1:
            if _matches(names, patterns):
                yield info
        elif info.type == pyarrow.fs.FileType.Directory and _matches(
            [*names, ""], [*patterns[:1], "*"]
        ):
            yield from _expand(filesystem, info.path, patterns[1:], flat)


def _is_pattern(name: str) -> bool:
    return any(character in name for character in "*?[")


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """Tell whether the parts of a path match the parts of a pattern."""
    if not patterns or not names:
        return not patterns and not names
    name, pattern = names[0], patterns[0]
    hidden = name.startswith(".") or (name.startswith("_") and "=" not in name)
    stands_for = not (hidden and _is_pattern(pattern) and pattern[0] != name[0])
    if pattern == "**":
        below = stands_for and _matches(names[1:], patterns)
        return below or _matches(names, patterns[1:] or ["*"])
    return stands_for and fnmatch.fnmatchcase(name, pattern) and _matches(names[1:], patterns[1:])


_BLOCKS, _BLOCK_BYTES = 4, 1 << 16


def fingerprint_of(file: StoredFile, blocks: str) -> dict[str, Any]:
    """Return path, size, hash of blocks and, in a store, version of a file, as they are known."""
    facts = dataclasses.asdict(file) | {"blocks": blocks}
    del facts["written"]  # A copy has another.
    return {key: value for key, value in facts.items() if value is not None}


def hash_of_blocks(file: StoredFile) -> str:
    """Return the SHA-256 of four blocks of 64 KiB, from begin to end, or of all of a small file."""
    digest, last = hashlib.sha256(), max(file.size - _BLOCK_BYTES, 0)
    with readable(file.path), open_file(file.path) as source:
        for place in range(_BLOCKS):
            source.seek(last * place // (_BLOCKS - 1))
            digest.update(source.read(_BLOCK_BYTES))
    return digest.hexdigest()


def what_became_of(then: Mapping[str, Any]) -> str | None:
    """Return how a file of a pool differs from its fingerprint, None if it does not."""
    stored = find_file(then["path"])
    if stored.size != then["size"]:
        return f"has {stored.size} bytes in place of {then['size']}"
    return "has changed" if fingerprint_of(stored, hash_of_blocks(stored)) != then else None


def changes_of(pool: Sequence[Mapping[str, Any]]) -> tuple[list[str], tuple[str, ...]]:
    """Return a line for each file of a pool that has changed, and for each that cannot be read."""
    changed, absent = [], []
    for file in pool:
        try:
            wrong = what_became_of(file)
        except InputError as error:
            absent.append(" ".join(str(error).split()))
        else:
            if wrong is not None:
                changed.append(f"{file['path']}: the pool's file {wrong} since it was prepared")
    return changed, tuple(absent)
