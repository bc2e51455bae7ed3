"""Sections of a spec file: mappings with typed and checked access to their keys."""

import contextlib
import contextvars
import difflib
import math
import posixpath
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsampling.errors import InputError
from evalsampling.parts.registry import Registry
from evalsampling.storage import STORES, is_url

READ_FROM = ("gs", "s3", "hdfs")
"""Where files that are only read may be beside this machine and stores of other packages."""


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
    """A mapping of the file, with typed and checked access to its keys.

    Attributes:
        name: of the section.
        content: of it.
        is_stored: whether it is of a workspace, so that its names of parts were checked before,
            where these parts were installed.
    """

    def __init__(self, name: str, content: Any, is_stored: bool = False) -> None:
        if not isinstance(content, Mapping):
            raise InputError(f"{name or 'the spec'}: must be a mapping, got {content!r}")
        self.name = name
        self.content = content
        self.is_stored = is_stored

    def _path(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def check_keys(self, *known: str, below: Mapping[str, Collection[str]] | None = None) -> None:
        """Raise an `InputError` for a key that is not known, naming the nearest one.

        Args:
            known: keys.
            below: those of the sections in here, by the section, where a key may be meant to be.
        """
        paths = [self._path(name) for name in known]
        hints = {
            key: f"; it is a key of {one}" for one, keys in (below or {}).items() for key in keys
        }
        unknown = [str(key) for key in self.content if key not in known]
        messages = [
            f"unknown key {self._path(key)}{hints.get(key) or nearest(self._path(key), paths)}"
            for key in unknown
        ]
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
        return Section(self._path(key), self.get(key, {}), self.is_stored)

    def text(self, key: str, required: bool = False) -> str | None:
        """Return a text that is not empty, None if it is missing and not required."""
        value = self.get(key)
        if value is None and required:
            raise InputError(f"{self._path(key)}: missing")
        if value is not None and (not isinstance(value, str) or not value):
            raise InputError(f"{self._path(key)}: must be text, got {value!r}")
        return value

    def part(self, key: str, parts: Registry[Any], default: str, ours: Sequence[str] = ()) -> str:
        """Return the name of a part, or a ``module:object``; the part is not imported.

        Args:
            key: where it stands.
            parts: that there are.
            default: the name if there is none.
            ours: names beside those of the parts.

        Raises:
            InputError: if it is no name of a part; in a stored spec any text is one.
        """
        name = self.get(key, default)
        if isinstance(name, str) and (
            self.is_stored or ":" in name or name in ours or name in parts
        ):
            return name
        known = ", ".join([*ours, *parts])
        raise InputError(f"{self._path(key)}: must be one of {known}, got {name!r}")

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
        stores: schemes of other machines that it may have, beside those of installed packages.

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
    if scheme in stores or scheme in STORES:
        return f"{scheme}://{rest.rstrip('/')}"
    known = dict.fromkeys([*stores, *STORES])
    also = " or ".join(f"{store}://" for store in known)
    raise InputError(f"{key}: must be a path of this machine or of {also}, got {path!r}")
