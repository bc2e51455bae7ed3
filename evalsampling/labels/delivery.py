"""A delivery of labels: one file, read whole, within bounds, before anything is locked."""

import dataclasses
import hashlib

from evalsampling.errors import InputError
from evalsampling.labels.formats import Vote, read_votes
from evalsampling.storage.filesystems import read_regular_file

MOST_BYTES = 1 << 28
"""Of a file of labels."""


@dataclasses.dataclass(frozen=True)
class Delivery:
    """A file of labels that was read.

    Attributes:
        path: of the file, or its URL.
        bytes: its size.
        sha256: of its content.
        votes: what it holds, line by line.
    """

    path: str
    bytes: int
    sha256: str
    votes: list[Vote]

    @classmethod
    def read(cls, path: str) -> "Delivery":
        """Read a file of labels.

        It may be slow to come, so read it before the workspace is locked.

        Args:
            path: of the file, or its URL.

        Raises:
            InputError: naming the file, if it cannot be read, is no regular file or is too large.
        """
        if any("\ud800" <= letter <= "\udfff" for letter in path):
            raise InputError(f"{path!a}: cannot be read: its name is not UTF-8")
        content = read_regular_file(path, MOST_BYTES)
        digest = hashlib.sha256(content).hexdigest()
        return cls(path, len(content), digest, read_votes(path, content))
