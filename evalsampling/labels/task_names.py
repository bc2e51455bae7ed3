"""Names of tasks: opaque, and if wanted with a character that tells mistyped ones."""

import base64
import hashlib
from typing import Any

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_PREFIX = "t_"
_DIGITS = 16
_DIGEST_BYTES = 10


def task_key(key: str | None, seed: int) -> bytes:
    """Return the key of the names of tasks.

    Args:
        key: the workspace's own, in hexadecimal digits; None if it was prepared before there
            were any. Then the seed is the key.
        seed: of the spec. Small ones are soon found by trying.
    """
    return seed.to_bytes(8, "little") if key is None else bytes.fromhex(key)


def opaque_name(key: bytes, *parts: Any) -> str:
    """Return a keyed hash that tells nothing of what it is of: ``t_`` and 16 letters and digits.

    Text that no spreadsheet takes for a number; equal for equal arguments.

    Args:
        key: see `task_key`.
        *parts: what it is of.
    """
    text = ":".join(map(str, parts)).encode()
    digest = hashlib.blake2b(text, digest_size=_DIGEST_BYTES, key=key).digest()
    return _PREFIX + base64.b32encode(digest).decode().lower()


def with_check(name: str) -> str:
    """Return the name of a task with a check character behind it.

    One wrong character, and nearly always two beside each other that changed places, make another
    check character (ISO/IEC 7064, MOD 37,36).
    """
    return name + _check_character(name.removeprefix(_PREFIX))


def check_problem(name: str) -> str:
    """Return the end of a message, if a name that is not known has a wrong check character."""
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
