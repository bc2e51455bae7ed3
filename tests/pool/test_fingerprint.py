"""What is kept of a file of a pool, and what became of it."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.fingerprint import (
    fingerprint_of,
    hash_of_blocks,
    what_became_of,
)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_blocks_reach_from_begin_to_end(tmp_path: Path) -> None:
    path, block = tmp_path / "large", 1 << 16
    content = bytearray(np.random.default_rng(1).bytes(10 * block))
    path.write_bytes(content)
    places = [0, 3 * block, 6 * block, 9 * block]
    stored = StoredFile(str(path), len(content))
    expected = b"".join(content[place : place + block] for place in places)
    assert hash_of_blocks(stored) == digest(expected)


def test_what_became_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_bytes(b"id,score\n1,0.5\n")
    stored = StoredFile(str(path), path.stat().st_size)
    there = fingerprint_of(stored, hash_of_blocks(stored))
    assert what_became_of(there) is None
    path.write_bytes(b"id,score\n1,0.6\n")
    assert what_became_of(there) == "has changed"
    path.write_bytes(b"id,score\n")
    assert what_became_of(there) == "has 9 bytes in place of 15"
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        what_became_of(there)
