"""What is kept of a file of a pool, to tell whether it is still as it was."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile, find_file
from evalsampling.storage.filesystems import open_file, readable

_BLOCKS, _BLOCK_BYTES = 4, 1 << 16


def fingerprint_of(file: StoredFile, blocks: str) -> dict[str, Any]:
    """Return path, size, hash of blocks and, in a store, version of a file, as they are known."""
    facts = dataclasses.asdict(file) | {"blocks": blocks}
    del facts["written"]  # A copy has another.
    return {key: value for key, value in facts.items() if value is not None}


def hash_of_blocks(file: StoredFile) -> str:
    """Return the SHA-256 of four blocks of a file, of 64 KiB each, from its begin to its end.

    A smaller file is hashed as a whole. It tells files apart that have the same size.
    """
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
    now = fingerprint_of(stored, hash_of_blocks(stored))
    return "has changed" if now != then else None


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
