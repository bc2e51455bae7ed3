"""Sections of a spec file: mappings with typed and checked access to their keys."""

import contextlib
import contextvars
import difflib
import functools
import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from evalsampling.errors import InputError
from evalsampling.spec.values import Columns, Numbers, Text, bare, convert
from evalsampling.storage import is_url

Read = TypeVar("Read", bound=msgspec.Struct)

READ_FROM = ("gs", "s3", "hdfs")
"""Schemes of the stores with files that are read."""

_collected: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar(
    "_collected", default=None
)


@contextlib.contextmanager
def unknown_keys() -> Iterator[list[str]]:
    """Yield a list that collects messages of unknown keys, which raise no error in the block.

    The rest of a section is read as if it had no such key.
    """
    messages: list[str] = []
    token = _collected.set(messages)
    try:
        yield messages
    finally:
        _collected.reset(token)


class Section:
    """A mapping of the file, with typed and checked access to its keys.

    The name is the path of the section in the file, empty at the top. A section ``is_stored`` in
    the spec of a workspace, whose names of parts were checked when it was made.
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
        """Raise an `InputError` for an unknown key, with the nearest known one."""
        places = {key: name for name, keys in (below or {}).items() for key in keys}
        within = self._path("")
        messages = [
            f"unknown key {within}{key}{nearest(str(key), known, of=places, within=within)}"
            for key in self.content
            if key not in known
        ]
        collected = _collected.get()
        if messages and collected is None:
            raise InputError(messages[0])
        if messages and collected is not None:
            collected += messages
            self.content = {key: self.content[key] for key in known if key in self.content}

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, the default if it is missing or null."""
        value = self.content.get(key)
        return default if value is None else value

    def refuse(self, keys: Sequence[str], problem: str) -> None:
        """Raise an error if a key is given that does not go with others."""
        for key in keys:
            if self.get(key) is not None:
                raise InputError(f"{self._path(key)}: {problem}")

    def section(self, key: str, required: bool = False) -> "Section":
        """Return a mapping within this one, empty if it is missing and not required."""
        if required and self.get(key) is None:
            raise InputError(f"{self._path(key)}: missing")
        return Section(self._path(key), self.get(key, {}), self.is_stored)

    def part(self, key: str, parts: Collection[str], default: str) -> str:
        """Return the name of a part, or a ``module:object``; the part is not imported."""
        name = self.get(key, default)
        if isinstance(name, str) and (self.is_stored or ":" in name or name in parts):
            return name
        raise InputError(f"{self._path(key)}: must be one of {', '.join(parts)}, got {name!r}")

    def value(self, key: str, kind: Any, default: Any = None) -> Any:
        """Return a value of a type, the default if it is missing or null."""
        value = self.get(key)
        return default if value is None else convert(self._path(key), value, kind)

    def text(self, key: str, required: bool = False) -> str | None:
        """Return a text that is not empty, None if it is missing and not required."""
        if required and self.get(key) is None:
            raise InputError(f"{self._path(key)}: missing")
        text: str | None = self.value(key, Text)
        return text

    def integer(self, key: str, default: int, least: int) -> int:
        """Return a whole number of at least ``least``."""
        words = f"a whole number of at least {least}"
        return int(self.value(key, Annotated[int, Meta(ge=least, description=words)], default))

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return a list of finite numbers."""
        return tuple(self.value(key, Numbers))

    def columns(self, key: str) -> tuple[str, ...]:
        """Return a list of columns, each named once."""
        listed: tuple[str, ...] = self.value(key, Columns, ())
        for column in listed:
            if listed.count(column) > 1:
                raise InputError(f"{self._path(key)}: {column} is listed twice")
        return listed

    def read(self, kind: type[Read]) -> Read:
        """Return the section as a struct: its fields are the keys; null is as good as missing."""
        self._check_fields(kind)
        made: Read = convert(self.name, given(self.content), kind)
        return made

    def _check_fields(self, kind: type[msgspec.Struct]) -> None:
        """Raise an `InputError` for keys that are unknown or missing, also in sections within."""
        fields = _fields(kind)
        self.check_keys(*(name for name, _, _ in fields))
        for name, required, section in fields:
            if required and self.get(name) is None:
                raise InputError(f"{self._path(name)}: missing")
            if section is not None and self.get(name) is not None:
                self.section(name)._check_fields(section)


@functools.cache
def _fields(
    kind: type[msgspec.Struct],
) -> tuple[tuple[str, bool, type[msgspec.Struct] | None], ...]:
    """Return name of each field, whether it is required, and its struct if it is a section."""
    fields = []
    for field in msgspec.structs.fields(kind):
        within, _ = bare(field.type)
        is_section = isinstance(within, type) and issubclass(within, msgspec.Struct)
        fields.append((field.name, field.required, within if is_section else None))
    return tuple(fields)


def given(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a section whose values are not None."""
    return {key: value for key, value in keys.items() if value is not None}


def used(key: str, record: msgspec.Struct) -> dict[str, Any]:
    """Return a record as a section of a spec, without defaults; no section if all are."""
    usual = msgspec.to_builtins(type(record)())
    keys = {name: of for name, of in msgspec.to_builtins(record).items() if of != usual[name]}
    return {key: keys} if keys else {}


def nearest(
    key: str,
    known: Sequence[str],
    all_known: str = "valid keys",
    of: Mapping[str, str] | None = None,
    within: str = "",
) -> str:
    """Return the end of a message about an unknown key, with the most similar known one.

    That is shown with the path that it is ``within``. Keys ``of`` other sections are known too, by
    the names of these.
    """
    of = of or {}
    if key in of:
        return f"; it is a key of {of[key]}"
    for near in difflib.get_close_matches(key, [*known, *of], n=1, cutoff=0.5):
        return f"; did you mean {f'{near}, a key of {of[near]}' if near in of else within + near}?"
    return f"; {all_known}: {', '.join(known)}"


def absolute(
    key: str, path: str | None, directory: str, schemes: Sequence[str] = READ_FROM
) -> str | None:
    """Return a path, resolved against a directory."""
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
    if scheme in schemes:
        return f"{scheme}://{rest.rstrip('/')}"
    known = " or ".join(f"{name}://" for name in schemes)
    raise InputError(f"{key}: must be a path of this machine or of {known}, got {path!r}")
