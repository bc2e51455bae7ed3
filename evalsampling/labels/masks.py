"""Payload columns that annotators see in part only: redacted, hashed or cut."""

import base64
import hashlib
from typing import Any

import pyarrow as pa

from evalsampling.spec.payload import Mask

REDACTED = "[redacted]"
_DIGEST_BYTES = 10


def masked(values: pa.Array, mask: Mask, key: bytes) -> pa.Array:
    """Return a column as annotators may see it: text; nulls and empty texts stay.

    Args:
        values: of a payload column, rendered.
        mask: what to do with them.
        key: of hashes. Equal values have equal hashes under one key, so that two columns of a
            row can be compared; under another key they have others.
    """
    return pa.array([_masked(value, mask, key) for value in values.to_pylist()], pa.string())


def _masked(value: Any, mask: Mask, key: bytes) -> str | None:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if text is None or text == "":
        return text
    text = str(text)
    if mask.how == "redact":
        return REDACTED
    if mask.how == "hash":
        digest = hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES, key=key).digest()
        return "h_" + base64.b32encode(digest).decode().lower()
    return text if len(text) <= mask.characters else text[: mask.characters] + "…"
