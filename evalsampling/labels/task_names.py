"""Opaque names of tasks, optionally with a check character that detects mistyped names."""

import base64
import hashlib
from typing import Any

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_PREFIX = "t_"
_DIGITS = 16
_DIGEST_BYTES = 10


def opaque_name(key: bytes, *parts: Any) -> str:
    """Return a keyed hash of some values: ``t_`` and 16 letters and digits.

    No spreadsheet takes it for a number, and the values cannot be read from it.
    """
    return _PREFIX + keyed_hash(":".join(map(str, parts)), key)


def keyed_hash(text: str, key: bytes) -> str:
    """Return a hash of a text: 16 letters and digits."""
    digest = hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES, key=key).digest()
    return base64.b32encode(digest).decode().lower()


def with_check(name: str) -> str:
    """Return the name of a task followed by its check character.

    It detects one wrong character, and nearly all swaps of two neighbours (ISO/IEC 7064,
    MOD 37,36).
    """
    return name + _check_character(name.removeprefix(_PREFIX))


def check_problem(name: str) -> str:
    """Return the end of a message about an unknown name, empty unless its check is wrong."""
    body = name.removeprefix(_PREFIX)
    if not name.startswith(_PREFIX) or not set(body) <= set(_ALPHABET):
        return ""
    if len(body) == _DIGITS + 1 and _check_character(body[:-1]) != body[-1]:
        return ": its check character is wrong, so it was mistyped or cut"
    return ""


def _check_character(text: str) -> str:
    """Return the check character of ISO/IEC 7064 MOD 37,36."""
    base = len(_ALPHABET)
    rest = base
    for letter in text:
        rest = (rest + _ALPHABET.index(letter)) % base or base
        rest = rest * 2 % (base + 1)
    return _ALPHABET[(1 - rest) % base]
