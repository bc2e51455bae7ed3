"""Checksums of files, by which damage is detected.

A JSON file has the SHA-256 of the rest of its content under the key ``sha256``. A commit has size
and SHA-256 of each of its files under ``files``.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.storage.filesystems import naming

SHA256 = "sha256"
FILES = "files"


@dataclasses.dataclass(frozen=True)
class Checksum:
    """Size of a file in bytes, and its SHA-256 in hexadecimal digits."""

    size: int
    sha256: str

    @classmethod
    def from_content(cls, content: bytes) -> "Checksum":
        """Return the checksum of a content."""
        return cls(len(content), hashlib.sha256(content).hexdigest())

    @classmethod
    def of_file(cls, path: Path) -> "Checksum":
        """Return the checksum of a file of this machine, of any size."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return cls(file.tell(), digest.hexdigest())

    def check(self, current: "Checksum", url: str) -> None:
        """Check that the checksum of a file's present content is this one."""
        if current.size != self.size:
            raise InputError(f"{url}: damaged, it has {current.size} bytes in place of {self.size}")
        if current.sha256 != self.sha256:
            raise InputError(f"{url}: damaged, its SHA-256 is not the one it was written with")


Checksums = Mapping[str, Checksum]
"""Checksums of files by their names in a store."""


def checksums_of(marker: Mapping[str, Any]) -> dict[str, Checksum]:
    """Return the checksums of the files that a commit names, none if it has no files."""
    return {name: Checksum(**record) for name, record in marker.get(FILES, {}).items()}


def place_of(file: str, checksums: Checksums) -> str:
    """Return the name by which a commit names a file, given the last part of the name.

    >>> place_of("draws.parquet", {"rounds/0001/5e1f/draws.parquet": Checksum(1, "ab")})
    'rounds/0001/5e1f/draws.parquet'
    """
    for name in checksums:
        if name.rpartition("/")[2] == file:
            return name
    raise InputError(f"{file}: damaged, no commit names it")


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a JSON file with its checksum.

    >>> sealed({"a": 1})["sha256"][:8]
    '015abd7f'
    """
    plain = json.loads(json.dumps(content, allow_nan=False))
    return {**plain, SHA256: _digest(plain)}


def unsealed(content: dict[str, Any], url: str) -> dict[str, Any]:
    """Return the content of a JSON file without its checksum, after comparing that."""
    plain = {key: value for key, value in content.items() if key != SHA256}
    if content.get(SHA256) != _digest(plain):
        raise InputError(f"{url}: damaged, its SHA-256 is not the one it was written with")
    return plain


def _digest(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a JSON object's canonical text: sorted keys, no line ends or spaces."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def parse_parquet(content: bytes) -> pa.Table:
    """Return the table of a Parquet file; checksums of its pages are compared.

    It is read by this thread alone. Threads of Arrow hold the bytes, which are Python's, a little
    longer than a call lasts, and a process that ends in that moment aborts
    (https://github.com/apache/arrow/issues/34314).
    """
    file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
    return file.read(use_threads=False)


def write_parquet(
    table: pa.Table, path: Path, compression: str = "zstd", row_group_size: int | None = None
) -> None:
    """Write a local Parquet file whose pages have checksums."""
    # Only text gets a dictionary: numbers seldom repeat within a row group, and if they do,
    # compression makes them as small in less time.
    is_number = (pa.types.is_integer, pa.types.is_floating)
    dictionary = [f.name for f in table.schema if not any(kind(f.type) for kind in is_number)]
    with naming(path):
        pq.write_table(
            table, path, row_group_size=row_group_size, compression=compression,
            use_dictionary=dictionary, write_page_checksum=True,
        )  # fmt: skip
