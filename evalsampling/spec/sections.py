"""Sections of a spec file: mappings with typed and checked access to their keys."""

import contextlib
import contextvars
import difflib
import math
import posixpath
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsampling.errors import InputError
from evalsampling.storage import is_url

STORES = ("gs", "s3", "hdfs")
"""Where files that are only read may be beside this machine."""


_passed_over: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar(
    "_passed_over", default=None
)


@contextlib.contextmanager
def unknown_keys() -> Iterator[list[str]]:
    """Give a list that gets a message for each unknown key; while the block runs none is refused.

    The rest of a section is read as if such a key were not there.
    """
    messages: list[str] = []
    token = _passed_over.set(messages)
    try:
        yield messages
    finally:
        _passed_over.reset(token)


class Section:
    """A mapping of the file, with typed and checked access to its keys."""

    def __init__(self, name: str, content: Any) -> None:
        if not isinstance(content, Mapping):
            raise InputError(f"{name or 'the spec'}: must be a mapping, got {content!r}")
        self.name = name
        self.content = content

    def _path(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def check_keys(self, *known: str) -> None:
        """Raise an `InputError` for a key that is not known, naming the nearest one."""
        paths = [self._path(name) for name in known]
        unknown = [self._path(str(key)) for key in self.content if key not in known]
        messages = [f"unknown key {path}{nearest(path, paths)}" for path in unknown]
        told = _passed_over.get()
        if messages and told is None:
            raise InputError(messages[0])
        if messages and told is not None:
            told += messages
            self.content = {key: self.content[key] for key in known if key in self.content}

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, the default if it is missing or null."""
        value = self.content.get(key)
        return default if value is None else value

    def section(self, key: str, required: bool = False) -> "Section":
        """Return a mapping within this one, empty if it is missing and not required."""
        if required and self.get(key) is None:
            raise InputError(f"{self._path(key)}: missing")
        return Section(self._path(key), self.get(key, {}))

    def text(self, key: str, required: bool = False) -> str | None:
        """Return a text that is not empty, None if it is missing and not required."""
        value = self.get(key)
        if value is None and required:
            raise InputError(f"{self._path(key)}: missing")
        if value is not None and (not isinstance(value, str) or not value):
            raise InputError(f"{self._path(key)}: must be text, got {value!r}")
        return value

    def integer(self, key: str, default: int, least: int) -> int:
        """Return a whole number of at least ``least``."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(
                f"{self._path(key)}: must be a whole number of at least {least}, got {value!r}"
            )
        return value

    def number(self, key: str, default: float) -> float:
        """Return a finite number."""
        return number(self._path(key), self.get(key, default))

    def columns(self, key: str) -> tuple[str, ...]:
        """Return a list of columns, each named once."""
        listed = self.get(key, [])
        if not isinstance(listed, list) or not all(isinstance(c, str) for c in listed):
            raise InputError(f"{self._path(key)}: must be a list of columns, got {listed!r}")
        for column in listed:
            if listed.count(column) > 1:
                raise InputError(f"{self._path(key)}: {column} is listed twice")
        return tuple(listed)


def number(path: str, value: Any) -> float:
    """Check that a value, named by its path, is a finite number."""
    if not is_number(value):
        raise InputError(f"{path}: must be a number, got {shown(value)}")
    return float(value)


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite number that a float can be."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # A whole number of hundreds of digits.
        return False


def shown(value: Any) -> str:
    """Return a value for a message, without the middle of a number of hundreds of digits."""
    return reprlib.repr(value) if isinstance(value, int) else repr(value)


def nearest(key: str, known: Sequence[str]) -> str:
    """Return the end of a message that names the known key most like another."""
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else f"; valid keys: {', '.join(known)}"


def absolute(key: str, path: str | None, directory: str, stores: Sequence[str]) -> str | None:
    """Return a path, resolved against a directory.

    Args:
        key: where it stands, for messages.
        path: as given.
        directory: of the spec, or its URL.
        stores: schemes of other machines that it may have.

    Raises:
        InputError: for a path of another machine, or with characters that no path has.
    """
    if path is None:
        return None
    if "\0" in path or any("\ud800" <= letter <= "\udfff" for letter in path):
        raise InputError(f"{key}: no path has such characters: {path!a}")
    if is_url(directory) and not is_url(path) and not path.startswith("/"):
        scheme, _, folder = directory.partition("://")
        path = f"{scheme}://{posixpath.normpath(f'{folder}/{path}')}"
    if not is_url(path):
        return str((Path(directory) / path).resolve())
    scheme, _, rest = path.partition("://")
    if scheme in stores:
        return f"{scheme}://{rest.rstrip('/')}"
    also = " or ".join(f"{store}://" for store in stores)
    raise InputError(f"{key}: must be a path of this machine or of {also}, got {path!r}")
